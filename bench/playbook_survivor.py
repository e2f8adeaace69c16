"""Does the playbook help to survive? Lives in fresh worlds with what was learnt, and without.

    python -m bench.playbook_survivor [--seeds 10] [--train 5] [--test 20]
        [--model gemini-3.5-flash] [--policy reader|model] [--json]

Each seed draws which kinds of things feed and which harm. `--model` reflects and curates, and
with the policy `model` also decides; `scripted/student` by default, which is no LLM and needs no
key. The policy `reader` follows the bullets by rules; it is the default with the scripted student.
`foreign` is a playbook that was learnt under the rules of another seed: it is wrong here.
What is learnt is kept in memory and forgotten. Needs the extra `survivor`.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence

from acc_ace.adk.background_learning import STUDENTS, StudentModels
from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.errors import AccAceError
from bench.scripted_student import SCRIPTED, ScriptedStudent
from bench.survival_benefit import POLICIES, Plan, Survival, measure_survival


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a table. 2 when the model or an option is at fault."""
    options = _options(arguments)
    policy = options.policy or ("reader" if options.model == SCRIPTED else "model")
    plan = Plan(policy, train=options.train, test=options.test)
    try:
        found = asyncio.run(_measure(plan, options))
    except AccAceError as error:
        print(f"error ({error.code}): {error}", file=sys.stderr)
        return 2
    if options.json:
        reported = {"model": options.model, "policy": policy, **found.model_dump(mode="json")}
        print(json.dumps(reported))
    else:
        print(f"model {options.model}, policy {policy}\n{_table(found)}")
    return 0


async def _measure(plan: Plan, options: argparse.Namespace) -> Survival:
    with tempfile.TemporaryDirectory(prefix="acc-ace-bench-") as folder:
        scripted = options.model == SCRIPTED
        models = dict.fromkeys(STUDENTS, ScriptedStudent()) if scripted else {}
        blocks = {
            role: Settings().agent(role).model_copy(update={"model": options.model})
            for role in STUDENTS
            if not scripted
        }
        settings = Settings.model_validate({"store": "memory", "data_dir": folder, **blocks})
        async with StudentModels(build_container(settings), models=models) as students:
            return await measure_survival(
                lambda: build_container(settings),
                students,
                plan,
                seeds=range(options.seeds),
                progress=_progress,
            )


def _progress(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


def _table(found: Survival) -> str:
    lines = [
        "ticks survived, touches that took health, and share of lives that ended early:",
        "seed  ticks without  learnt  foreign  harms without  learnt  "
        "died without  learnt  bullets",
    ]
    lines += [
        f"{t.seed:4}  {t.without.ticks:13.1f}  {t.learnt.ticks:6.1f}  "
        f"{f'{t.foreign.ticks:.1f}' if t.foreign else '-':>7}  {t.without.harms:13.2f}  "
        f"{t.learnt.harms:6.2f}  {t.without.died:12.2f}  {t.learnt.died:6.2f}  {t.bullets:7}"
        + (f"  ({t.failures} failed)" if t.failures else "")
        for t in found.trials
    ]
    for what, value in (
        ("ticks without", found.without),
        ("ticks learnt", found.learnt),
        ("learnt - without", found.difference),
        ("foreign - without", found.foreign_difference),
        ("harms difference", found.harms_difference),
    ):
        if value is not None:
            lines.append(
                f"{what:17} {value.mean:7.2f}  95 % interval {value.low:7.2f} to {value.high:7.2f}"
            )
    lines.append(f"{sum(trial.calls for trial in found.trials)} model calls")
    return "\n".join(lines)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.playbook_survivor")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--train", type=int, default=5, help="lives to learn in")
    parser.add_argument("--test", type=int, default=20, help="lives with each playbook")
    parser.add_argument("--model", default=SCRIPTED)
    parser.add_argument("--policy", choices=POLICIES)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())

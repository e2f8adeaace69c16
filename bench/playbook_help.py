"""Does the playbook help? Answers to held-out questions with what was learnt, and without.

    python -m bench.playbook_help --data finer.jsonl --data formula.jsonl
        [--model gemini-3.5-flash] [--seeds 5] [--epochs 1] [--heldout 0.25] [--limit N]
        [--feedback truth|reward|none] [--json]

The data are JSON lines with `context` or `question`, and `target`. `--model` answers, reflects and
curates; `auto` by default, which is Gemini where its credentials exist. Without them it is the
embedded model, which learns nothing from known answers. The data stay where they are; what is
learnt is kept in memory and forgotten.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from acc_ace.adk.student_models import STUDENTS, StudentModels
from acc_ace.bootstrap import build_container
from acc_ace.config import AUTO, Settings
from acc_ace.errors import AccAceError
from acc_ace.ext.lab.offline_run import read_samples
from acc_ace.ext.lab.run_state import FeedbackMode, RunState
from bench.playbook_benefit import Help, measure


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure each data file and print a table. 2 when the model or a file is at fault."""
    options = _options(arguments)
    try:
        measured = {path.name: asyncio.run(_measure(path, options)) for path in options.data}
    except AccAceError as error:
        print(f"error ({error.code}): {error}", file=sys.stderr)
        return 2
    if options.json:
        values = {name: found.model_dump(mode="json") for name, found in measured.items()}
        print(json.dumps({"model": options.model, "data": values}))
    else:
        print(_table(measured, options))
    return 0


async def _measure(path: Path, options: argparse.Namespace) -> Help:
    with tempfile.TemporaryDirectory(prefix="acc-ace-bench-") as folder:
        blocks = {
            role: Settings().agent(role).model_copy(update={"model": options.model})
            for role in STUDENTS
        }
        settings = Settings.model_validate({"store": "memory", "data_dir": folder, **blocks})
        async with StudentModels(build_container(settings)) as students:
            return await measure(
                lambda: build_container(settings),
                students,
                read_samples(path, limit=options.limit),
                seeds=range(options.seeds),
                epochs=options.epochs,
                heldout=options.heldout,
                feedback=options.feedback,
                progress=_progress,
            )


def _progress(state: RunState) -> None:
    if sys.stderr.isatty():
        line = f"seed {state.options.seed}, epoch {state.epoch + 1}, {state.position}/{state.train}"
        print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)


def _table(measured: dict[str, Help], options: argparse.Namespace) -> str:
    lines = [f"model {options.model}, {options.epochs} epoch(s), feedback {options.feedback}"]
    for name, found in measured.items():
        lines += [f"\n{name}", "seed  train  held out  without  learnt  bullets  tokens  calls"]
        lines += [
            f"{t.seed:4}  {t.train:5}  {t.heldout:8}  {t.without:7.3f}  {t.learnt:6.3f}  "
            f"{t.bullets:7}  {t.playbook_tokens:6}  {t.calls:5}"
            + (f"  ({t.failures + t.unanswered} failed)" if t.failures + t.unanswered else "")
            for t in found.trials
        ]
        for what, value in (
            ("without", found.without),
            ("learnt", found.learnt),
            ("difference", found.difference),
        ):
            lines.append(
                f"{what:10} {value.mean:6.3f}  95 % interval {value.low:6.3f} to {value.high:6.3f}"
            )
        lines.append(f"over {found.samples} samples")
    return "\n".join(lines)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.playbook_help")
    parser.add_argument("--data", type=Path, action="append", required=True, metavar="FILE")
    parser.add_argument("--model", default=AUTO)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--heldout", type=float, default=0.25)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--feedback", choices=get_args(FeedbackMode), default="truth")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())

"""What is learnt of the ACE formula task by a student who knows no formula.

    python -m bench.formula_gain --data formula.jsonl [--limit 200] [--seeds 3] [--test FILE]

Answers are right where a live lesson of the playbook states the formula that the question names,
and wrong elsewhere. The Reflector, given the truth, says that formula; the Curator adds what the
Reflector says. All three are scripts, so what differs between two versions is what their gates let
into the playbook and what selection shows of it, not a model. Scores are of held-out questions.

With `--test`, `acc-ace learn` is run in their place: offline with that test set, online on it, and
offline first and then online. Half as many of its questions as `--limit` are the test set.
"""

import argparse
import asyncio
import json
import re
import tempfile
from pathlib import Path
from typing import Any, Final

from google.adk.models.llm_request import LlmRequest

from acc_ace.adk.student_models import STUDENTS, StudentModels
from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.ext.lab.learn import summary
from acc_ace.ext.lab.offline_run import continue_run, read_samples, started
from acc_ace.ext.lab.run_state import RunOptions, Sample
from bench.playbook_benefit import Help, measure
from tests.fakes.default_replies import prompt_text
from tests.fakes.scripted_llm import ScriptedLlm

_NAME: Final = re.compile(r"Use formula (.+?) to answer")
_FORMULA: Final = re.compile(r"Formula: (.+?), Explanation")
_END: Final = 160
"""Characters at the end of a question that tell it from the others."""


class Student:
    """The scripts of the three roles; they know the data file and the lesson of the last answer."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = {row["context"][-_END:]: row for row in rows}
        self._lesson = ""

    def answer(self, request: LlmRequest) -> dict[str, Any]:
        """The truth where the playbook states the formula."""
        text = prompt_text(request)
        row = self._asked(text)
        is_known = row is not None and _shown(_lesson_of(row), text)
        return {"final_answer": row["target"] if row and is_known else "-1"}

    def reflect(self, request: LlmRequest) -> dict[str, Any]:
        """The formula of the question, if it was seen at all."""
        row = self._asked(prompt_text(request))
        self._lesson = _lesson_of(row) if row else ""
        return {"key_insight": self._lesson, "correct_approach": self._lesson} if row else {}

    def curate(self, request: LlmRequest) -> dict[str, Any]:
        """What the Reflector said, where it is shown."""
        text, content = prompt_text(request), self._lesson
        if not content or not _shown(content, text):
            return {}
        section = "strategies_and_hard_rules"
        return {"operations": [{"type": "ADD", "section": section, "content": content}]}

    def _asked(self, text: str) -> dict[str, Any] | None:
        return next((row for end, row in self._rows.items() if _shown(end, text)), None)


def _lesson_of(row: dict[str, Any]) -> str:
    name, formula = _NAME.search(row["context"]), _FORMULA.search(row["context"])
    return f"For {name[1]}, compute {formula[1]}." if name and formula else ""


def _shown(words: str, text: str) -> bool:
    return words in text or json.dumps(words)[1:-1] in text


def student_of(limit: int, *paths: Path) -> Student:
    """The scripts for the first samples of each file."""
    files = [path.read_text(encoding="utf-8").splitlines()[:limit] for path in paths]
    return Student([json.loads(line) for lines in files for line in lines])


async def gain(student: Student, path: Path, *, limit: int, seeds: int) -> Help:
    """Score with an empty playbook and with what was learnt, seed by seed."""
    llm = ScriptedLlm().on("generator", student.answer)
    llm = llm.on("reflector", student.reflect).on("curator", student.curate)
    with tempfile.TemporaryDirectory(prefix="acc-ace-bench-") as folder:
        settings = Settings(store="memory", data_dir=Path(folder))
        models = dict.fromkeys(STUDENTS, llm)
        async with StudentModels(build_container(settings), models=models) as students:
            return await measure(
                lambda: build_container(settings),
                students,
                read_samples(path, limit=limit),
                seeds=range(seeds),
                epochs=1,
                heldout=0.25,
                feedback="truth",
                progress=lambda _: None,
            )


async def runs(student: Student, path: Path, test: Path, *, limit: int) -> dict[str, str]:
    """What `acc-ace learn` says of the test set: offline, online, and offline first."""
    train, apart = read_samples(path, limit=limit), read_samples(test, limit=limit // 2)
    return {
        "offline": await _run(student, train, apart, online=False),
        "online": await _run(student, [], apart, online=True),
        "offline, then online": await _run(student, train, apart, online=True),
    }


async def _run(
    student: Student, samples: list[Sample], apart: list[Sample], *, online: bool
) -> str:
    llm = ScriptedLlm().on("generator", student.answer)
    models = dict.fromkeys(
        STUDENTS, llm.on("reflector", student.reflect).on("curator", student.curate)
    )
    options = RunOptions(app="formula", online=online)
    with tempfile.TemporaryDirectory(prefix="acc-ace-bench-") as folder:
        container = build_container(Settings(store="memory", data_dir=Path(folder)))
        async with (
            StudentModels(container, models=models) as students,
            started(container, samples, options, apart=apart) as run,
        ):
            state = await continue_run(container, run, students, progress=lambda _: None)
        await container.close()
        return summary(state, run.folder)


def main() -> None:
    """Print what was learnt."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--test", type=Path)
    options = parser.parse_args()
    student = student_of(options.limit, options.data, *filter(None, [options.test]))
    if options.test:
        reports = asyncio.run(runs(student, options.data, options.test, limit=options.limit))
        print("\n\n".join(f"{name}\n{text}" for name, text in reports.items()))
        return
    found = asyncio.run(gain(student, options.data, limit=options.limit, seeds=options.seeds))
    for trial in found.trials:
        print(
            f"seed {trial.seed}: {trial.without:.2f} -> {trial.learnt:.2f}, {trial.bullets} bullets"
        )
    low, high = found.difference.low, found.difference.high
    print(f"difference {found.difference.mean:.3f} (95 % {low:.3f} to {high:.3f})")


if __name__ == "__main__":
    main()

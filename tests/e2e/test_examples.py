"""The bundled conversations, played end to end on the embedded model.

What each turn must give stands in the YAML beside its input (examples/README.md says how to read
it); the claims here hold for every turn of every example.
"""

from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.schemas.artifact import Artifact
from acc_ace.schemas.base import Authority, SessionKey
from acc_ace.schemas.report import TurnReport

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))
KEYS = {
    "constraints_include",
    "constraints_exclude",
    "goal_includes",
    "answer_includes_any",
    "answer_excludes",
    "qualified_rejects",
    "deltas_at_least",
    "uncertainty_includes",
    "ccs_includes",
    "ccs_excludes",
}

Example = Mapping[str, Any]
KEY = SessionKey(APP_NAME, "example", "session")


@pytest.fixture
async def conversation() -> AsyncIterator[Conversation]:
    opened = Conversation(build_container(Settings(store="memory")))
    yield opened
    await opened.close()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
async def test_the_conversation_keeps_every_invariant(
    path: Path, conversation: Conversation
) -> None:
    example = _load(path)
    reports = await _play(example, conversation)
    problems = [
        f"turn {number}: {problem}"
        for number, (turn, report) in enumerate(zip(example["turns"], reports, strict=True), 1)
        for problem in (
            *_expected(turn.get("expect") or {}, report),
            *_invariant(example["invariants"], number, report),
        )
    ]
    assert problems == []
    stored = await conversation.playbook()
    assert len(stored.playbook.bullets) >= example["invariants"]["playbook_bullets_at_least"]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_file_expects_only_what_this_test_checks(path: Path) -> None:
    example = _load(path)
    assert len(example["turns"]) == example["invariants"]["turns"] == 50
    for turn in example["turns"]:
        assert set(turn) <= {"input", "authority", "expect"}
        assert set(turn.get("expect") or {}) <= KEYS


def test_there_is_one_conversation_in_each_language() -> None:
    assert [path.stem for path in EXAMPLES] == ["incident_en", "operations_ja"]


def _load(path: Path) -> Example:
    example: Example = yaml.safe_load(path.read_text(encoding="utf-8"))
    return example


async def _play(example: Example, conversation: Conversation) -> list[TurnReport]:
    await conversation.remember(KEY.tenant, [_document(item) for item in example["documents"]])
    return [
        await conversation.turn(
            KEY, turn["input"], authority=Authority(turn.get("authority", "user"))
        )
        for turn in example["turns"]
    ]


def _document(item: Mapping[str, str]) -> Artifact:
    return Artifact(
        artifact_id=item["id"],
        content=item["content"],
        source=item["source"],
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        tenant=KEY.tenant,
    )


def _expected(expect: Mapping[str, Any], report: TurnReport) -> list[str]:
    """What a turn was to give and did not."""
    rules = [constraint.text for constraint in report.constraints]
    reported = f"{report.ccs.semantic_gist} {report.ccs.relational_map}"
    rejected = {item.artifact_id: item.reason for item in report.qualified if not item.ok}
    anything = expect.get("answer_includes_any")
    checks: list[tuple[bool, str]] = [
        *(
            (any(text in rule for rule in rules), f"no constraint '{text}' in {rules}")
            for text in expect.get("constraints_include", [])
        ),
        *(
            (all(text not in rule for rule in rules), f"constraint '{text}' in {rules}")
            for text in expect.get("constraints_exclude", [])
        ),
        (
            expect.get("goal_includes", "") in report.ccs.goal_orientation,
            f"goal is '{report.ccs.goal_orientation}'",
        ),
        (
            anything is None or any(text in report.answer for text in anything),
            f"none of {anything} in '{report.answer}'",
        ),
        *(
            (text not in report.answer, f"'{text}' in '{report.answer}'")
            for text in expect.get("answer_excludes", [])
        ),
        *(
            (rejected.get(name) == reason, f"{name}: {rejected.get(name)}, not {reason}")
            for name, reason in expect.get("qualified_rejects", {}).items()
        ),
        (
            len(report.deltas) >= expect.get("deltas_at_least", 0),
            f"only {len(report.deltas)} deltas",
        ),
        *(
            (text in report.ccs.uncertainty_signal, f"'{text}' is not uncertain")
            for text in expect.get("uncertainty_includes", [])
        ),
        *(
            (text in reported, f"'{text}' not in {reported}")
            for text in expect.get("ccs_includes", [])
        ),
        *(
            (text not in reported, f"'{text}' in {reported}")
            for text in expect.get("ccs_excludes", [])
        ),
    ]
    return [problem for held, problem in checks if not held]


def _invariant(invariants: Mapping[str, Any], number: int, report: TurnReport) -> list[str]:
    """What holds at every turn: exactly the living constraints, the goal, and the budget."""
    lifetimes = invariants["constraint_lifetimes"]
    living = [item["text"] for item in lifetimes if item["from"] <= number <= item["to"]]
    rules = [constraint.text for constraint in report.constraints]
    released = [item.id for item in report.ccs_diff.constraints_released]
    due = invariants["releases"].get(number, [])
    goal = invariants["goal_includes"] if number >= invariants["goal_from"] else ""
    checks = [
        (
            len(rules) == len(living)
            and all(text in rule for text, rule in zip(living, rules, strict=True)),
            f"constraints are {rules}, not {living}",
        ),
        (released == due, f"released {released}, not {due}"),
        (goal in report.ccs.goal_orientation, f"goal is '{report.ccs.goal_orientation}'"),
        (
            report.ccs_tokens <= invariants["ccs_tokens_max"],
            f"CCS has {report.ccs_tokens} tokens",
        ),
        (bool(report.answer.strip()), "no answer"),
    ]
    return [problem for held, problem in checks if not held]

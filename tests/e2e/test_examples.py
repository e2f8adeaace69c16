"""The bundled conversations, played end to end on the embedded model.

What each turn must give stands in the YAML beside its input (examples/README.md says how to read
it); the claims here hold for every turn of every example.
"""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from acc_ace import build_container
from acc_ace.cockpit.demo import TALKS, Demo, load_talk
from acc_ace.conversation import APP_NAME, Conversation
from config import Settings
from schemas.base import SessionKey
from tests.fakes.extensions import needs

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
    opened = Conversation(build_container(Settings(store="memory", learn_on="evidence")))
    yield opened
    await opened.close()


@needs("embedded")
@pytest.mark.parametrize("language", TALKS)
async def test_the_conversation_keeps_every_invariant(
    language: str, conversation: Conversation
) -> None:
    demo = Demo(load_talk(language), KEY)
    await demo.play(conversation, pace_s=0)
    assert demo.problems == []
    assert {check.status for check in demo.state.checks} == {"ok"}
    assert demo.state.error == ""
    stored = await conversation.playbook()
    least = load_talk(language)["invariants"]["playbook_bullets_at_least"]
    assert len(stored.playbook.bullets) >= least


@needs("embedded")
async def test_a_promise_that_does_not_hold_is_shown_as_failed(conversation: Conversation) -> None:
    talk = load_talk("en")
    turns = [{"input": "Never restart db-01."}, {"input": "release c-0001"}]
    demo = Demo({**talk, "turns": turns, "promises": talk["promises"][:1]}, KEY)
    assert demo.state.checks[0].status == "pending"
    await demo.play(conversation, pace_s=0)
    (check,) = demo.state.checks
    assert check.status == "failed"
    assert "turn 2: lifted: ['c-0001']" in check.detail


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_file_expects_only_what_this_test_checks(path: Path) -> None:
    example = _load(path)
    assert len(example["turns"]) == example["invariants"]["turns"] == 50
    for turn in example["turns"]:
        assert set(turn) <= {"input", "authority", "expect"}
        assert set(turn.get("expect") or {}) <= KEYS
    for promise in example["promises"]:
        assert promise.get("always", "turn") in {"turn", "rules", "goal", "budget"}
        assert all(example["turns"][turn - 1].get("expect") for turn in promise.get("turns", []))


def test_there_is_one_conversation_in_each_language() -> None:
    assert [path.stem for path in EXAMPLES] == ["incident_en", "operations_ja"]


def _load(path: Path) -> Example:
    example: Example = yaml.safe_load(path.read_text(encoding="utf-8"))
    return example

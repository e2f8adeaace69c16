"""What a caller, a tool or a listener does to a state that it was given changes no state."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm
from google.adk.tools import ToolContext
from pydantic import BaseModel

from acc_ace import AccController, build_container
from acc_ace.core.schemas import state as keys
from config import Role, Settings
from schemas.base import SessionKey
from schemas.ccs import CompressedCognitiveState, empty_ccs
from schemas.commit import CcsDiff, CommittedState
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.pipeline.desk import Desk

BAN = "Never restart db-01 on Sundays."
DIGEST = "2c57b868de568acc4cbf29b7bad5806b89e67f2d2e4bf2def23c187909bc083b"
"""Of the state below, by the program that kept plain lists."""

KEY = SessionKey("acc_ace", "user", "s1")

_ATTACKS: list[Callable[[list[Any]], Any]] = [
    lambda items: items.clear(),
    lambda items: items.append("anything goes"),
    lambda items: items.extend(["anything goes"]),
    lambda items: items.insert(0, "anything goes"),
    lambda items: items.pop(),
    lambda items: items.remove(items[0]),
    lambda items: items.sort(key=str, reverse=True),
    lambda items: items.reverse(),
    lambda items: items.__delitem__(0),
    lambda items: items.__setitem__(0, "anything goes"),
    lambda items: items.__iadd__(["anything goes"]),
    lambda items: items.__imul__(0),
]


def lists_of(value: Any) -> Iterator[list[Any]]:
    """Every list in a value, at any depth."""
    if isinstance(value, list):
        yield value
    inner = value.__dict__.values() if isinstance(value, BaseModel) else ()
    inner = value.values() if isinstance(value, dict) else inner
    for member in [*(value if isinstance(value, list) else inner)]:
        yield from lists_of(member)


def spoil(*values: Any) -> None:
    """Empty and overwrite whatever a value lets one change."""
    for found in [each for value in values for each in lists_of(value)]:
        for attack in _ATTACKS:
            with suppress(TypeError, IndexError, ValueError):
                attack(found)


@pytest.mark.parametrize("attack", range(len(_ATTACKS)))
async def test_no_list_of_a_state_can_be_changed(attack: int) -> None:
    state = CommittedState(ccs=empty_ccs().model_copy(update={"constraints": [BAN]}))
    entry = CcsDiff.between(CommittedState(), state)
    for owned in (state.ccs.constraints, entry.changes, entry.changes[0].after):
        assert isinstance(owned, list)
        before = [*owned]
        with pytest.raises(TypeError, match="copy it with list"):
            _ATTACKS[attack](owned)
        assert owned == before


async def test_spoiling_what_the_controller_returns_releases_no_rule() -> None:
    container = build_container(Settings(store="memory"))
    llm = ScriptedLlm()
    models: dict[Role, BaseLlm] = {"qualifier": llm, "compressor": llm}
    acc = AccController(container, session=KEY.session, models=models)
    ccs = await acc.update_state(BAN, None)
    head = await container.journal.head(KEY)
    spoil(ccs, acc.last_commit, head)
    assert await container.journal.head(KEY) == head
    again = await acc.update_state("Hello.", ccs)
    assert again.constraints == [BAN]
    assert acc.last_commit is not None
    assert acc.last_commit.diff.constraints_released == []
    await acc.close()


async def test_spoiling_reports_and_the_sessions_state_changes_no_state() -> None:
    def spoil_state(tool_context: ToolContext) -> str:
        """Spoil the state of the running session."""
        spoil(tool_context.state[keys.CCS])
        return "done"

    model = ScriptedLlm().on("generator", "Noted.", call("spoil_state"), "Done.", "Hello.")
    app = Desk(LlmAgent(name="desk", model=model, tools=[spoil_state]))
    await app.say(BAN)
    stored = await app.container.journal.head(SessionKey("desk", "ops", "s1"))
    spoil(app.reports[-1], *(await app.session_state()).values(), *await app.evidence())
    await app.say("Spoil it.")
    await app.say("Hello.")
    assert stored is not None
    assert stored.state.ccs.constraints == [BAN]
    assert await app.constraints() == [BAN]
    state = await app.session_state()
    assert CommittedState.from_state(state[keys.CCS]).ccs.constraints == [BAN]


def test_a_state_is_dumped_and_read_as_before() -> None:
    ccs = CompressedCognitiveState(**empty_ccs().model_dump() | {"constraints": [BAN]})
    state = CommittedState(version=1, turn=1, ccs=ccs)
    assert state.digest == DIGEST
    assert CommittedState.from_state(state.to_state()) == state
    assert CommittedState.model_validate_json(state.model_dump_json()) == state
    assert type(state.to_state()["constraints"]) is list
    assert state.model_copy(deep=True) == state


def test_a_copy_with_changes_is_as_frozen_as_the_state() -> None:
    mine = [BAN]
    ccs = empty_ccs().model_copy(update={"constraints": mine})
    mine.clear()
    assert ccs.constraints == [BAN]
    for owned in lists_of(ccs):
        with pytest.raises(TypeError):
            owned.clear()

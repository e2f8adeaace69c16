"""A rewind of ADK's that takes back the later part of a turn, or that turns from before outlive."""

from collections.abc import Sequence

import pytest
from google.adk.events import Event
from google.adk.sessions import BaseSessionService
from google.genai import types

from acc_ace.adk.sessions.event_retention import Retention
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.session import PastTurn
from tests.fakes.scripted_llm import ScriptedLlm, call, calls
from tests.fakes.session_services import Open, open_service
from tests.pipeline.desk import result_of, whole
from tests.server.test_rewinding import HERE, cart, rewind, runner, say
from tests.server.test_taken_back_stays import LATER, SECRET, turn_of, waiting_call, words

__all__ = ["open_service"]

QUESTION = "Open door and window, ask me first."
BOTH = calls(("approve", {"what": "door"}), ("approve", {"what": "window"}))
SIZES = [
    {"recent_events": 100},
    {"recent_events": 8},
    {"recent_events": 100, "retention": Retention(4)},
]


def calls_of(events: list[Event]) -> list[types.FunctionCall]:
    return [found for event in events for found in event.get_function_calls()]


@pytest.mark.parametrize("size", SIZES)
async def test_an_answer_that_was_taken_back_stays_so_when_its_turn_goes_on(
    open_service: Open, size: dict[str, object]
) -> None:
    llm = ScriptedLlm().on("generator", BOTH, "Hello.", "One of two.")
    llm.on("generator", call("approve", what="roof"), *words(LATER + 1))
    running = runner(open_service(**size), llm)
    door, window = calls_of(await say(running, QUESTION))
    silly = await say(running, "Something silly.")
    await say(running, result_of(door, {"code": SECRET}))
    await rewind(running, silly)
    roof = waiting_call(await say(running, result_of(window, {"code": "1234"})))
    for number in range(LATER):
        await say(running, f"Question {number}?")
        assert SECRET not in whole(llm.requests[-1])
    await say(running, result_of(roof, {"code": "55"}))
    assert QUESTION in whole(llm.requests[-1])
    assert SECRET not in whole(llm.requests[-1])


@pytest.mark.parametrize("size", SIZES)
async def test_a_call_whose_answer_was_taken_back_can_be_answered_again(
    open_service: Open, size: dict[str, object]
) -> None:
    llm = ScriptedLlm().on("generator", call("approve", what="zebra"), *words(LATER + 3))
    running = runner(open_service(**size), llm)
    waiting = waiting_call(await say(running, "Buy a zebra."))
    silly = await say(running, "Something silly.")
    await say(running, result_of(waiting, {"code": SECRET}))
    await rewind(running, silly)
    for number in range(LATER):
        await say(running, f"Question {number}?")
    await say(running, result_of(waiting, {"code": "1234"}))
    assert "Buy a zebra." in whole(llm.requests[-1])
    assert SECRET not in whole(llm.requests[-1])


@pytest.mark.parametrize(
    "size", [{"recent_events": 9}, {"recent_events": 50, "retention": Retention(4)}]
)
async def test_a_turn_from_before_a_rewind_keeps_its_words_when_it_is_answered_after_it(
    open_service: Open, size: dict[str, object]
) -> None:
    llm = ScriptedLlm().on("generator", call("approve", what="zebra"), *words(LATER + 2))
    service = open_service(**size)
    running = runner(service, llm)
    asked = await say(running, "Buy a zebra.")
    silly = await say(running, "Something silly.")
    await rewind(running, silly)
    for number in range(3):
        await say(running, f"Question {number}?")
    await say(running, result_of(waiting_call(asked), {"approved": True}))
    for number in range(LATER - 3):
        await say(running, f"And {number}?")
        loaded = await loaded_turns(service)
        if turn_of(asked) in loaded:
            assert "Buy a zebra." in whole(llm.requests[-1])
            assert loaded[turn_of(asked)] == 4


async def test_a_rewind_brings_back_what_a_deleted_turn_wrote_after_one_that_is_kept(
    open_service: Open,
) -> None:
    llm = ScriptedLlm().on("generator", call("put", what="tea"), call("approve", what="zebra"))
    llm.on("generator", call("put", what="coffee"), "Done.", *words(3))
    llm.on("generator", call("put", what="wine"), "Done.")
    service = open_service(recent_events=50, retention=Retention(2))
    running = runner(service, llm)
    asked = await say(running, "Tea, and a zebra.")
    coffee = await say(running, "Coffee instead.")
    for number in range(3):
        await say(running, f"Question {number}?")
    assert turn_of(asked) in await loaded_turns(service)
    assert turn_of(coffee) not in await loaded_turns(service)
    changed = await say(running, "Wine instead.")
    await rewind(running, changed)
    assert await cart(service) == "coffee"
    await rewind(running, asked)
    assert await cart(service) is None


async def test_what_was_taken_back_is_not_offloaded(open_service: Open) -> None:
    offloaded: list[PastTurn] = []

    async def offload(_key: SessionKey, turns: Sequence[PastTurn]) -> None:
        offloaded.extend(turns)

    llm = ScriptedLlm().on("generator", BOTH, "Hello.", "One of two.", *words(LATER + 2))
    service = open_service(recent_events=50, retention=Retention(3, offload))
    running = runner(service, llm)
    asked = await say(running, QUESTION)
    door, window = calls_of(asked)
    silly = await say(running, "Something silly.")
    await say(running, result_of(door, {"code": SECRET}))
    await rewind(running, silly)
    await say(running, result_of(window, {"code": "1234"}))
    await say(running, result_of(door, {"code": "5678"}))
    for number in range(LATER):
        await say(running, f"Question {number}?")
    assert turn_of(asked) in {turn.invocation_id for turn in offloaded}
    assert turn_of(silly) not in {turn.invocation_id for turn in offloaded}
    reported = str(offloaded)
    assert "5678" in reported
    assert SECRET not in reported
    session = await service.get_session(**HERE)
    assert session is not None
    assert SECRET not in str(session.events)


async def loaded_turns(service: BaseSessionService) -> dict[str, int]:
    """How many events of each turn the next one loads."""
    session = await service.get_session(**HERE, config=None)
    assert session is not None
    names = [event.invocation_id for event in session.events]
    return {name: names.count(name) for name in names}

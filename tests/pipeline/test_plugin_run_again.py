"""An invocation that is run again by its id alone: a pause goes on, an answer stays what it was."""

from typing import Any

import pytest
from google.adk.events import Event

from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.commit import CommitKind
from acc_ace.core.schemas.interaction import Outcome
from tests.fakes.scripted_llm import ScriptedLlm, call, calls
from tests.pipeline.desk import KEY, Desk, result_of, text_of, whole
from tests.pipeline.test_plugin_pauses import APPROVED, BAN, calls_of, desk

pytestmark = pytest.mark.filterwarnings("ignore:.*ResumabilityConfig:UserWarning")
# ADK: experimental.


async def again(app: Desk, events: list[Event], state: dict[str, Any] | None = None) -> list[str]:
    """Run the invocation of these events again; what is said then."""
    run = app.runner.run_async(
        user_id=KEY.user,
        session_id=KEY.session,
        invocation_id=events[0].invocation_id,
        state_delta=state,
    )
    return [text async for event in run if (text := text_of(event))]


async def stored(app: Desk) -> list[Event]:
    """What ADK keeps of the session."""
    session = await app.sessions.get_session(
        app_name=KEY.app, user_id=KEY.user, session_id=KEY.session
    )
    assert session is not None
    return session.events


async def kinds(app: Desk) -> list[CommitKind]:
    return [entry.kind for entry in await app.container.journal.history(KEY)]


async def answers(app: Desk) -> list[str]:
    return [each.decision.final_answer for each in await app.evidence() if each.decision]


async def test_a_paused_turn_that_is_run_again_without_a_result_waits_on() -> None:
    llm = ScriptedLlm().on("generator", call("approve", what="restart"), "Restarted.")
    app = desk(llm, resumable=True)
    events = await app.say(f"Restart db-01. {BAN}")
    assert await again(app, events) == []
    assert [each.outcome for each in await app.evidence()] == [Outcome.PAUSED]
    assert await kinds(app) == [CommitKind.COMMIT]
    assert app.memory.roles == ["compressor"]
    [waiting] = calls_of(events)
    assert await app.ask(result_of(waiting, APPROVED)) == "Restarted."
    assert BAN in whole(llm.requests[-1])
    [interaction] = await app.evidence()
    assert interaction.turn == 1
    assert interaction.input.text == f"Restart db-01. {BAN}"


async def test_an_answered_turn_that_is_run_again_keeps_its_evidence() -> None:
    app = desk(ScriptedLlm().on("generator", "One.", "Two.", "Three."), resumable=True)
    events = await app.say("Count.")
    assert await again(app, events) == ["Two."]
    assert await answers(app) == ["Two.", "One."]
    assert await again(app, events) == ["Three."]
    assert await answers(app) == ["Three.", "Two.", "One."]
    assert [interaction.turn for interaction in await app.evidence()] == [3, 2, 1]


async def test_a_turn_that_is_run_again_after_a_later_one_keeps_its_evidence() -> None:
    app = desk(ScriptedLlm().on("generator", "One.", "Other.", "Two."), resumable=True)
    events = await app.say("Count.")
    await app.say("Something else.")
    assert await again(app, events) == ["Two."]
    assert await answers(app) == ["Two.", "Other.", "One."]


async def test_a_failed_turn_that_is_run_again_replaces_what_was_tried() -> None:
    app = desk(ScriptedLlm().on("generator", RuntimeError("down"), "One."), resumable=True)
    with pytest.raises(RuntimeError, match="down"):
        await app.say("Count.")
    assert await again(app, await stored(app)) == ["One."]
    assert await answers(app) == ["One."]
    assert len(await app.evidence()) == 1


async def test_results_that_come_one_by_one_after_the_answer_are_turns_of_their_own() -> None:
    filing = calls(("file_ticket", {"what": "disk"}), ("file_ticket", {"what": "fan"}))
    llm = ScriptedLlm().on("generator", filing, "Filed.", "Disk fixed.", "Fan fixed.")
    app = desk(llm)
    disk, fan = calls_of(await app.say(f"Get a new disk and a fan. {BAN}"))
    assert await app.ask(result_of(disk, {"status": "done"})) == "Disk fixed."
    assert await app.ask(result_of(fan, {"status": "done"})) == "Fan fixed."
    assert await answers(app) == [
        "Fan fixed.",
        "Disk fixed.",
        "Filed.",
    ]
    assert [interaction.turn for interaction in await app.evidence()] == [3, 2, 1]


async def test_a_turn_that_is_run_again_can_pause_and_go_on() -> None:
    approving = call("approve", what="restart")
    app = desk(ScriptedLlm().on("generator", "One.", approving, "Restarted."), resumable=True)
    events = await app.say(f"Count. {BAN}")
    assert await again(app, events) == []
    assert await answers(app) == ["One."]
    [waiting] = calls_of(await stored(app))
    assert await app.ask(result_of(waiting, APPROVED)) == "Restarted."
    second, first = await answers(app)
    assert second.endswith("Restarted.")
    assert first == "One."
    assert [interaction.input.text for interaction in await app.evidence()] == [f"Count. {BAN}"] * 2
    assert await app.constraints() == [BAN]


@pytest.mark.parametrize("state", [None, {"shift": "night"}], ids=["by-id", "with-state"])
async def test_a_turn_that_paused_and_is_run_again_has_the_words_that_it_began_with(
    state: dict[str, Any] | None,
) -> None:
    approving = call("approve", what="restart")
    app = desk(ScriptedLlm().on("generator", approving, "One.", "Two."), resumable=True)
    events = await app.say(f"Restart db-01. {BAN}")
    [waiting] = calls_of(events)
    assert await app.ask(result_of(waiting, APPROVED)) == "One."
    assert await again(app, events, state) == ["Two."]
    taken = [interaction.input for interaction in await app.evidence()]
    assert [each.text for each in taken] == [f"Restart db-01. {BAN}"] * 2
    assert [each.authority for each in taken] == [Authority.USER] * 2
    assert await app.constraints() == [BAN]

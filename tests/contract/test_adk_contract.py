"""What ADK says of a session service holds for ours, as for the one that ADK keeps in memory.

The claims are of an app that has nothing of ours but its sessions. Where ADK's own service does not
keep one of them, or ours means to differ (docs/deploy.md), the test is of ours alone.
"""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event, EventActions
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, InMemorySessionService, Session
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai import types

from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from tests.fakes.extensions import server_database
from tests.fakes.scripted_llm import ScriptedLlm
from tests.fakes.session_services import Open, in_file, open_service

__all__ = ["open_service"]

MINE: dict[str, Any] = {"app_name": "kiosk", "user_id": "aiko"}
ADK = "ADK's own"


@pytest.fixture
async def ours(open_service: Open) -> SqlSessionService:
    return open_service()


@pytest.fixture(params=["sqlite", "postgres", ADK])
async def service(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[BaseSessionService]:
    if request.param == ADK:
        yield InMemorySessionService()
    elif request.param == "sqlite":
        async with in_file(tmp_path) as opened:
            yield opened
    else:
        database = server_database(request)
        yield SqlSessionService(database)
        await database.close()


def event(text: str | None = None, author: str = "clerk", **fields: Any) -> Event:
    if text is not None:
        fields["content"] = types.Content(role="model", parts=[types.Part(text=text)])
    return Event(author=author, invocation_id="i-1", **fields)


def changing(author: str = "clerk", **state: Any) -> Event:
    return event("…", author, actions=EventActions(state_delta=state))


async def reloaded(service: BaseSessionService, session: Session, **config: Any) -> Session:
    """The session as a caller gets it who has not seen it yet."""
    stored = await service.get_session(
        app_name=session.app_name, user_id=session.user_id, session_id=session.id, **config
    )
    assert stored is not None
    return stored


def words(session: Session) -> list[str]:
    parts = [part for each in session.events if each.content for part in each.content.parts or []]
    return [part.text or "" for part in parts]


TRANSCRIPT = types.Transcription(text="Two teas.", finished=True)
KINDS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "input transcription": {"input_transcription": TRANSCRIPT},
    "output transcription": {"output_transcription": TRANSCRIPT},
    "usage": {"usage_metadata": types.GenerateContentResponseUsageMetadata(total_token_count=7)},
    "grounding": {"grounding_metadata": types.GroundingMetadata(web_search_queries=["tea"])},
    "custom metadata": {"custom_metadata": {"till": 3}},
    "an error's message": {"error_message": "The till is jammed."},
    "an error's code": {"error_code": "RECITATION"},
    "an interruption": {"interrupted": True},
    "the end of a live turn": {"turn_complete": True},
    "a finish reason": {"finish_reason": types.FinishReason.SAFETY},
    "ids of long-running calls": {"long_running_tool_ids": {"call-1"}},
    "an escalation": {"actions": EventActions(escalate=True)},
    "an agent's end": {"actions": EventActions(end_of_agent=True)},
    "an agent's state": {"actions": EventActions(agent_state={"step": 2})},
    "an output": {"output": {"total": 4}},
    "bytes": {
        "content": types.Content(
            role="model",
            parts=[types.Part(text="t", thought_signature=b"\x00\xff"), types.Part()],
        )
    },
}


@pytest.mark.parametrize("kind", KINDS)
async def test_an_event_comes_back_as_it_was_whatever_it_holds(
    service: BaseSessionService, kind: str
) -> None:
    session = await service.create_session(**MINE)
    sent = event(**KINDS[kind])
    await service.append_event(session, sent)
    assert (await reloaded(service, session)).events == [sent]
    assert session.events == [sent]


async def test_a_partial_event_is_not_stored(service: BaseSessionService) -> None:
    session = await service.create_session(**MINE)
    await service.append_event(session, event("Two t", partial=True))
    assert session.events == []
    assert (await reloaded(service, session)).events == []


async def test_whoever_asks_without_a_window_gets_all(service: BaseSessionService) -> None:
    session = await service.create_session(**MINE)
    for number in range(60):
        await service.append_event(session, event(str(number)))
    numbers = [str(number) for number in range(60)]
    assert words(await reloaded(service, session)) == numbers
    assert words(await reloaded(service, session, config=None)) == numbers
    assert words(await reloaded(service, session, config=GetSessionConfig())) == numbers


@pytest.mark.parametrize(
    ("window", "left"),
    [
        ({"num_recent_events": 0}, []),
        ({"num_recent_events": 2}, ["3", "4"]),
        ({"after_timestamp": 1_003.0}, ["3", "4"]),
        ({"after_timestamp": 9_999.0}, []),
        ({"after_timestamp": 1_003.0, "num_recent_events": 1}, ["4"]),
        ({"after_timestamp": 1_004.0, "num_recent_events": 3}, ["4"]),
    ],
)
async def test_a_window_is_obeyed(
    service: BaseSessionService, window: dict[str, Any], left: list[str]
) -> None:
    session = await service.create_session(**MINE)
    for number in range(1, 5):
        await service.append_event(session, event(str(number), timestamp=1_000.0 + number))
    windowed = await reloaded(service, session, config=GetSessionConfig(**window))
    assert words(windowed) == left


@pytest.mark.parametrize("author", ["user", "clerk"])
@pytest.mark.parametrize("key", ["cup", "user:cup", "app:cup"])
@pytest.mark.parametrize("value", [{"size": 2}, None], ids=["replaced", "none"])
async def test_state_is_what_was_written_last_by_whomever(
    service: BaseSessionService, author: str, key: str, value: object
) -> None:
    session = await service.create_session(**MINE, state={key: {"size": 1, "lid": True}})
    await service.append_event(session, changing(author, **{key: value}))
    for each in (session, await reloaded(service, session)):
        assert each.state == {key: value}


async def test_state_is_shared_as_its_prefix_says(service: BaseSessionService) -> None:
    begun = {"mine": 1, "user:tea": "green", "app:open": True, "temp:seat": 4}
    await service.create_session(**MINE, state=begun)
    of_user = await service.create_session(**MINE)
    of_other = await service.create_session(app_name="kiosk", user_id="ben")
    elsewhere = await service.create_session(app_name="stall", user_id="aiko")
    assert of_user.state == {"user:tea": "green", "app:open": True}
    assert of_other.state == {"app:open": True}
    assert elsewhere.state == {}
    assert await service.get_user_state(app_name="kiosk", user_id="aiko") == {"tea": "green"}


@pytest.mark.parametrize("author", ["user", "clerk"])
async def test_temporary_state_lives_in_the_running_session_alone(
    service: BaseSessionService, author: str
) -> None:
    session = await service.create_session(**MINE)
    sent = changing(author, **{"temp:seat": 4, "cup": 1})
    await service.append_event(session, sent)
    assert session.state == {"temp:seat": 4, "cup": 1}
    assert sent.actions.state_delta == {"cup": 1}
    assert (await reloaded(service, session)).state == {"cup": 1}


@pytest.mark.parametrize("sent", [event("late"), event()], ids=["words", "nothing"])
async def test_a_session_that_is_gone_takes_no_event(
    service: BaseSessionService, sent: Event
) -> None:
    session = await service.create_session(**MINE)
    await service.delete_session(**MINE, session_id=session.id)
    with pytest.raises(SessionNotFoundError):
        await service.append_event(session, sent)
    with pytest.raises(SessionNotFoundError):
        await service.append_event(Session(**MINE, id="never"), sent)


@pytest.mark.parametrize("sent", ["words", None])
@pytest.mark.parametrize("moment", [1_700_000_000.25, 4_000_000_000.5], ids=["past", "future"])
async def test_a_session_is_as_old_as_its_last_event(
    service: BaseSessionService, sent: str | None, moment: float
) -> None:
    session = await service.create_session(**MINE)
    await service.append_event(session, event(sent, timestamp=moment))
    assert session.last_update_time == moment
    assert (await reloaded(service, session)).last_update_time == moment


async def test_sessions_are_listed_by_their_last_activity(service: BaseSessionService) -> None:
    for name in ("one", "two", "three"):
        await service.create_session(**MINE, session_id=name)
    one = await reloaded(service, Session(**MINE, id="one"))
    await service.append_event(one, event(timestamp=one.last_update_time + 9))
    listed = (await service.list_sessions(**MINE)).sessions
    assert [session.id for session in listed] == ["two", "three", "one"]
    assert [session.events for session in listed] == [[], [], []]


async def test_an_id_names_one_session_whatever_stands_around_it(
    service: BaseSessionService,
) -> None:
    await service.create_session(**MINE, session_id="one", state={"cup": 1})
    with pytest.raises(AlreadyExistsError, match="one"):
        await service.create_session(**MINE, session_id=" one  ")
    assert (await reloaded(service, Session(**MINE, id=" one "))).state == {"cup": 1}
    await service.delete_session(**MINE, session_id="  one")
    assert await service.get_session(**MINE, session_id="one") is None
    assert (await service.create_session(**MINE, session_id="  ")).id.strip()


async def test_of_those_who_create_the_same_session_one_succeeds(
    service: BaseSessionService,
) -> None:
    outcomes = await asyncio.gather(
        *(service.create_session(**MINE, session_id="one") for _ in range(4)),
        return_exceptions=True,
    )
    assert sum(isinstance(each, AlreadyExistsError) for each in outcomes) == 3


async def test_an_event_that_is_sent_again_is_stored_once(service: BaseSessionService) -> None:
    session = await service.create_session(**MINE)
    sent = event("Two teas.")
    await service.append_event(session, sent)
    await service.append_event(session, sent.model_copy(deep=True))
    assert words(await reloaded(service, session)) == ["Two teas."]


async def test_two_events_of_one_id_are_both_stored(service: BaseSessionService) -> None:
    session = await service.create_session(**MINE)
    for text in ("Two teas.", "No, three."):
        await service.append_event(session, event(text, id="e-1"))
    assert words(await reloaded(service, session)) == ["Two teas.", "No, three."]


async def test_an_agent_sees_what_was_said_before(service: BaseSessionService) -> None:
    model = ScriptedLlm().on("generator", "Hello.", "Aiko.")
    agent = LlmAgent(name="clerk", model=model)
    runner = Runner(
        app_name="kiosk", agent=agent, session_service=service, auto_create_session=True
    )
    for text in ("I am Aiko.", "Who am I?"):
        message = types.UserContent(text)
        run = runner.run_async(user_id="aiko", session_id="one", new_message=message)
        assert [each async for each in run]
    texts = [part.text for each in model.requests[-1].contents for part in each.parts or []]
    assert texts == ["I am Aiko.", "Hello.", "Who am I?"]


async def test_a_writer_that_missed_a_change_is_refused(ours: SqlSessionService) -> None:
    session = await ours.create_session(**MINE)
    missed = session.model_copy(deep=True)
    await ours.append_event(session, event("Two teas."))
    with pytest.raises(StaleSessionError, match=f"session {session.id} was changed"):
        await ours.append_event(missed, event("Three teas.", timestamp=1.0))
    await ours.append_event(await reloaded(ours, session), event("Three teas."))
    assert words(await reloaded(ours, session)) == ["Two teas.", "Three teas."]


async def test_what_json_cannot_say_of_a_state_loses_nothing_else(ours: SqlSessionService) -> None:
    session = await ours.create_session(**MINE)
    await ours.append_event(session, changing(cup=1, pour=lambda: None))
    stored = await reloaded(ours, session)
    assert stored.state["cup"] == 1
    assert isinstance(stored.state["pour"], str)


async def test_a_service_is_open_as_long_as_its_block(open_service: Open) -> None:
    async with open_service() as service:
        await service.create_session(**MINE, session_id="one")
    assert await open_service().get_session(**MINE, session_id="one") is not None

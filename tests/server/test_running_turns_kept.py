"""The words of a turn that waits do not cut the events of the one that runs."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.genai import types

from acc_ace import Container, build_container
from acc_ace.adk.sessions.create_session_service import open_session_service
from acc_ace.adk.sessions.event_retention import RUNS_S
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.pipeline import APP_NAME, build_app
from config import ROLES
from tests.fakes.place import Place
from tests.fakes.scripted_llm import ScriptedLlm

HERE: dict[str, Any] = {"app_name": APP_NAME, "user_id": "aiko", "session_id": "s-1"}

WORDS = ["First words.", "Second words."]


@pytest.fixture(params=["trim", "offload"])
async def container(request: pytest.FixtureRequest, place: Place) -> AsyncIterator[Container]:
    """Stores that keep the events of one turn."""
    settings = place.with_settings(learning="off", session_events=request.param, session_turns=1)
    built = build_container(settings)
    yield built
    await built.close()


@pytest.fixture
async def sessions(container: Container) -> AsyncIterator[SqlSessionService]:
    opened = open_session_service(container)
    assert isinstance(opened, SqlSessionService)
    yield opened
    await opened.close()


async def texts(sessions: SqlSessionService) -> list[str]:
    session = await sessions.get_session(**HERE)
    assert session is not None
    contents = [event.content for event in session.events if event.content]
    return [part.text for content in contents for part in content.parts or [] if part.text]


async def test_a_second_message_does_not_cut_the_turn_that_runs(
    container: Container, sessions: SqlSessionService
) -> None:
    asked, released = asyncio.Event(), asyncio.Event()

    async def slowly(_request: LlmRequest) -> dict[str, Any]:
        asked.set()
        await released.wait()
        return {"final_answer": "First answer."}

    model = ScriptedLlm().on("generator", slowly, {"final_answer": "Second answer."})
    # As `adk web` does it.
    app = build_app(container, dict.fromkeys(ROLES, model))
    runner = Runner(app=app, session_service=sessions, auto_create_session=True)

    async def say(text: str) -> list[Event]:
        run = runner.run_async(
            user_id="aiko", session_id="s-1", new_message=types.UserContent(text)
        )
        return [event async for event in run]

    first = asyncio.create_task(say("First words."))
    await asked.wait()
    second = asyncio.create_task(say("Second words."))
    for _ in range(20):
        assert "Second words." not in await texts(sessions)
    released.set()
    said = [
        part.text
        for event in (*await first, *await second)
        for part in ((event.content.parts if event.content else None) or [])[:1]
    ]
    assert [str(text).split("\n")[0] for text in said] == ["First answer.", "Second answer."]
    # One turn is kept: the second one, which began when the first was over.
    assert [text for text in await texts(sessions) if text in WORDS] == WORDS[1:]


def spoken(invocation: str, author: str, text: str, at: float) -> Event:
    content = types.Content(role="user" if author == "user" else "model", parts=[])
    content.parts = [types.Part(text=text)]
    return Event(author=author, invocation_id=invocation, content=content, timestamp=at)


@pytest.mark.parametrize("put", [1, -1], ids=["later", "clock set back"])
async def test_a_turn_that_was_given_up_is_cut_after_a_while(
    sessions: SqlSessionService, put: int
) -> None:
    session = await sessions.create_session(**HERE)
    now = session.last_update_time
    await sessions.append_event(session, spoken("i-1", "user", "Given up.", now))
    await sessions.append_event(session, spoken("i-2", "user", "Soon after.", now + 1))
    assert await texts(sessions) == ["Given up.", "Soon after."]
    later = now + put * (RUNS_S + 2)
    await sessions.append_event(session, spoken("i-3", "user", "Later.", later))
    assert await texts(sessions) == ["Later."]

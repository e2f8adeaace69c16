"""Events of a running turn are held back, and stored with the rows of the turn or not at all."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps import App
from google.adk.events import Event, EventActions
from google.adk.plugins import BasePlugin
from google.adk.runners import Runner
from google.genai import types

from acc_ace.adk.sessions.event_buffer import TurnBuffer
from acc_ace.adk.sessions.event_retention import Retention
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.core.schemas.state import CCS, PLAYBOOK
from acc_ace.storage.sql_database import SqlUnitOfWork
from acc_ace.storage.sql_rows import Rows
from acc_ace.storage.sqlite.database import SqliteDatabase
from acc_ace.unit_of_work import Database
from schemas.base import SessionKey
from tests.fakes.extensions import server_database

KEY = SessionKey("shop", "aiko", "s-1")
HERE: dict[str, Any] = {"app_name": KEY.app, "user_id": KEY.user, "session_id": KEY.session}


@pytest.fixture(params=["sqlite", "postgres"])
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    opened: Database
    if request.param == "sqlite":
        opened = SqliteDatabase(tmp_path / "memory.db")
    else:
        opened = server_database(request)
    yield opened
    await opened.close()


def said(turn: str, text: str, **delta: Any) -> Event:
    return Event(
        author="user",
        invocation_id=turn,
        content=types.UserContent(text),
        actions=EventActions(state_delta=delta),
    )


def answered(turn: str, text: str, **delta: Any) -> Event:
    return Event(
        author="clerk",
        invocation_id=turn,
        content=types.ModelContent(text),
        actions=EventActions(state_delta=delta),
    )


async def stored(database: Database) -> tuple[list[str], dict[str, Any]]:
    """The words and the state that another process would find."""
    session = await SqlSessionService(database).get_session(**HERE)
    assert session is not None
    texts = [part.text or "" for e in session.events if e.content for part in e.content.parts or []]
    return texts, dict(session.state)


async def commit(database: Database, held: TurnBuffer, *ahead: Event) -> None:
    work = SqlUnitOfWork(database)
    work.add(held.write(*ahead))
    await work.commit()
    held.written()


async def test_a_held_turn_reaches_the_running_session_and_no_database(database: Database) -> None:
    service = SqlSessionService(database)
    session = await service.create_session(**HERE)
    service.hold(KEY, "i-1")
    await service.append_event(session, said("i-1", "Hello.", colour="blue"))
    await service.append_event(session, answered("i-1", "Hi.", **{CCS: {"gist": "a greeting"}}))
    assert len(session.events) == 2
    assert session.state == {"colour": "blue", CCS: {"gist": "a greeting"}}
    assert await stored(database) == ([], {})


async def test_a_commit_stores_the_turn_and_what_follows_is_stored_at_once(
    database: Database,
) -> None:
    service = SqlSessionService(database)
    session = await service.create_session(**HERE)
    held = service.hold(KEY, "i-1")
    await service.append_event(session, said("i-1", "Hello."))
    await service.append_event(session, answered("i-1", "Hi.", **{CCS: {"gist": "hi"}}))
    await commit(database, held)
    assert await stored(database) == (["Hello.", "Hi."], {CCS: {"gist": "hi"}})
    await service.append_event(session, answered("i-1", "By the way.", mood="good"))
    texts, state = await stored(database)
    assert texts == ["Hello.", "Hi.", "By the way."]
    assert state == {CCS: {"gist": "hi"}, "mood": "good"}


async def test_the_answer_is_committed_before_the_runner_has_it(database: Database) -> None:
    service = SqlSessionService(database)
    session = await service.create_session(**HERE)
    held = service.hold(KEY, "i-1")
    await service.append_event(session, said("i-1", "Hello."))
    answer = answered("i-1", "Hi.", **{CCS: {"gist": "hi"}, PLAYBOOK: {"n": 1}, "temp:x": 1})
    await commit(database, held, answer)
    committed = (["Hello.", "Hi."], {CCS: {"gist": "hi"}})
    assert await stored(database) == committed
    await service.append_event(session, answer)
    assert await stored(database) == committed
    assert session.events[-1].id == answer.id
    assert session.state == {**committed[1], PLAYBOOK: {"n": 1}, "temp:x": 1}


async def test_an_answer_that_a_plugin_changes_after_the_commit_is_stored_as_it_was_given(
    database: Database,
) -> None:
    service = SqlSessionService(database)
    session = await service.create_session(**HERE)
    held = service.hold(KEY, "i-1")
    await service.append_event(session, said("i-1", "My number?"))
    answer = answered("i-1", "It is 4711.")
    await commit(database, held, answer)
    redacted = answer.model_copy(update={"content": types.ModelContent("It is ****.")})
    await service.append_event(session, redacted)
    assert (await stored(database))[0] == ["My number?", "It is ****."]


async def test_a_discarded_turn_leaves_nothing_and_neither_does_what_it_still_appends(
    database: Database,
) -> None:
    service = SqlSessionService(database)
    session = await service.create_session(**HERE, state={"colour": "red"})
    held = service.hold(KEY, "i-1")
    await service.append_event(session, said("i-1", "Hello.", colour="blue"))
    held.discard()
    await service.append_event(session, answered("i-1", "The run was aborted."))
    assert await stored(database) == ([], {"colour": "red"})
    await service.append_event(session, said("i-2", "Again."))
    assert (await stored(database))[0] == ["Again."]


async def test_a_commit_that_fails_stores_nothing_and_can_be_made_again(
    database: Database,
) -> None:
    service = SqlSessionService(database)
    session = await service.create_session(**HERE)
    held = service.hold(KEY, "i-1")
    await service.append_event(session, said("i-1", "Hello.", colour="blue"))

    def fail(_rows: Rows) -> None:
        raise ConnectionError

    with pytest.raises(ConnectionError):
        await SqlUnitOfWork(database, held.write(), fail).commit()
    assert await stored(database) == ([], {})
    await commit(database, held)
    assert await stored(database) == (["Hello."], {"colour": "blue"})


async def test_a_write_that_runs_again_stores_each_event_once(database: Database) -> None:
    service = SqlSessionService(database)
    session = await service.create_session(**HERE)
    held = service.hold(KEY, "i-1")
    await service.append_event(session, said("i-1", "Hello."))
    write = held.write(answered("i-1", "Hi."))
    await database.write(write)
    await database.write(write)
    assert (await stored(database))[0] == ["Hello.", "Hi."]


async def test_what_comes_from_outside_of_the_turn_is_stored_at_once(database: Database) -> None:
    service = SqlSessionService(database)
    session = await service.create_session(**HERE)
    held = service.hold(KEY, "i-1")
    await service.append_event(session, said("i-1", "Hello.", size="small"))
    patched = await service.get_session(**HERE)
    assert patched is not None
    patch = Event(
        author="user", invocation_id="p-1", actions=EventActions(state_delta={"colour": "blue"})
    )
    await service.append_event(patched, patch)
    assert await stored(database) == ([], {"colour": "blue"})
    await commit(database, held)
    assert await stored(database) == (["Hello."], {"colour": "blue", "size": "small"})


async def test_a_held_event_is_stored_as_it_was_appended(database: Database) -> None:
    service = SqlSessionService(database)
    session = await service.create_session(**HERE)
    held = service.hold(KEY, "i-1")
    event = said("i-1", "Hello.")
    await service.append_event(session, event)
    event.content = types.UserContent("Changed later.")
    await commit(database, held)
    assert (await stored(database))[0] == ["Hello."]


async def test_the_turn_that_is_held_counts_among_those_that_are_kept(database: Database) -> None:
    service = SqlSessionService(database, retention=Retention(2))
    session = await service.create_session(**HERE)
    for number in range(1, 5):
        held = service.hold(KEY, f"i-{number}")
        await service.append_event(session, said(f"i-{number}", f"Question {number}."))
        await service.append_event(session, answered(f"i-{number}", f"Answer {number}."))
        await commit(database, held)
    assert (await stored(database))[0] == ["Question 3.", "Answer 3.", "Question 4.", "Answer 4."]


class _Clerk(BaseAgent):
    """Answers, unless it is to wait for ever."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        if ctx.session.state.get("slow"):
            await asyncio.Event().wait()
        yield answered(ctx.invocation_id, "Hi.", **{CCS: {"gist": "hi"}})


class _Turns(BasePlugin):
    """Holds each turn from its first event on, and commits it at its end."""

    def __init__(self, service: SqlSessionService) -> None:
        super().__init__("turns")
        self._service = service
        self.held: TurnBuffer | None = None

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        self.held = self._service.hold(KEY, invocation_context.invocation_id)
        return None

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        assert self.held is not None
        await commit(self._service.database, self.held)


async def ask(service: SqlSessionService, turns: _Turns, text: str, **state: Any) -> None:
    app = App(name=KEY.app, root_agent=_Clerk(name="clerk"), plugins=[turns])
    runner = Runner(app=app, session_service=service)
    async for _ in runner.run_async(
        user_id=KEY.user,
        session_id=KEY.session,
        new_message=types.UserContent(text),
        state_delta=state,
    ):
        assert (await stored(service.database))[0] == []


async def test_adk_appends_the_words_of_a_turn_after_it_was_begun_to_be_held(
    database: Database,
) -> None:
    service = SqlSessionService(database)
    await service.create_session(**HERE)
    await ask(service, _Turns(service), "Hello.")
    assert await stored(database) == (["Hello.", "Hi."], {CCS: {"gist": "hi"}})


async def test_a_cancelled_run_leaves_nothing(database: Database) -> None:
    service = SqlSessionService(database)
    await service.create_session(**HERE)
    turns = _Turns(service)
    running = asyncio.create_task(ask(service, turns, "Hello.", slow=True))
    await asyncio.wait([running], timeout=0.5)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert turns.held is not None
    turns.held.discard()
    assert await stored(database) == ([], {})

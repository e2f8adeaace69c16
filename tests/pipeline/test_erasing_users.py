"""Erasing a user whose turns run, wait or begin meanwhile: none of their words comes back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.genai import types

from acc_ace import Container, build_container
from acc_ace.adk.sessions.create_session_service import open_session_service
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.errors import ConflictError, SessionBusyError
from acc_ace.pipeline import build_app
from acc_ace.turn.ports import SessionLock
from acc_ace.turn.session_changes import delete_session
from config import ROLES
from schemas.base import SessionKey
from tests.fakes.clock import FixedClock
from tests.fakes.lock_watch import asked_for
from tests.fakes.place import Place
from tests.fakes.residue import residue
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.test_session_life import Life

KEY = SessionKey(APP_NAME, "aiko", "s1")
NEXT = KEY._replace(session="s2")
OTHER = KEY._replace(user="ben")
WORDS = "The code word is walnut."
ANSWER = '{"final_answer": "Noted."}'
PATIENCE_S = 30


@dataclass
class Gate:
    """A model that says when it was asked, and answers when it may."""

    asked: asyncio.Event = field(default_factory=asyncio.Event)
    open: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, _request: LlmRequest) -> str:
        self.asked.set()
        await self.open.wait()
        return ANSWER


@asynccontextmanager
async def process(
    place: Place, *gates: Gate, turn_wait_s: float = PATIENCE_S
) -> AsyncIterator[Conversation]:
    """A process over the stores whose turns meet the gates in order."""
    llm = ScriptedLlm().on("generator", *(gate.answer for gate in gates), ANSWER)
    settings = place.with_settings(learning="off", limits={"turn_wait_s": turn_wait_s})
    conversation = Conversation(
        build_container(settings, FixedClock()), models=dict.fromkeys(ROLES, llm)
    )
    try:
        yield conversation
    finally:
        await conversation.close()


async def test_a_user_is_not_erased_while_a_turn_of_theirs_runs(place: Place) -> None:
    gate = Gate()
    async with process(place, gate) as talking, process(place, turn_wait_s=0.1) as erasing:
        turn = asyncio.create_task(talking.turn(KEY, WORDS))
        await gate.asked.wait()
        with pytest.raises(SessionBusyError, match=r"user 'aiko' is not erased yet.*'s1'"):
            await erasing.erase(KEY.tenant)
        gate.open.set()
        await turn
        assert await residue(erasing.container, KEY.tenant)
        await erasing.erase(KEY.tenant)
        assert await residue(erasing.container, KEY.tenant) == {}


async def test_an_erasure_waits_for_the_turn_that_runs(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()
    async with process(place, gate) as talking, process(place) as erasing:
        turn = asyncio.create_task(talking.turn(KEY, WORDS))
        await gate.asked.wait()
        asked = asked_for(erasing.container.lock, monkeypatch)
        erasure = asyncio.create_task(erasing.erase(KEY.tenant))
        await asked.wait()
        assert not erasure.done()
        gate.open.set()
        await asyncio.wait([turn, erasure])
        assert (await erasure)["sessions"] == 1
        assert await residue(erasing.container, KEY.tenant) == {}


async def test_a_session_that_begins_during_an_erasure_is_erased_too(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Gate(), Gate()
    async with process(place, first, second) as talking, process(place) as erasing:
        one = asyncio.create_task(talking.turn(KEY, WORDS))
        await first.asked.wait()
        asked = asked_for(erasing.container.lock, monkeypatch)
        erasure = asyncio.create_task(erasing.erase(KEY.tenant))
        await asked.wait()
        assert not erasure.done()
        two = asyncio.create_task(talking.turn(NEXT, WORDS))
        await second.asked.wait()
        first.open.set()
        await one
        second.open.set()
        await asyncio.wait([two, erasure])
        assert (await erasure)["sessions"] == 2
        assert await residue(erasing.container, KEY.tenant) == {}


async def test_a_turn_that_waited_for_the_end_of_its_session_leaves_no_word(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with process(place) as talking:
        await talking.turn(KEY, "Hello.")
        async with talking.container.lock.hold(KEY, wait_s=1):
            deletion = asyncio.create_task(talking.forget_session(KEY))
            await asyncio.sleep(0)  # Now it waits in the queue, before the turn.
            asked = asked_for(talking.container.lock, monkeypatch)
            turn = asyncio.create_task(say_as_adk_web(talking.container, WORDS))
            await asked.wait()
        assert await deletion
        with pytest.raises(ConflictError, match="session 's1' was deleted"):
            await turn
        await nothing_is_left(talking)


async def test_a_turn_that_waited_outside_of_a_deleted_session_does_not_begin_it_anew(
    place: Place,
) -> None:
    async with process(place) as deleting, process(place) as inner:
        await deleting.turn(KEY, "Hello.")
        lock = Announced(inner.container.lock)
        container = replace(inner.container, lock=lock)
        talking = Conversation(container, models=dict.fromkeys(ROLES, ScriptedLlm()))
        async with deleting.container.lock.hold(KEY, wait_s=1):
            turn = asyncio.create_task(talking.turn(KEY, WORDS))
            await lock.asked.wait()
            sessions = open_session_service(deleting.container)
            assert isinstance(sessions, SqlSessionService)
            await sessions.drop(KEY)
            await sessions.close()
            await delete_session(deleting.container, KEY)
        with pytest.raises(ConflictError, match="session 's1' was deleted"):
            await turn
        await nothing_is_left(deleting)
        await talking.close()


class Announced:
    """A SessionLock that says when a turn comes for its session."""

    def __init__(self, inner: SessionLock) -> None:
        self._inner = inner
        self.asked = asyncio.Event()

    def hold(self, key: SessionKey, *, wait_s: float) -> AbstractAsyncContextManager[None]:
        self.asked.set()
        return self._inner.hold(key, wait_s=wait_s)


async def nothing_is_left(talking: Conversation) -> None:
    assert await talking.container.evidence.list(KEY) == []
    assert await talking.container.artifacts.count(KEY.tenant) == 0
    assert await talking.state(KEY) is None
    assert (await talking.turn(KEY, "Hello again.")).answer == "Noted."


async def say_as_adk_web(container: Container, words: str) -> None:
    """A turn by ADK's Runner alone."""
    sessions = open_session_service(container)
    app = build_app(container, dict.fromkeys(ROLES, ScriptedLlm()))
    try:
        async for _ in Runner(app=app, session_service=sessions).run_async(
            user_id=KEY.user, session_id=KEY.session, new_message=types.UserContent(words)
        ):
            pass
    except RuntimeError as error:
        # ADK wraps what a plugin raises.
        raise error.__cause__ or error from None
    finally:
        assert isinstance(sessions, SqlSessionService)
        await sessions.close()


async def test_a_record_that_cannot_be_read_is_erased_all_the_same(place: Place) -> None:
    async with process(place) as talking:
        await talking.turn(KEY, WORDS)
        place.execute("UPDATE session_directory SET body = 'no record'")
        await talking.erase(KEY.tenant)
        assert await residue(talking.container, KEY.tenant) == {}


async def test_background_work_on_another_user_is_not_cut_off_by_an_erasure(place: Place) -> None:
    life = Life(place, offload=True, idle_s=600, limits={"shutdown_grace_s": 0})
    reading, read_on = asyncio.Event(), asyncio.Event()

    async def read() -> None:
        reading.set()
        await read_on.wait()

    life.background.before = read
    async with life.conversation.keeping_house(every_s=3600):
        await life.say("I prefer tea.", key=OTHER)
        resetting = asyncio.create_task(life.conversation.reset(OTHER))
        await reading.wait()
        await life.conversation.erase(KEY.tenant)
        read_on.set()
        await resetting
    assert await life.notes(OTHER) == ["preference: I prefer tea."]
    assert life.background.asked == 1
    await life.conversation.close()

"""Background work of several processes, sessions and users: none costs another one anything."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace

import pytest

from acc_ace.conversation import Conversation
from acc_ace.housekeeping import TRIES
from config import ROLES
from core.adapters.bounded_sessions import BoundedSessions
from core.errors import StoreError
from core.ports.session_lock import SessionLock
from schemas.job import Job, JobKind
from schemas.tenancy import SessionKey
from server.session_service import open_session_service
from tests.fakes.place import Place
from tests.pipeline.test_session_life import KEY, LIKES, NEXT, Life

OTHER = KEY._replace(user="ben")


@pytest.fixture
async def life(place: Place) -> AsyncIterator[Life]:
    living = Life(place)
    yield living
    await living.conversation.close()


class Thinking:
    """A model that says when it was asked, and answers when it may."""

    def __init__(self, life: Life) -> None:
        self.asked, self.answer = asyncio.Event(), asyncio.Event()
        life.background.before = self._think

    async def _think(self) -> None:
        self.asked.set()
        await self.answer.wait()


async def test_a_deletion_under_way_is_not_begun_by_another_process(place: Place) -> None:
    first, second = Life(place), Life(place, limits={"turn_wait_s": 0.05})
    await first.say(LIKES)
    model = Thinking(first)
    deleting = asyncio.create_task(first.conversation.forget_session(KEY, keep_notes=True))
    await model.asked.wait()
    second.clock.advance(seconds=30)
    assert await second.conversation.housekeep() == 0
    [job] = await second.container.jobs.list(KEY.tenant)
    assert job.tries == 0
    model.answer.set()
    assert await deleting
    assert await first.notes_kept() == [f"preference: {LIKES}"]
    for life in (first, second):
        await life.conversation.close()


class Held:
    """A SessionLock that says when it is asked for, and passes that on when it may."""

    def __init__(self, inner: SessionLock) -> None:
        self._inner = inner
        self.asked, self.go_on = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def hold(self, key: SessionKey, *, wait_s: float) -> AsyncIterator[None]:
        self.asked.set()
        await self.go_on.wait()
        async with self._inner.hold(key, wait_s=wait_s):
            yield

    def ahead(self, key: SessionKey, *, wait_s: float) -> AbstractAsyncContextManager[None]:
        return self._inner.ahead(key, wait_s=wait_s)


async def test_a_deletion_that_is_done_by_now_deletes_no_new_session(place: Place) -> None:
    first, second = Life(place), Life(place)
    lock = Held(second.container.lock)
    keeping = Conversation(
        replace(second.container, lock=lock), models=dict.fromkeys(ROLES, second.background)
    )
    await first.say(LIKES)
    await first.conversation.housekeep()
    # As a process leaves it that dies after its intent was kept.
    await first.container.jobs.enqueue(Job.of(JobKind.DELETE, KEY, at=first.clock.now()))
    second.clock.advance(seconds=30)
    work = asyncio.create_task(keeping.housekeep())
    await lock.asked.wait()
    assert await first.conversation.forget_session(KEY, keep_notes=True)
    await first.say("Hello again.")
    lock.go_on.set()
    assert await work == 0
    assert await first.conversation.state(KEY) is not None
    for conversation in (first.conversation, keeping, second.conversation):
        await conversation.close()


@pytest.mark.parametrize("by_adk", [False, True])
async def test_a_deletion_without_consent_ends_the_one_with_consent_that_failed(
    place: Place,
    *,
    by_adk: bool,
) -> None:
    life = Life(place)
    await life.say(LIKES)
    place.refuse_deletes("interactions")
    with pytest.raises(StoreError):
        await life.conversation.forget_session(KEY, keep_notes=True)
    place.allow_deletes("interactions")
    if by_adk:
        sessions = open_session_service(life.conversation.container)
        await sessions.delete_session(app_name=KEY.app, user_id=KEY.user, session_id=KEY.session)
        assert isinstance(sessions, BoundedSessions)
        await sessions.close()
    else:
        await life.conversation.forget_session(KEY)
    await life.say("Hello again.")
    life.clock.advance(hours=1)
    await life.conversation.housekeep()
    assert await life.conversation.state(KEY) is not None
    await life.conversation.close()


async def test_a_deletion_with_consent_that_failed_is_finished_in_the_background(
    place: Place,
) -> None:
    life = Life(place)
    await life.say(LIKES)
    place.refuse_deletes("interactions")
    with pytest.raises(StoreError):
        await life.conversation.forget_session(KEY, keep_notes=True)
    place.allow_deletes("interactions")
    life.clock.advance(hours=1)
    assert await life.conversation.housekeep() == 1
    assert await life.conversation.state(KEY) is None
    assert await life.notes_kept() == [f"preference: {LIKES}"]
    await life.conversation.close()


@pytest.mark.parametrize("record", ['{"from": "a newer program"}', b"{\xff}"])
async def test_a_session_that_cannot_be_read_stops_no_work_on_others(
    life: Life, place: Place, record: str | bytes, caplog: pytest.LogCaptureFixture
) -> None:
    if place.settings.store == "postgres" and isinstance(record, bytes):
        record = record.decode("latin-1")  # PostgreSQL holds no text that is none.
    for key in (OTHER, KEY, NEXT):
        await life.say(LIKES, key)
    damage = "UPDATE session_directory SET body = CAST(? AS TEXT) WHERE session = ?"
    place.execute(damage, record, "s1")
    life.clock.advance(hours=1)
    assert await life.conversation.housekeep() == 1
    assert await life.notes(NEXT) == [f"preference: {LIKES}"]
    assert "session_unreadable user='ben' session='s1'" in caplog.text


async def test_jobs_are_done_when_idle_sessions_cannot_be_looked_for(
    life: Life, place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    await life.container.jobs.enqueue(Job.of(JobKind.SUMMARISE, KEY, at=life.clock.now()))
    place.execute("ALTER TABLE session_directory RENAME COLUMN to_offload TO hidden")
    assert await life.conversation.housekeep() == 1
    assert "sweep_failed code=store" in caplog.text
    assert await life.container.jobs.list(KEY.tenant) == []


async def test_sessions_that_were_given_up_keep_no_later_one_from_being_offloaded(
    life: Life, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    old = [KEY._replace(session=f"old{number}") for number in range(60)]
    for key in old:
        await life.container.directory.open(key, at=life.clock.now(), memory="acc")
        job = Job.of(JobKind.OFFLOAD, key, at=life.clock.now(), detail="idle")
        await life.container.jobs.enqueue(job)
        await life.container.jobs.fail(job.id, error="no use", due_at=None)
    await life.say(LIKES, OTHER)
    life.clock.advance(hours=1)
    assert await life.conversation.housekeep() == 1
    assert await life.notes(OTHER) == [f"preference: {LIKES}"]


async def test_what_is_said_before_a_second_reset_is_offloaded_too(place: Place) -> None:
    life = Life(place, idle_s=0)
    await life.say(LIKES)
    model = Thinking(life)
    await life.conversation.reset(KEY)
    await model.asked.wait()
    await life.say("I love black coffee.")
    await life.conversation.reset(KEY)
    model.answer.set()
    await life.conversation.housekeep()
    assert await life.notes() == [f"preference: {LIKES}", "preference: I love black coffee."]
    assert await life.container.jobs.list(KEY.tenant) == []
    await life.conversation.close()


async def test_users_whose_names_hold_colons_have_work_of_their_own(place: Place) -> None:
    life = Life(place, idle_s=0)
    one, two = (
        KEY._replace(user="corp", session="aiko:s1"),
        KEY._replace(user="corp:aiko", session="s1"),
    )
    model = Thinking(life)
    for key in (one, two):
        await life.say(LIKES, key)
        await life.conversation.reset(key)
        await model.asked.wait()
    model.answer.set()
    await life.conversation.housekeep()
    assert [await life.notes(key) for key in (one, two)] == [[f"preference: {LIKES}"]] * 2
    await life.conversation.close()


async def test_an_offload_that_always_fails_is_given_up_though_other_processes_look(
    place: Place,
) -> None:
    first, second = Life(place), Life(place)
    await first.say(LIKES)
    first.background.error = RuntimeError("a bug of the client library")
    for _ in range(TRIES + 2):
        for life in (first, second):
            life.clock.advance(hours=1)
        model = Thinking(first)
        working = asyncio.create_task(first.conversation.housekeep())
        looking = asyncio.create_task(model.asked.wait())
        await asyncio.wait([working, looking], return_when=asyncio.FIRST_COMPLETED)
        looking.cancel()
        await second.conversation.housekeep()
        model.answer.set()
        await working
    [job] = await first.container.jobs.list(KEY.tenant)
    assert (job.tries, job.given_up) == (TRIES, True)
    for life in (first, second):
        await life.conversation.close()


async def test_no_byte_of_an_erased_users_name_stays(place: Place) -> None:
    life = Life(place, offload=False)
    await life.say("Hello.", KEY._replace(user="quokkauser"))
    await life.conversation.erase_user("quokkauser")
    left = [
        file.name
        for file in place.directory.rglob("*")
        if file.is_file() and b"quokkauser" in file.read_bytes()
    ]
    assert left == []
    await life.conversation.close()

"""Background work of several processes, sessions and users: none costs another one anything."""

import asyncio
import logging
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

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
    assert "offload_failed session='s1' code=corrupt" in caplog.text


async def test_sessions_that_others_offload_keep_no_later_one_from_being_offloaded(
    life: Life, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    old = [KEY._replace(session=f"old{number}") for number in range(60)]
    for key in old:
        await life.container.directory.open(key, at=life.clock.now())
        since = life.clock.now() + timedelta(seconds=1)
        assert await life.container.directory.take_idle(key.app, since=since, retry_s=3_600) == key
    await life.say(LIKES, OTHER)
    life.clock.advance(hours=1)
    assert await life.conversation.housekeep() == 1
    assert await life.notes(OTHER) == [f"preference: {LIKES}"]


async def test_what_is_said_before_a_second_reset_is_offloaded_too(place: Place) -> None:
    life = Life(place, idle_s=0)
    await life.say(LIKES)
    await life.conversation.reset(KEY)
    assert await life.notes() == [f"preference: {LIKES}"]
    await life.say("I love black coffee.")
    await life.conversation.reset(KEY)
    assert await life.notes() == [f"preference: {LIKES}", "preference: I love black coffee."]
    await life.conversation.close()


async def test_an_idle_session_is_offloaded_by_one_of_two_processes(place: Place) -> None:
    first, second = Life(place), Life(place)
    await first.say(LIKES)
    for life in (first, second):
        life.clock.advance(hours=1)
    model = Thinking(first)
    working = asyncio.create_task(first.conversation.housekeep())
    await model.asked.wait()
    assert await second.conversation.housekeep() == 0
    model.answer.set()
    assert await working == 1
    assert second.background.asked == 0
    assert await first.notes() == [f"preference: {LIKES}"]
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

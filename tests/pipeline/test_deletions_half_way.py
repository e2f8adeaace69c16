"""Deletions with consent that ended half-way: what is asked for next decides, and of which session.

As a process leaves it that dies, or a database that refuses to delete.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest

from core.adapters.bounded_sessions import BoundedSessions
from core.errors import StoreError
from schemas.artifact import RecallQuery
from schemas.job import Job
from server.session_service import open_session_service
from tests.fakes.place import Place
from tests.pipeline.talk import seen
from tests.pipeline.test_session_life import KEY, LIKES, NEXT, Life

TEA = "I prefer green tea."


@pytest.fixture
async def life(place: Place) -> AsyncIterator[Life]:
    living = Life(place)
    yield living
    await living.conversation.close()


async def delete_in_vain(life: Life, place: Place, table: str) -> None:
    """A deletion with consent that a database refuses to end."""
    place.refuse_deletes(table)
    with pytest.raises(StoreError):
        await life.conversation.forget_session(KEY, keep_notes=True)
    place.allow_deletes(table)


async def delete(life: Life, *, by_adk: bool) -> None:
    """A deletion without consent."""
    if not by_adk:
        assert await life.conversation.forget_session(KEY)
        return
    sessions = open_session_service(life.container)
    await sessions.delete_session(app_name=KEY.app, user_id=KEY.user, session_id=KEY.session)
    assert isinstance(sessions, BoundedSessions)
    await sessions.close()


async def recalled(life: Life, text: str) -> list[str]:
    query = RecallQuery(key=NEXT, text=text, limit=20, max_tokens=4_000)
    recall = await life.container.artifacts.recall(query)
    return [candidate.artifact.content for candidate in recall.candidates]


async def deleted(life: Life) -> Job:
    """Delete the session with consent; the job of it, as it was meanwhile."""
    asked, answer = asyncio.Event(), asyncio.Event()

    async def think() -> None:
        asked.set()
        await answer.wait()

    life.background.before = think
    deleting = asyncio.create_task(life.conversation.forget_session(KEY, keep_notes=True))
    await asked.wait()
    [job] = await life.container.jobs.list(KEY.tenant)
    answer.set()
    assert await deleting
    life.background.before = None
    return job


@pytest.mark.parametrize("table", ["interactions", "journal", "jobs"])
@pytest.mark.parametrize("by_adk", [False, True])
async def test_a_deletion_without_consent_takes_the_notes_of_one_with_consent_that_failed(
    life: Life, place: Place, table: str, *, by_adk: bool
) -> None:
    await life.say(LIKES)
    life.clock.advance(hours=2)
    await life.conversation.housekeep()
    await life.say(TEA)
    await delete_in_vain(life, place, table)
    await delete(life, by_adk=by_adk)
    assert await life.container.artifacts.count(KEY.tenant) == 0
    assert await life.notes_kept() == []
    await life.say("Good morning.", NEXT)
    assert LIKES not in seen(life.llm.requests_of("compressor")[-1])


async def test_notes_of_an_earlier_session_of_the_name_outlive_consent_that_is_withdrawn(
    life: Life, place: Place
) -> None:
    await life.say(LIKES)
    await life.conversation.forget_session(KEY, keep_notes=True)
    await life.say(TEA)
    await delete_in_vain(life, place, "interactions")
    await delete(life, by_adk=False)
    assert await life.notes_kept() == [f"preference: {LIKES}"]
    assert await recalled(life, LIKES) == [f"preference: {LIKES}"]
    assert await life.container.artifacts.count(KEY.tenant) == 1


async def test_consent_that_was_withdrawn_is_not_followed_later(life: Life, place: Place) -> None:
    await life.say(LIKES)
    await delete_in_vain(life, place, "interactions")
    place.refuse_deletes("interactions")
    with pytest.raises(StoreError):
        await life.conversation.forget_session(KEY)
    place.allow_deletes("interactions")
    life.clock.advance(hours=1)
    await life.conversation.housekeep()
    assert await recalled(life, LIKES) == []
    await delete(life, by_adk=False)
    assert await life.container.artifacts.count(KEY.tenant) == 0
    assert await life.container.jobs.list(KEY.tenant) == []


async def test_a_deletion_whose_end_was_not_noted_leaves_the_next_session_alone(
    life: Life,
) -> None:
    await life.say(LIKES)
    await life.container.jobs.enqueue(await deleted(life))
    life.clock.advance(minutes=1)
    await life.say(TEA)
    life.clock.advance(minutes=10)
    await life.conversation.housekeep()
    assert await life.conversation.state(KEY) is not None
    assert len(await life.container.evidence.list(KEY)) == 1
    assert await life.container.jobs.list(KEY.tenant) == []


async def test_a_deletion_of_the_next_session_is_not_taken_for_the_one_before(
    life: Life, place: Place
) -> None:
    await life.say(LIKES)
    await life.container.jobs.enqueue(await deleted(life))
    life.clock.advance(minutes=1)
    await life.say(TEA)
    await delete_in_vain(life, place, "interactions")
    life.clock.advance(hours=1)
    await life.conversation.housekeep()
    assert await life.conversation.state(KEY) is None
    assert await life.notes_kept() == [f"preference: {LIKES}", f"preference: {TEA}"]


async def test_a_session_begun_while_the_clock_was_ahead_is_deleted_in_the_background(
    life: Life, place: Place
) -> None:
    life.clock.advance(hours=5)
    await life.say(LIKES)
    life.clock.advance(hours=-5)
    await delete_in_vain(life, place, "interactions")
    life.clock.advance(hours=1)
    await life.conversation.housekeep()
    assert await life.conversation.state(KEY) is None
    assert await life.container.evidence.list(KEY) == []


async def test_a_session_that_adk_began_after_a_deletion_outlives_its_job(
    life: Life, place: Place
) -> None:
    await life.say(LIKES)
    await delete_in_vain(life, place, "jobs")
    sessions = open_session_service(life.container)
    named = {"app_name": KEY.app, "user_id": KEY.user, "session_id": KEY.session}
    await sessions.create_session(**named, state={"topic": "new"})
    life.clock.advance(minutes=10)
    await life.conversation.housekeep()
    begun = await sessions.get_session(app_name=KEY.app, user_id=KEY.user, session_id=KEY.session)
    assert begun is not None
    assert begun.state["topic"] == "new"
    assert await life.container.jobs.list(KEY.tenant) == []
    assert isinstance(sessions, BoundedSessions)
    await sessions.close()


@pytest.mark.parametrize("body", ["{", b"{\xff}"])
async def test_a_session_whose_record_is_damaged_is_deleted(
    life: Life, place: Place, body: str | bytes
) -> None:
    if place.settings.store == "postgres" and isinstance(body, bytes):
        body = body.decode("latin-1")  # PostgreSQL holds no text that is none.
    await life.say(LIKES)
    place.execute("UPDATE session_directory SET body = CAST(? AS TEXT)", body)
    assert await life.conversation.forget_session(KEY)
    assert not await life.conversation.forget_session(KEY)
    assert await life.container.artifacts.count(KEY.tenant) == 0
    assert await life.container.evidence.list(KEY) == []
    assert await life.container.directory.names(KEY.tenant) == []

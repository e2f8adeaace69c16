"""A deletion with consent that is sent again, as a client does after a 503, keeps its notes."""

from collections.abc import AsyncIterator

import pytest

from core.errors import StoreError
from schemas.job import JobKind
from tests.fakes.place import Place
from tests.pipeline.talk import seen
from tests.pipeline.test_session_life import KEY, LIKES, NEXT, Life


@pytest.fixture
async def life(place: Place) -> AsyncIterator[Life]:
    living = Life(place)
    yield living
    await living.conversation.close()


@pytest.mark.parametrize("table", ["artifacts", "interactions", "journal", "jobs"])
async def test_consent_that_is_given_again_keeps_the_notes(
    life: Life, place: Place, table: str
) -> None:
    await life.say(LIKES)
    place.refuse_deletes(table)
    with pytest.raises(StoreError):
        await life.conversation.forget_session(KEY, keep_notes=True)
    place.allow_deletes(table)
    assert await life.conversation.forget_session(KEY, keep_notes=True)
    assert await life.notes_kept() == [f"preference: {LIKES}"]
    assert await life.container.jobs.list(KEY.tenant) == []
    assert not await life.conversation.forget_session(KEY, keep_notes=True)
    assert await life.notes_kept() == [f"preference: {LIKES}"]
    await life.say("Good morning.", NEXT)
    assert LIKES in seen(life.llm.requests_of("compressor")[-1])


async def test_a_deletion_that_is_sent_again_in_vain_stays_a_job(life: Life, place: Place) -> None:
    await life.say(LIKES)
    place.refuse_deletes("interactions")
    with pytest.raises(StoreError):
        await life.conversation.forget_session(KEY, keep_notes=True)
    place.allow_deletes("interactions")
    place.refuse_inserts("jobs")
    with pytest.raises(StoreError):
        await life.conversation.forget_session(KEY, keep_notes=True)
    place.allow_deletes("jobs")
    [job] = await life.container.jobs.list(KEY.tenant)
    assert job.kind is JobKind.DELETE
    life.clock.advance(hours=1)
    assert await life.conversation.housekeep() == 1
    assert await life.container.evidence.list(KEY) == []
    assert await life.notes_kept() == [f"preference: {LIKES}"]

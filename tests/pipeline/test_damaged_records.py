"""A session whose record is damaged: what else of the user goes on, and what becomes of it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from core.errors import CorruptStoreError, StoreError
from tests.fakes.place import Place
from tests.pipeline.talk import seen
from tests.pipeline.test_deletions_half_way import TEA, delete, delete_in_vain, recalled
from tests.pipeline.test_session_life import KEY, LIKES, NEXT, Life

THIRD = KEY._replace(session="s3")
NOTE = f"preference: {LIKES}"


@pytest.fixture
async def life(place: Place) -> AsyncIterator[Life]:
    living = Life(place)
    yield living
    await living.conversation.close()


def damage(place: Place, session: str, body: str = "{") -> None:
    place.execute("UPDATE session_directory SET body = ? WHERE session = ?", body, session)


def of_kind(records: list[dict[str, Any]], kind: str, session: str) -> list[dict[str, Any]]:
    return [item for item in records if item["kind"] == kind and item["session"] == session]


@pytest.mark.parametrize("body", ["{", '{"from": "a newer program"}'])
async def test_a_damaged_record_keeps_no_other_session_of_the_user_from_beginning(
    life: Life, place: Place, body: str
) -> None:
    await life.say(LIKES)
    life.clock.advance(hours=1)
    await life.conversation.housekeep()
    await life.say(TEA, NEXT)
    damage(place, "s2", body)
    with pytest.raises(CorruptStoreError, match="s2"):
        await life.say("Hello.", NEXT)
    await life.say("Good morning.", THIRD)
    assert LIKES in seen(life.llm.requests_of("compressor")[-1])
    await life.say("Hello.")


async def test_an_export_names_a_session_whose_record_is_damaged_and_goes_on(
    life: Life, place: Place
) -> None:
    await life.say(LIKES)
    await life.say(TEA, NEXT)
    damage(place, "s2")
    records = await life.exported()
    [missing] = of_kind(records, "missing", "s2")
    assert missing["what"] == "session_record"
    assert "record of session 's2' cannot be read" in missing["reason"]
    sessions = [item["value"]["session"] for item in records if item["kind"] == "session"]
    assert sessions == ["s1"]
    for name, text in (("s1", LIKES), ("s2", TEA)):
        assert text in str(of_kind(records, "turn", name))
        assert text in str(of_kind(records, "event", name))
        assert len(of_kind(records, "state", name)) == 1
    assert records[-1] == {"kind": "end"}


async def test_a_user_with_a_damaged_record_is_erased(life: Life, place: Place) -> None:
    await life.say(LIKES)
    await life.say(TEA, NEXT)
    damage(place, "s2")
    await life.conversation.erase(KEY.tenant)
    assert await life.conversation.residue(KEY.tenant) == {}
    assert [record["kind"] for record in await life.exported()] == ["user", "end"]


async def test_a_damaged_session_that_is_deleted_with_consent_leaves_its_notes(
    life: Life, place: Place
) -> None:
    await life.say(LIKES)
    damage(place, "s1")
    assert await life.conversation.forget_session(KEY, keep_notes=True)
    assert await life.notes_kept() == [NOTE]
    assert await life.conversation.state(KEY) is None
    assert await life.container.evidence.list(KEY) == []
    assert await life.container.artifacts.count(KEY.tenant) == 1
    assert await life.container.jobs.list(KEY.tenant) == []
    await life.say("Good morning.", NEXT)
    assert LIKES in seen(life.llm.requests_of("compressor")[-1])


async def test_notes_of_an_earlier_session_stay_known_when_a_damaged_one_is_deleted_with_consent(
    life: Life, place: Place
) -> None:
    await life.say(LIKES)
    await life.conversation.forget_session(KEY, keep_notes=True)
    await life.say(TEA)
    damage(place, "s1")
    assert await life.conversation.forget_session(KEY, keep_notes=True)
    assert sorted(await life.notes_kept()) == [f"preference: {TEA}", NOTE]


@pytest.mark.parametrize("table", ["artifacts", "interactions", "journal", "jobs"])
async def test_consent_that_is_given_again_keeps_the_notes_of_a_session_damaged_since(
    life: Life, place: Place, table: str
) -> None:
    await life.say(LIKES)
    await delete_in_vain(life, place, table)
    damage(place, "s1")
    assert await life.conversation.forget_session(KEY, keep_notes=True)
    assert await life.notes_kept() == [NOTE]
    assert await life.container.evidence.list(KEY) == []
    assert await life.container.jobs.list(KEY.tenant) == []


@pytest.mark.parametrize("table", ["interactions", "journal", "jobs"])
@pytest.mark.parametrize("by_adk", [False, True])
async def test_consent_is_withdrawn_from_a_session_damaged_since(
    life: Life, place: Place, table: str, *, by_adk: bool
) -> None:
    await life.say(LIKES)
    await delete_in_vain(life, place, table)
    damage(place, "s1")
    await delete(life, by_adk=by_adk)
    assert await life.container.artifacts.count(KEY.tenant) == 0
    assert await life.container.evidence.list(KEY) == []
    assert await life.container.directory.names(KEY.tenant) == []
    assert await life.container.jobs.list(KEY.tenant) == []


async def test_notes_of_an_earlier_session_outlive_consent_withdrawn_from_a_damaged_one(
    life: Life, place: Place
) -> None:
    await life.say(LIKES)
    await life.conversation.forget_session(KEY, keep_notes=True)
    await life.say(TEA)
    await delete_in_vain(life, place, "interactions")
    damage(place, "s1")
    await delete(life, by_adk=False)
    assert await recalled(life, LIKES) == [NOTE]
    assert await life.container.artifacts.count(KEY.tenant) == 1


@pytest.mark.parametrize("by_adk", [False, True])
async def test_notes_of_an_earlier_session_outlive_consent_withdrawn_from_one_damaged_before(
    life: Life, place: Place, *, by_adk: bool
) -> None:
    await life.say(LIKES)
    await life.conversation.forget_session(KEY, keep_notes=True)
    await life.say(TEA)
    damage(place, "s1")
    await delete_in_vain(life, place, "interactions")
    await delete(life, by_adk=by_adk)
    assert await recalled(life, LIKES) == [NOTE]
    assert await life.notes_kept() == [NOTE]
    assert await life.container.artifacts.count(KEY.tenant) == 1


async def test_consent_that_was_given_twice_and_withdrawn_keeps_notes_of_earlier_sessions_alone(
    life: Life, place: Place
) -> None:
    await life.say(LIKES)
    await life.conversation.forget_session(KEY, keep_notes=True)
    await life.say(TEA)
    await delete_in_vain(life, place, "interactions")
    damage(place, "s1")
    await delete_in_vain(life, place, "interactions")
    await delete(life, by_adk=False)
    assert await life.notes_kept() == [NOTE]
    assert await life.container.artifacts.count(KEY.tenant) == 1


async def test_a_damaged_record_that_could_not_be_begun_anew_loses_no_notes(
    life: Life, place: Place
) -> None:
    await life.say(LIKES)
    await life.conversation.forget_session(KEY, keep_notes=True)
    await life.say(TEA)
    damage(place, "s1")
    place.refuse_inserts("session_directory")
    with pytest.raises(StoreError):
        await life.conversation.forget_session(KEY, keep_notes=True)
    place.allow_updates("session_directory")
    assert await life.container.directory.names(KEY.tenant) == ["s1"]
    assert await life.conversation.forget_session(KEY, keep_notes=True)
    assert sorted(await life.notes_kept()) == [f"preference: {TEA}", NOTE]


@pytest.mark.parametrize("by_adk", [False, True])
async def test_a_damaged_record_keeps_no_consent_for_another_session_from_being_withdrawn(
    life: Life, place: Place, *, by_adk: bool
) -> None:
    await life.say(LIKES)
    await life.say("Hello.", NEXT)
    await delete_in_vain(life, place, "jobs")
    damage(place, "s2")
    await delete(life, by_adk=by_adk)
    assert NOTE not in await recalled(life, LIKES)
    assert await life.container.directory.names(KEY.tenant) == ["s2"]
    assert await life.container.jobs.list(KEY.tenant) == []


async def test_a_session_begun_after_a_damaged_one_outlives_the_deletion_of_that(
    life: Life, place: Place
) -> None:
    await life.say(LIKES)
    damage(place, "s1")
    await delete_in_vain(life, place, "jobs")
    life.clock.advance(minutes=1)
    await life.say(TEA)
    life.clock.advance(minutes=10)
    await life.conversation.housekeep()
    assert len(await life.container.evidence.list(KEY)) == 1
    assert await life.container.jobs.list(KEY.tenant) == []

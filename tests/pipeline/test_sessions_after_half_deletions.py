"""Who speaks under the name of a session whose deletion failed sees nothing deleted, loses nothing.

As a process leaves it that dies in between, or a database that refuses to delete.
"""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing

import pytest

from core.errors import StoreError
from schemas.artifact import RecallQuery
from tests.fakes.place import Place
from tests.pipeline.talk import seen
from tests.pipeline.test_session_life import KEY, LIKES, NEXT, Life

TEA = "I prefer green tea."
SECRET = "The code of the vault is walnut."


@pytest.fixture
async def life(place: Place) -> AsyncIterator[Life]:
    living = Life(place)
    yield living
    await living.conversation.close()


@pytest.fixture
async def summarising(place: Place) -> AsyncIterator[Life]:
    limits = {"history_tokens": 1_200, "shutdown_grace_s": 0}
    living = Life(place, summarises=True, memory="summary", limits=limits)
    yield living
    await living.conversation.close()


async def delete_in_vain(life: Life, place: Place, table: str, *, keep_notes: bool = False) -> None:
    place.refuse_deletes(table)
    with pytest.raises(StoreError):
        await life.conversation.forget_session(KEY, keep_notes=keep_notes)
    place.allow_deletes(table)


def prompt(life: Life) -> str:
    return str(life.llm.requests_of("generator")[-1])


@pytest.mark.parametrize("table", ["journal", "session_directory"])
async def test_a_summary_of_deleted_turns_is_not_shown_again(
    summarising: Life, place: Place, table: str
) -> None:
    life = summarising
    for number in range(45):
        await life.say(f"Sensor {number} reads secret-{number}.")
        await life.conversation.housekeep()
    assert "secret-1." in prompt(life)
    await delete_in_vain(life, place, table)
    await life.say("Hello.")
    assert "secret-1." not in prompt(life)
    assert '<input name="summary">' not in prompt(life)


@pytest.mark.parametrize("table", ["journal", "session_directory"])
async def test_a_reset_of_deleted_turns_hides_no_new_ones(place: Place, table: str) -> None:
    life = Life(place, offload=False, memory="replay")
    for number in range(3):
        await life.say(f"old-{number}.")
    await life.conversation.reset(KEY)
    await delete_in_vain(life, place, table)
    await life.say("fresh-0.")
    await life.say("fresh-1.")
    assert "fresh-0." in prompt(life)
    assert "old-" not in prompt(life)
    await life.conversation.close()


async def test_words_that_could_not_all_be_deleted_are_not_shown_again(place: Place) -> None:
    life = Life(place, offload=False, memory="replay")
    for number in range(3):
        await life.say(f"old-{number}.")
    await life.conversation.reset(KEY)
    await life.say("kept.")
    await delete_in_vain(life, place, "interactions")
    await life.say("fresh.")
    await life.say("newest.")
    assert "fresh." in prompt(life)
    assert "kept." not in prompt(life)
    assert "old-" not in prompt(life)
    await life.conversation.close()


async def recalled(life: Life, text: str = "code vault walnut") -> str:
    """What another session of the user finds, of the secret if of nothing else."""
    query = RecallQuery(key=NEXT, text=text, limit=20, max_tokens=4_000)
    found = await life.container.artifacts.recall(query)
    return " ".join(each.artifact.content for each in found.candidates)


@pytest.mark.parametrize("table", ["interactions", "journal"])
async def test_words_that_a_deletion_took_out_of_recall_stay_out_when_the_session_goes_on(
    life: Life, place: Place, table: str
) -> None:
    await life.say(SECRET)
    assert "walnut" in await recalled(life)
    await delete_in_vain(life, place, table)
    assert "walnut" not in await recalled(life)
    await life.say("The vault is in the cellar.")
    await life.say("Good morning.")
    assert "walnut" not in await recalled(life)
    assert "cellar" in await recalled(life)


async def test_turns_that_were_gone_back_to_stay_out_of_recall_once_they_are_deleted(
    life: Life, place: Place
) -> None:
    await life.say("Hello.")
    await life.say(SECRET)
    await life.conversation.undo(KEY)
    await life.conversation.rollback(KEY, 2)
    assert "walnut" in await recalled(life)
    await delete_in_vain(life, place, "interactions")
    await life.say("Good morning.")
    assert "walnut" not in await recalled(life)
    assert await life.conversation.forget_session(KEY)
    assert await life.container.artifacts.count(KEY.tenant) == 0


async def test_going_back_and_forth_brings_no_words_back_that_a_deletion_erased(
    life: Life, place: Place
) -> None:
    await life.say("Hello.")
    await life.say(SECRET)
    await delete_in_vain(life, place, "interactions")
    await life.conversation.undo(KEY)
    await life.conversation.rollback(KEY, 2)
    assert "walnut" not in await recalled(life)
    await life.say("Good morning.")
    await life.conversation.rollback(KEY, 1)
    await life.conversation.rollback(KEY, 5)
    await life.say("Good evening.")
    assert "walnut" not in await recalled(life)
    assert "morning" in await recalled(life, "good morning")


def let_deletions_fail_at_their_last_write(place: Place) -> None:
    """The directory refuses to note that a session is deleted."""
    if place.settings.store == "sqlite":
        with closing(sqlite3.connect(place.directory / "memory.db")) as connection:
            connection.execute(
                "CREATE TRIGGER refuse BEFORE INSERT ON session_directory "
                "WHEN json_extract(NEW.body, '$.deleted_at') IS NOT NULL "
                "BEGIN SELECT RAISE(ABORT, 'refused'); END"
            )
        return
    place.execute(
        "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'refused'; END $$"
    )
    place.execute(
        "CREATE TRIGGER refuse BEFORE UPDATE ON session_directory FOR EACH ROW "
        "WHEN (NEW.body::json ->> 'deleted_at' IS NOT NULL) EXECUTE FUNCTION refuse()"
    )


async def fail_to_end(life: Life, place: Place) -> None:
    let_deletions_fail_at_their_last_write(place)
    with pytest.raises(StoreError):
        await life.conversation.forget_session(KEY, keep_notes=True)
    place.allow_updates("session_directory")


async def test_the_next_session_of_the_name_outlives_a_deletion_that_is_finished_later(
    life: Life, place: Place
) -> None:
    await life.say(LIKES)
    await fail_to_end(life, place)
    await life.say("Never restart db-01 by day.")
    life.clock.advance(minutes=6)
    await life.conversation.housekeep()
    state = await life.conversation.state(KEY)
    assert state is not None
    assert (state.turn, len(await life.container.evidence.list(KEY))) == (1, 1)
    assert state.ccs.constraints
    assert await life.container.jobs.list(KEY.tenant) == []


async def test_what_was_kept_with_consent_is_known_after_the_next_session_of_the_name(
    life: Life, place: Place
) -> None:
    await life.say(LIKES)
    await fail_to_end(life, place)
    await life.say(TEA)
    assert await life.conversation.forget_session(KEY)
    assert await life.notes_kept() == [f"preference: {LIKES}"]
    await life.say("Good morning.", NEXT)
    assert LIKES in seen(life.llm.requests_of("compressor")[-1])


async def test_a_deletion_that_failed_at_its_end_may_be_sent_again(
    life: Life, place: Place
) -> None:
    await life.say(LIKES)
    await fail_to_end(life, place)
    life.clock.advance(minutes=6)
    await life.conversation.housekeep()
    assert await life.container.directory.find(KEY) is None
    assert await life.notes_kept() == [f"preference: {LIKES}"]
    assert await life.container.jobs.list(KEY.tenant) == []


async def test_consent_that_is_withdrawn_at_the_end_of_a_deletion_keeps_nothing(
    life: Life, place: Place
) -> None:
    await life.say(LIKES)
    await fail_to_end(life, place)
    assert await life.conversation.forget_session(KEY)
    assert await life.notes_kept() == []
    assert await life.container.artifacts.count(KEY.tenant) == 0


def change_adk_sessions(place: Place, statement: str) -> None:
    """Run SQL where ADK's sessions are: in SQLite that is a file of their own."""
    [file] = place.directory.glob("*session*.db")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(statement)
        connection.commit()


async def test_a_session_whose_events_could_not_be_deleted_is_still_that_session(
    life: Life, place: Place
) -> None:
    await life.say("Never restart db-01 by day.")
    if place.settings.store == "sqlite":
        change_adk_sessions(
            place,
            "CREATE TRIGGER refuse BEFORE DELETE ON sessions "
            "BEGIN SELECT RAISE(ABORT, 'refused'); END",
        )
    else:
        place.refuse_deletes("sessions")
    with pytest.raises((StoreError, sqlite3.Error)):
        await life.conversation.forget_session(KEY, keep_notes=True)
    if place.settings.store == "sqlite":
        change_adk_sessions(place, "DROP TRIGGER refuse")
    else:
        place.allow_deletes("sessions")
    await life.say("Hello.")
    state = await life.conversation.state(KEY)
    assert state is not None
    assert state.turn == 2
    life.clock.advance(minutes=6)
    await life.conversation.housekeep()
    assert await life.conversation.state(KEY) is None
    assert [each["kind"] for each in await life.exported() if each["kind"] == "event"] == []

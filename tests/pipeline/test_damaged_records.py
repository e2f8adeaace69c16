"""A session whose record is damaged: what else of the user goes on, and what becomes of it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from acc_ace.errors import CorruptStoreError
from tests.fakes.place import Place
from tests.fakes.residue import residue
from tests.pipeline.talk import seen
from tests.pipeline.test_session_life import KEY, LIKES, NEXT, Life

THIRD = KEY._replace(session="s3")
TEA = "I prefer green tea."
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
    assert await residue(life.conversation.container, KEY.tenant) == {}
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
    await life.say("Good morning.", NEXT)
    assert LIKES in seen(life.llm.requests_of("compressor")[-1])

"""x_t may name a time: what was said then is looked for, in every store."""

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from acc_ace.core.schemas.artifact import Artifact, Recall, RecallQuery
from acc_ace.memory.ranking import TIME_NAMED
from acc_ace.storage.create_stores import Stores
from tests.contract.values import KEY, OTHER_USER, artifact, asking

TOKYO = ZoneInfo("Asia/Tokyo")
NOW = datetime(2026, 11, 20, 9, 0, tzinfo=TOKYO)
MEETINGS = [
    ("may", "The meeting moved the release.", datetime(2026, 5, 7, 15, 0, tzinfo=TOKYO)),
    ("june", "The meeting moved the release.", datetime(2026, 6, 9, 15, 0, tzinfo=TOKYO)),
    ("yesterday", "The meeting moved the release.", datetime(2026, 11, 19, 1, 0, tzinfo=TOKYO)),
    ("lunch", "The canteen serves curry.", datetime(2026, 5, 7, 12, 0, tzinfo=TOKYO)),
]


def dated(name: str, content: str, at: datetime, **more: Any) -> Artifact:
    return artifact(name, content, **more).model_copy(update={"created_at": at})


def asked(text: str, **more: Any) -> RecallQuery:
    return asking(text, asked_at=NOW, **more)


def ids(recall: Recall) -> list[str]:
    return [candidate.artifact.artifact_id for candidate in recall.candidates]


@pytest.fixture
async def meetings(stores: Stores) -> Stores:
    await stores.artifacts.add([dated(*meeting) for meeting in MEETINGS])
    return stores


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("What did the meeting move on 7 May?", "may"),
        ("What did the meeting move in June 2026?", "june"),
        ("what did yesterday's meeting move", "yesterday"),
        ("6月のmeetingは?", "june"),
        ("2026年5月7日のmeetingは?", "may"),
        ("昨日のmeetingは?", "yesterday"),
    ],
)
async def test_of_the_same_words_those_of_the_time_that_is_named_come_first(
    meetings: Stores, text: str, first: str
) -> None:
    recall = await meetings.artifacts.recall(asked(text))
    assert ids(recall)[0] == first
    assert TIME_NAMED in recall.candidates[0].why


async def test_a_day_begins_where_the_user_is(meetings: Stores) -> None:
    query = asked("what did yesterday's meeting move")
    # 01:00 in Tokyo is the day before yesterday's evening in UTC.
    in_utc = query.model_copy(update={"asked_at": NOW.astimezone(ZoneInfo("UTC"))})
    assert TIME_NAMED in (await meetings.artifacts.recall(query)).candidates[0].why
    found = await meetings.artifacts.recall(in_utc)
    assert all(TIME_NAMED not in candidate.why for candidate in found.candidates)


async def test_what_was_said_at_the_time_is_found_without_a_common_word(meetings: Stores) -> None:
    assert "lunch" in ids(await meetings.artifacts.recall(asked("What happened on 7 May?")))


async def test_without_the_time_of_asking_no_time_is_looked_for(meetings: Stores) -> None:
    recall = await meetings.artifacts.recall(asking("What did the meeting move on 7 May?"))
    assert ids(recall) == ["yesterday", "june", "may"]


async def test_a_time_nobody_said_anything_at_changes_nothing(meetings: Stores) -> None:
    plain = await meetings.artifacts.recall(asking("What did the meeting move?"))
    dated_in_vain = await meetings.artifacts.recall(asked("What did the meeting move in 2019?"))
    assert ids(dated_in_vain) == ids(plain)


async def test_words_that_match_well_win_over_the_time_alone(meetings: Stores) -> None:
    await meetings.artifacts.add(
        [dated("vault", "The vault code is kept by Ren.", datetime(2026, 1, 3, tzinfo=TOKYO))]
    )
    found = await meetings.artifacts.recall(asked("Who keeps the vault code, as said in June?"))
    assert ids(found)[0] == "vault"


async def test_nothing_of_others_or_newer_than_asked_for_is_found_by_time(meetings: Stores) -> None:
    day = datetime(2026, 5, 7, 18, 0, tzinfo=TOKYO)
    await meetings.artifacts.add([dated("theirs", "A party.", day, tenant=OTHER_USER.tenant)])
    found = await meetings.artifacts.recall(
        asked("What happened on 7 May?", before=datetime(2026, 5, 7, 13, 0, tzinfo=TOKYO))
    )
    assert ids(found) == ["lunch"]


async def test_a_day_among_thousands_is_found_by_its_common_words(stores: Stores) -> None:
    start = datetime(2026, 1, 1, tzinfo=TOKYO)
    await stores.artifacts.add(
        [
            dated(f"n-{at}", "The nightly build passed again.", start + timedelta(hours=2 * at))
            for at in range(3_000)
        ]
        + [dated("red", "The nightly build failed again.", datetime(2026, 3, 5, 2, tzinfo=TOKYO))]
    )
    found = await stores.artifacts.recall(asked("Did the nightly build fail on 5 March?", limit=3))
    assert ids(found)[0] == "red"
    assert all(TIME_NAMED in candidate.why for candidate in found.candidates)


async def test_what_was_stored_out_of_order_is_found_by_time(stores: Stores) -> None:
    await stores.artifacts.add([dated(*meeting) for meeting in reversed(MEETINGS)])
    recall = await stores.artifacts.recall(asked("What did the meeting move on 7 May?"))
    assert ids(recall)[0] == "may"


async def test_a_retired_turn_is_not_found_by_time(stores: Stores) -> None:
    day = datetime(2026, 5, 7, 12, 0, tzinfo=TOKYO)
    await stores.artifacts.add([dated("gone", "Hello.", day, session=KEY.session, turn=3)])
    await stores.artifacts.retire(KEY, 2)
    assert ids(await stores.artifacts.recall(asked("What happened on 7 May?"))) == []

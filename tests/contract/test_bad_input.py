"""Texts that break careless stores: every store keeps them whole, or says why it will not."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from acc_ace.errors import InputError
from acc_ace.storage.create_stores import Stores
from schemas.artifact import Recall
from schemas.base import SessionKey
from schemas.interaction import ToolResult
from tests.contract.values import (
    KEY,
    OTHER_USER,
    artifact,
    asking,
    entry,
    interaction,
    turn,
)
from tests.fakes.clock import START

ODD = {
    "nul": "pay\x00ment is due",
    "half a pair": "payment \ud83d is due",
    "zero width": "pay\u200bment \u2060is\ufeff due",
    "bidi": "payment \u202eeud si\u202c now",
    "tags": "payment\U000e0041\U000e0042 is due",
    "controls": "payment\x1b[31m is\x07 due\x7f",
    "separators": "payment\u2028is\u2029due\x85now",
    "noncharacters": "payment\ufffe is\uffff due\U0010ffff",
    "marks": "p" + "a\u0301" * 3 + " payment is due",
}


def ids(recall: Recall) -> list[str]:
    return [candidate.artifact.artifact_id for candidate in recall.candidates]


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
async def test_odd_characters_are_kept_as_they_are_and_do_not_hide_a_text(
    stores: Stores, text: str
) -> None:
    stored = artifact("odd", text).model_copy(update={"source": f"from {text}"})
    await stores.artifacts.add([stored, artifact("other", "nothing to see")])
    assert await stores.artifacts.get(KEY.tenant, "odd") == stored
    assert ids(await stores.artifacts.recall(asking("due" if "\x00" in text else "payment"))) == [
        "odd"
    ]


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
async def test_odd_characters_in_a_question_find_what_it_asks_for(
    stores: Stores, text: str
) -> None:
    await stores.artifacts.add([artifact("plain", "The payment is due now.")])
    assert ids(await stores.artifacts.recall(asking(text, state_terms=[text]))) == ["plain"]


@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
async def test_evidence_and_journal_keep_odd_characters(stores: Stores, text: str) -> None:
    result = ToolResult(tool_call_id="c", name="read_file", result=text)
    recorded = interaction(1, text, tool_results=[result])
    await stores.evidence.record(KEY, recorded)
    assert await stores.evidence.last(KEY) == recorded
    written = entry(1, gist=text)
    await stores.journal.append(KEY, written, expected_version=0)
    assert await stores.journal.head(KEY) == written


@pytest.mark.parametrize(
    "text",
    [
        *('"', '" OR ""', "NEAR(payment due, 2)", "payment*", "^payment", "terms:payment"),
        *("payment AND NOT due", "(payment", "payment) --", "- payment", "{payment due}:x"),
        *("payment' OR 1=1; --", "payment & !due | <->", "%payment_", "\\payment\\", ":*"),
    ],
)
async def test_query_syntax_is_text_where_it_is_asked_and_where_it_is_stored(
    stores: Stores, text: str
) -> None:
    await stores.artifacts.add(
        [
            artifact("plain", "The payment is due."),
            artifact("syntax", text),
            artifact("b", "breakfast"),
        ]
    )
    found = ids(await stores.artifacts.recall(asking(text, state_terms=[text])))
    assert "b" not in found
    assert ("plain" in found) == ("payment" in text)
    stored = await stores.artifacts.get(KEY.tenant, "syntax")
    assert stored is not None
    assert stored.content == text


async def test_of_one_id_twice_in_a_batch_the_last_counts(stores: Stores) -> None:
    await stores.artifacts.add(
        [
            artifact("same", "apples"),
            artifact("other", "plums"),
            artifact("same", "pears"),
            artifact("same", "quinces", tenant=OTHER_USER.tenant),
        ]
    )
    assert await stores.artifacts.count(KEY.tenant) == 2
    assert await stores.artifacts.count(OTHER_USER.tenant) == 1
    assert ids(await stores.artifacts.recall(asking("apples quinces"))) == []
    assert ids(await stores.artifacts.recall(asking("pears"))) == ["same"]


@pytest.mark.parametrize("name", ["a\x00b", "a\ud800b"])
async def test_an_id_that_a_store_cannot_keep_is_refused_with_its_whole_batch(
    stores: Stores, name: str
) -> None:
    await stores.artifacts.add([artifact("ab", "mine")])
    with suppress(InputError):
        await stores.artifacts.add([artifact("good", "good"), artifact(name, "odd")])
        kept = await stores.artifacts.get(KEY.tenant, name)
        assert kept is not None
        assert kept.content == "odd"
    assert await stores.artifacts.count(KEY.tenant) in {1, 3}
    mine = await stores.artifacts.get(KEY.tenant, "ab")
    assert mine is not None
    assert mine.content == "mine"


async def test_a_session_whose_name_holds_a_nul_is_nobody_else_s(stores: Stores) -> None:
    odd = SessionKey(KEY.app, KEY.user, "s-1\x00x")
    await stores.evidence.record(KEY, interaction(1))
    with suppress(InputError):
        assert await stores.evidence.last(odd) is None


@pytest.mark.parametrize("year", [1, 1969, 9_999])
async def test_any_date_is_kept_and_ordered(stores: Stores, year: int) -> None:
    odd = artifact("odd", "payment").model_copy(
        update={"created_at": datetime(year, 6, 1, tzinfo=UTC)}
    )
    await stores.artifacts.add([odd, artifact("now", "payment")])
    order = ["odd", "now"] if year > 2_026 else ["now", "odd"]
    assert ids(await stores.artifacts.recall(asking("payment"))) == order


async def test_turns_stay_in_their_order_when_the_clock_runs_backwards(stores: Stores) -> None:
    for number in (1, 2, 3):
        back = START - timedelta(days=number)
        said = turn(number, f"option {number}").model_copy(update={"created_at": back})
        await stores.artifacts.add([said])
        await stores.evidence.record(
            KEY, interaction(number).model_copy(update={"created_at": back})
        )
    assert ids(await stores.artifacts.recall(asking("?"))) == ["s-1-t3"]
    last = await stores.evidence.last(KEY)
    assert last is not None
    assert last.turn == 3
    assert [item.turn for item in await stores.evidence.list(KEY)] == [3, 2, 1]
    future = asking("option", before=START - timedelta(days=2, hours=12))
    assert ids(await stores.artifacts.recall(future)) == ["s-1-t3"]


async def test_words_said_after_an_offload_are_offloaded_whatever_the_clock_says(
    stores: Stores,
) -> None:
    ahead = START + timedelta(days=2)
    await stores.directory.open(KEY, at=ahead)
    await stores.directory.offloaded(KEY, at=ahead, notes=[])
    later = ahead + timedelta(days=1)
    assert await stores.directory.take_idle("shop", since=later, retry_s=60) is None
    await stores.directory.open(KEY, at=START)
    assert await stores.directory.take_idle("shop", since=later, retry_s=60) == KEY

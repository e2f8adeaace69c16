"""Claims about the embedded Qualifier."""

import pytest

from tests.ext.embedded.requests import judge


async def test_a_candidate_on_the_subject_is_relevant_and_another_is_not() -> None:
    decided = await judge(
        "Which replica does db-01 have?",
        {"a": "The replica of db-01 is db-02.", "b": "Canteen menu: soup on Tuesday."},
    )
    assert decided == {"a": True, "b": False}


async def test_japanese_candidates_are_judged_by_their_subject() -> None:
    decided = await judge(
        "受注システムの担当は誰ですか？",
        {"a": "受注システムの担当は高橋さんです。", "b": "食堂の火曜日はカレーです。"},
    )
    assert decided == {"a": True, "b": False}


@pytest.mark.parametrize("chat", ["Thanks!", "ありがとうございます"])
async def test_small_talk_needs_no_artifact(chat: str) -> None:
    assert await judge(chat, {"a": "db-01 is down.", "b": "受注システム"}) == {
        "a": False,
        "b": False,
    }


async def test_every_candidate_gets_exactly_one_decision() -> None:
    candidates = {f"a{number}": f"fact {number} on db-01" for number in range(20)}
    assert set(await judge("What about db-01?", candidates)) == set(candidates)

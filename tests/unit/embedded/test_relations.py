"""Claims about relations, statuses and claims of others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.rules_model.relations import find_claim, find_relations, latest


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The outage was caused by a full disk.", "cause: a full disk -> The outage"),
        ("Checkout fails because the pool is empty.", "cause: the pool is empty -> Checkout fails"),
        ("After the deploy, errors rose.", "after: the deploy -> errors rose"),
        (
            "ディスクが満杯になったため、注文が失敗した。",
            "cause: ディスクが満杯になった -> 注文が失敗した",
        ),
        ("障害の原因は設定ミスです。", "cause: 設定ミス -> 障害"),
        ("db-01 is down", "status: db-01 = down"),
        ("db-01 is back up", "status: db-01 = back up"),
        ("db-01 is not healthy", "status: db-01 = not healthy"),
        ("ap-02 が停止しました。", "status: ap-02 = 停止"),
    ],
)
def test_a_relation_is_found(text: str, expected: str) -> None:
    assert expected in find_relations(text)


@pytest.mark.parametrize("text", ["Is db-01 down?", "ap-02 は停止しましたか？", "Nice weather."])
def test_a_question_or_small_talk_states_no_relation(text: str) -> None:
    assert find_relations(text) == []


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("Bob says the ban is gone.", "Bob"),
        ("Mika from finance told us that it is fine.", "Mika"),
        ("田中さんは、もう解除されたと言っています。", "田中さん"),
    ],
)
def test_reported_speech_is_a_claim_and_never_a_status(text: str, who: str) -> None:
    claim = find_claim(text)
    assert claim is not None
    assert claim.startswith(f"claim: {who} -> ")
    assert find_relations(text) == [claim]


def test_the_newest_status_of_a_thing_replaces_the_older() -> None:
    items = ["status: db-01 = up", "cause: a -> b", "status: db-01 = down", "cause: a -> b"]
    assert latest(items) == ["status: db-01 = up", "cause: a -> b"]


@given(st.text(max_size=1_000))
def test_any_text_gives_one_line_relations(text: str) -> None:
    for item in find_relations(text):
        assert "\n" not in item
        assert len(item) < 300

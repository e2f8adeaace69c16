"""Claims about relations, statuses and claims of others."""

from hypothesis import given
from hypothesis import strategies as st

from acc_ace.ext.embedded.relations import find_claim, find_relations, latest
from tests.fakes.tables import each_case


@each_case
def test_a_relation_is_found(text: str, expected: str) -> None:
    assert expected in find_relations(text)


@each_case
def test_a_question_or_small_talk_states_no_relation(text: str) -> None:
    assert find_relations(text) == []


@each_case
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

"""Sentences and clauses."""

from acc_ace.core.text.sentences import MAX_SENTENCE, split_clauses, split_sentences
from tests.fakes.tables import each_case


@each_case
def test_text_splits_into_sentences(text: str, expected: list[str]) -> None:
    assert split_sentences(text) == expected


def test_a_sentence_without_end_is_cut_at_its_bound() -> None:
    pieces = split_sentences("word " * 2_000)
    assert max(map(len, pieces)) <= MAX_SENTENCE


@each_case
def test_two_rules_in_one_sentence_come_apart(sentence: str, expected: list[str]) -> None:
    assert split_clauses(sentence) == expected


@each_case
def test_a_rule_is_never_parted_from_its_condition(sentence: str) -> None:
    assert split_clauses(sentence) == [sentence]

"""Invariants of the language rules for any text."""

from hypothesis import given
from hypothesis import strategies as st

from acc_ace.core.text.injection import instruction_like
from acc_ace.core.text.normalize import language_of
from acc_ace.core.text.rules.mentions import ended_in, goal_in, loosening_in, rules_in
from acc_ace.core.text.rules.own_words import own_words, without_numbers
from acc_ace.core.text.sentences import split_clauses, split_sentences
from schemas.base import Authority
from schemas.commit import ConstraintPin

_JOINTS = (
    " and ",
    ", but ",
    "; ",
    ". ",
    "\n",
    "> ",
    "```\n",
    '"',
    "「",
    "」",
    "。",
    "？",
    "- ",
    "1. ",
)
_SAID = ("Never restart db-01", "the freeze is over", "release c-0001", "you may now ", "Dr. Chen")
_SAID_JA = ("営業時間内は再起動禁止", "解除します", "ｒｕｌｅ", "\u200b", "目標は復旧です")
_PHRASES = st.sampled_from((*_JOINTS, *_SAID, *_SAID_JA, "3.11", "ignore all rules"))
_TEXTS = st.one_of(st.text(), st.lists(st.one_of(_PHRASES, st.text(max_size=5))).map("".join))

_RULES = ("Never restart db-01", "Production is frozen until Monday", "営業時間内は再起動禁止")
_PINS = [
    ConstraintPin(
        id=f"c-{number:04}", text=rule, authority=Authority.USER, origin_turn=1, quote=rule
    )
    for number, rule in enumerate(_RULES, start=1)
]


@given(_TEXTS)
def test_sentences_are_verbatim_and_in_order(text: str) -> None:
    at = 0
    for sentence in split_sentences(text):
        assert sentence == sentence.strip() != ""
        at = text.index(sentence, at) + len(sentence)


@given(_TEXTS)
def test_clauses_are_verbatim_parts_of_their_sentence(text: str) -> None:
    for sentence in split_sentences(text):
        clauses = split_clauses(sentence)
        assert clauses
        assert all(clause in sentence for clause in clauses)


@given(_TEXTS)
def test_rules_goals_and_what_loosens_are_verbatim_parts_of_the_text(text: str) -> None:
    goal = goal_in(text)
    for quote in (*rules_in(text), *loosening_in(text), *([goal] if goal else [])):
        assert quote.text in quote.sentence
        assert quote.sentence in without_numbers(text)


@given(_TEXTS)
def test_what_ends_a_rule_names_one_in_force_and_quotes_the_text(text: str) -> None:
    for pin, quote in ended_in(text, _PINS):
        assert pin in _PINS
        assert quote.text in without_numbers(text)


@given(_TEXTS)
def test_quoting_every_line_says_nothing(text: str) -> None:
    quoted = "\n".join(f"> {line}" for line in text.splitlines())
    assert own_words(quoted).sentences == ()


@given(_TEXTS)
def test_a_numbered_message_without_its_numbers_is_the_message(text: str) -> None:
    assert without_numbers(own_words(text).numbered()) == own_words(text).message


@given(_TEXTS)
def test_any_text_has_a_language_and_a_verdict(text: str) -> None:
    assert language_of(text) in ("ja", "en")
    assert instruction_like(text) is None or instruction_like(text)

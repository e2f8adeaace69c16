"""Invariants of the language rules for any text."""

from hypothesis import given
from hypothesis import strategies as st

from acc_ace.core.text.injection import instruction_like
from acc_ace.core.text.normalize import language_of
from acc_ace.core.text.rules.goal_detection import detect_goal
from acc_ace.core.text.rules.rule_changes import detect_changes, unmatched_release
from acc_ace.core.text.rules.rule_detection import detect_rules
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
def test_rules_are_verbatim_parts_of_the_text(text: str) -> None:
    for span in detect_rules(text):
        assert span.text in span.sentence
        assert span.sentence in text


@given(_TEXTS)
def test_a_change_names_a_known_pin_once_and_quotes_the_text(text: str) -> None:
    changes = detect_changes(text, _PINS)
    names = [change.rule_id for change in changes]
    assert len(names) == len(set(names))
    assert set(names) <= {pin.id for pin in _PINS}
    assert all(change.quote in text for change in changes)
    assert all(change.text is None or change.text in text for change in changes)


@given(_TEXTS)
def test_quoting_every_line_releases_nothing(text: str) -> None:
    quoted = "\n".join(f"> {line}" for line in text.splitlines())
    assert detect_changes(quoted, _PINS) == []
    assert detect_rules(quoted) == []


@given(_TEXTS)
def test_an_unmatched_release_is_quoted_from_the_text(text: str) -> None:
    reported = unmatched_release(text, _PINS)
    assert reported is None or reported in text


@given(_TEXTS)
def test_a_goal_is_quoted_from_the_text(text: str) -> None:
    goal = detect_goal(text)
    assert goal is None or goal.text in text


@given(_TEXTS)
def test_any_text_has_a_language_and_a_verdict(text: str) -> None:
    assert language_of(text) in ("ja", "en")
    assert instruction_like(text) is None or instruction_like(text)

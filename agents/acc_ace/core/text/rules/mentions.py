"""What a text says of rules as the reader hears it, and which rule in force it speaks of."""

from collections.abc import Sequence
from typing import Final

from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.schemas.user_words import OwnQuote
from acc_ace.core.text.normalize import normalise
from acc_ace.core.text.patterns import any_of
from acc_ace.core.text.rules.own_words import OwnWords, own_words
from acc_ace.core.text.rules.quoted_spans import mask_quotations
from acc_ace.core.text.rules.reader import REPORTED, SentenceReading, read_sentence
from acc_ace.core.text.topic_words import topic_words

_A_RULE: Final = any_of(
    r"\b(?:rule|ban|freeze|restriction|constraint|limit|cap|policy)s?\b",
    r"ルール|制約|制限|決まり|禁止|規則|上限",
)

_RULE_ID: Final = any_of(r"\b[cu]-\d{4}")


def readings(own: OwnWords) -> list[tuple[str, SentenceReading]]:
    """The own sentences of a message, each with what the reader makes of it.

    A plain prohibition is very surely one where little else is said; in long messages it is often
    somebody else's, of a notice or a signature.
    """
    heard = [(each.text, read_sentence(mask_quotations(each.text))) for each in own.sentences]
    is_short = len(heard) <= _FEW
    return [
        (text, reading._replace(binds=max(reading.binds, reading.least_very_sure)))
        if is_short and reading.is_plain
        else (text, reading)
        for text, reading in heard
    ]


_FEW: Final = 2
"""Sentences of a message that says little beside a rule."""


def rules_in(text: str) -> list[OwnQuote]:
    """The own sentences of a text that the reader is sure to be rules."""
    heard = readings(own_words(text))
    return [
        OwnQuote(sentence, sentence)
        for sentence, reading in heard
        if reading.reaches("sure") and reading.binds > reading.loosens
    ]


def loosening_in(text: str) -> list[OwnQuote]:
    """The own sentences of a text that the reader is sure to permit, lift or change something."""
    heard = readings(own_words(text))
    return [
        OwnQuote(sentence, sentence)
        for sentence, reading in heard
        if seems_to_loosen(sentence, reading)
    ]


def names_a_rule(text: str) -> bool:
    """Whether a text speaks of a rule as such: 'the limit', 「禁止」, 'c-0004'."""
    folded = normalise(text)
    return (_A_RULE.search(folded) or _RULE_ID.search(folded)) is not None


def seems_to_loosen(sentence: str, reading: SentenceReading) -> bool:
    """Whether a sentence surely loosens; one that speaks of a rule as such needs less."""
    is_heard = reading.loosens_surely or (reading.loosens_alone and names_a_rule(sentence))
    is_own = REPORTED.search(normalise(sentence)) is None
    return is_heard and is_own and reading.loosens > reading.binds


def goal_in(text: str) -> OwnQuote | None:
    """The first own sentence of a text that states what the work is for, or None."""
    heard = readings(own_words(text))
    goals = (sentence for sentence, reading in heard if states_goal(reading))
    return next((OwnQuote(sentence, sentence) for sentence in goals), None)


def states_goal(reading: SentenceReading) -> bool:
    """Whether a sentence rather states the goal than anything else."""
    return reading.goal > max(_GOAL, reading.binds, reading.loosens)


_GOAL: Final = 0.5


def ended_in(text: str, pins: Sequence[ConstraintPin]) -> list[tuple[ConstraintPin, OwnQuote]]:
    """The rules that a text seems to lift or change, each with the sentence."""
    meant_by = ((meant(quote.text, pins), quote) for quote in (loosening_in(text) if pins else ()))
    return [(pin, quote) for pin, quote in meant_by if pin is not None]


def meant(text: str, pins: Sequence[ConstraintPin]) -> ConstraintPin | None:
    """The one rule that shares most content words with a text, or None."""
    words = topic_words(text)
    shared = sorted(
        ((len(words & topic_words(pin.text)), at) for at, pin in enumerate(pins)), reverse=True
    )
    if not shared or not shared[0][0]:
        return None
    return None if len(shared) > 1 and shared[0][0] == shared[1][0] else pins[shared[0][1]]


def is_about(sentence: str, pin: ConstraintPin) -> bool:
    """Whether words speak of a rule: of its matter, its id, or of 'the rule' and no matter."""
    folded, words = normalise(sentence), topic_words(sentence)
    is_any = not words and _A_RULE.search(folded) is not None
    return bool(words & topic_words(pin.text)) or pin.id in folded or is_any

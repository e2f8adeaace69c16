"""Detect text that orders or permits what an active constraint forbids, or lifts it."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.text.patterns import lazy_pattern, remembered
from acc_ace.core.text.polarity import negated
from acc_ace.core.text.rules.mentions import ended_in
from acc_ace.core.text.rules.topic import words_of_act
from acc_ace.core.text.sentences import split_sentences
from acc_ace.core.text.similarity import content_words

_MAX_SENTENCES = 2_048
_SENTENCE_CHARS = 1_000

_SAME_TOPIC = 0.5
"""Minimum overlap, as a share of the smaller set of content words, of the same topic."""

_RELEASE = lazy_pattern(
    r"\b(no longer (applies|in force|valid|required|needed)|does(n't| not) apply|exempt(ed)?"
    r"|waive[ds]?|overrid(e|es|den)|bypass(es|ed)?|disregard|ignore)\b"
    r"|撤廃|無視|適用され(ない|ません)|適用外|対象外|例外|解禁",
    re.IGNORECASE,
)
"""The end of a rule or an exception to it, in any context."""

_ENDED = lazy_pattern(
    r"\b((has been|have been|been|is|are|was|were) (over|void|lifted|revoked|rescinded|waived"
    r"|cancell?ed|suspended)|lift(ed|s)?)\b|解除|廃止|無効|不要",
    re.IGNORECASE,
)
"""The end of something, not necessarily a rule; also 'the pump was lifted'."""

_A_RULE = lazy_pattern(
    r"\b(rule|ban|freeze|restriction|constraint|limit|limitation|cap|embargo|requirement"
    r"|prohibition|moratorium|policy|policies|lockdown|block|hold|ceiling|quota|obligation)(e?s)?\b"
    r"|禁止|制約|ルール|規則|制限|凍結|上限|規制|方針|決まり|義務|必須",
    re.IGNORECASE,
)
_UPHELD = lazy_pattern(
    r"\b(do not|don't|never|must not|may not|cannot|can't|no one may|nobody may)\s+(\w+\s+){0,2}"
    r"(waive|override|bypass|disregard|ignore|lift)\b"
    r"|\b(is|are|was|were|has|have) not (been )?(over|void|lifted|revoked|waived|suspended)\b"
    r"|(解除|撤廃|廃止|無視|解禁)(は|を|も)?(し(ない|ません|てはいけ|てはなら)|でき(ない|ません)"
    r"|され(ていない|ていません|ない|ません)|禁止|不可)|例外(は|も)?(なく|ない|なし|ありません|認め(ない|ません))",
    re.IGNORECASE,
)
"""A negated end of or exception to a constraint."""

_PERMISSION = lazy_pattern(
    r"\b((?-i:may)|can|could|should|must|shall|need to|has to|have to|feel free|allowed|permitted"
    r"|okay|ok|fine|safe|required|mandatory|always|please)\b"
    r"|すること|すべき|せよ|でき(ます|る)|可能|許可|必ず|しましょう"
    r"|て(も)?(よい|よく|いい|良い|構わない|構いません|かまわない|かまいません)|て(ください|下さい)"
    r"|(する|行う|します|行います|実施|実行)[。．]?\s*$",
    re.IGNORECASE,
)
_LEAD_IN = lazy_pattern(
    r"(?:^|\b(?:says?|said|wrote)[:：]\s+|[:：]\s+(?=[-*•]))"
    r"[\s\-*•>\"“]*(?:(?:step\s*)?\d+\s*[.):：]?\s*)?"
    r"(?:(?:then|now|first|next|finally|also|immediately|just|simply)[,\s]+)*([A-Za-z][A-Za-z-]*)(?![\w-])",
    re.IGNORECASE,
)
"""Lead-in of an order, who says it included, and its first word."""

_SPEAKER = lazy_pattern(r"^\s*(?:user|system|agent)\s*:\s*", re.IGNORECASE)
"""Speaker label of a stored turn."""
_STRUCTURED = lazy_pattern(r"\s*[\[{]")
_LITERAL = lazy_pattern(r'"((?:[^"\\]|\\.)*)"?')
"""A string in JSON text; the last one may be truncated."""
_APART = lazy_pattern(r"(?<!\\)\\[nrt]|[「」]| (?:quoted|agent): ")
"""What sets words apart: a line's end in JSON, quotation marks, the next speaker of a turn."""


class Contradiction(NamedTuple):
    """A constraint and the sentence that contradicts it."""

    constraint_id: str
    sentence: str


def contradiction(text: str, pins: Sequence[ConstraintPin]) -> Contradiction | None:
    """The first sentence that contradicts an active constraint, or None.

    A contradiction is on the same topic and either states its end or an exception, or orders or
    permits with the opposite polarity; or it would end the constraint if the user said it.
    Reports of events do not contradict, nor does the end of something that only shares a
    constraint's condition ("the pump was lifted during business hours"). Each string of JSON text,
    even if truncated, and what others say in a quotation is checked separately too.
    """
    rules = [(pin, content_words(pin.text), negated(pin.text)) for pin in pins]
    for sentence in islice(_sentences(text), _MAX_SENTENCES) if rules else ():
        clause = sentence[:_SENTENCE_CHARS]
        words = content_words(clause)
        for pin, pin_words, pin_negated in rules:
            if _topical(pin_words, words) and (
                _lifts(clause, words, pin)
                or (negated(clause) != pin_negated and _orders(clause, pin_words))
            ):
                return Contradiction(pin.id, clause)
        if ended := _ended(clause, pins):
            return Contradiction(ended, clause)
    return None


def against(pins: Sequence[ConstraintPin]) -> Callable[[str], bool]:
    """Whether a text has a sentence that contradicts one of these constraints."""
    return lambda text: contradiction(text, pins) is not None


def _sentences(text: str) -> Iterator[str]:
    yield from split_sentences(text)
    apart = _APART.sub("\n", text)
    yield from split_sentences(apart) if apart != text else ()
    for literal in _LITERAL.finditer(text) if _STRUCTURED.match(text) else ():
        yield from split_sentences(_APART.sub("\n", literal[1]))


def _ended(sentence: str, pins: Sequence[ConstraintPin]) -> str | None:
    """The constraint that the sentence would release or amend if the user said it."""
    ended = ended_in(_SPEAKER.sub("", sentence), pins) if _tells_an_end(sentence) else None
    return ended[0][0].id if ended else None


@remembered
def _tells_an_end(sentence: str) -> bool:
    is_end = _RELEASE.search(sentence) or _ENDED.search(sentence)
    return bool(is_end) and not _UPHELD.search(sentence)


def _topical(first: frozenset[str], second: frozenset[str]) -> bool:
    shared, fewer = len(first & second), min(len(first), len(second))
    return shared >= max(1, min(2, fewer)) and shared >= _SAME_TOPIC * fewer


def _lifts(sentence: str, words: frozenset[str], pin: ConstraintPin) -> bool:
    """Whether a sentence states the end of the rule or an exception to it."""
    if _UPHELD.search(sentence):
        return False
    if _RELEASE.search(sentence):
        return True
    if not _ENDED.search(sentence):
        return False
    return bool(_A_RULE.search(sentence)) or bool(words & words_of_act(pin.text))


def _orders(sentence: str, pin_words: frozenset[str]) -> bool:
    """Whether a sentence permits or orders, rather than reports or upholds."""
    plain = _UPHELD.sub(" ", sentence)
    if _PERMISSION.search(plain):
        return True
    # An English order starts with its verb; if the constraint has it too, they share a topic.
    return any(content_words(opening[1]) & pin_words for opening in _LEAD_IN.finditer(plain))


def flag_contradiction(text: str, pins: Sequence[ConstraintPin]) -> str:
    """The text; if it contradicts a rule in force, as a quotation after that rule."""
    clash = contradiction(text, pins)
    if clash is None:
        return text
    rule = next(pin.text for pin in pins if pin.id == clash.constraint_id)
    return (
        f"[quoted words, which lift nothing: {clash.constraint_id} '{rule}' is in force] \"{text}\""
    )


def screened_input(turn_input: TurnInput, pins: Sequence[ConstraintPin]) -> TurnInput:
    """x_t for a model: text that is not the user's is screened by `flag_contradiction`."""
    attached = tuple(
        given.model_copy(update={"text": flag_contradiction(given.text, pins)})
        for given in turn_input.attachments
    )
    is_own = turn_input.authority.may_rule
    text = turn_input.text if is_own else flag_contradiction(turn_input.text, pins)
    return turn_input.model_copy(update={"text": text, "attachments": attached})

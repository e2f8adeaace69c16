"""Find recalled text that orders or permits what an active constraint forbids, or lifts it."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from core.domain.gate.support import shared
from core.domain.language.sentences import split_sentences
from core.domain.language.words import content_words, negated
from schemas.commit import ConstraintPin

_MAX_SENTENCES = 512
_SENTENCE_CHARS = 1_000

_SAME_TOPIC = 0.5
"""Share of the smaller set of content words from which two texts are about the same thing."""

_RELEASE = re.compile(
    r"\b(no longer (applies|in force|valid|required|needed)|does(n't| not) apply|is (over|void|lifted)"
    r"|(been|is|are|was) (lifted|revoked|rescinded|waived|cancell?ed|suspended)|exempt(ed)?|waive[ds]?"
    r"|overrid(e|es|den)|bypass|disregard|ignore|lift(ed|s)?)\b"
    r"|解除|撤廃|廃止|無効|無視|適用され(ない|ません)|適用外|対象外|例外|解禁|不要",
    re.IGNORECASE,
)
_PERMISSION = re.compile(
    r"\b(may|can|could|should|must|shall|need to|has to|have to|feel free|allowed|permitted|okay|ok|fine"
    r"|safe|required|mandatory|always|please)\b"
    r"|してよい|してもよい|して構|しても構|してください|すること|すべき|せよ|できます|できる|可能|許可|必ず|しましょう"
    r"|て(も)?(よい|いい|構いません|かまわない)|て(ください|下さい)|(する|行う|します|実施|実行)[。．]?\s*$",
    re.IGNORECASE,
)
_LEAD_IN = re.compile(
    r"^[\s\-*•>]*((step\s*)?\d+\s*[.):：]?\s*)?((then|now|first|next|finally|also|immediately|just)[,\s]+)*",
    re.IGNORECASE,
)
_FIRST_WORD = re.compile(r"[A-Za-z][A-Za-z-]*")


class Contradiction(NamedTuple):
    """The constraint and the sentence that goes against it."""

    constraint_id: str
    sentence: str


def contradiction(text: str, pins: Sequence[ConstraintPin]) -> Contradiction | None:
    """The first sentence that goes against an active constraint, or None.

    Against: about the same thing, and either speaking of its end or exception, or ordering or
    permitting with the opposite polarity. A report of what happened goes against nothing.
    """
    rules = [(pin, content_words(pin.text), negated(pin.text)) for pin in pins]
    for sentence in split_sentences(text)[:_MAX_SENTENCES] if rules else ():
        said = sentence[:_SENTENCE_CHARS]
        words = content_words(said)
        for pin, pin_words, pin_negated in rules:
            if _topical(pin_words, words) and (
                _RELEASE.search(said) or (negated(said) != pin_negated and _orders(said, pin_words))
            ):
                return Contradiction(pin.id, said)
    return None


def _topical(first: frozenset[str], second: frozenset[str]) -> bool:
    smaller, larger = sorted((first, second), key=len)
    return len(first & second) >= min(2, len(smaller)) and shared(smaller, larger) >= _SAME_TOPIC


def _orders(sentence: str, pin_words: frozenset[str]) -> bool:
    """Whether a sentence permits or orders, rather than reports."""
    if _PERMISSION.search(sentence):
        return True
    # An English order opens with its verb; if the constraint has the verb too, it is about it.
    first = _FIRST_WORD.match(sentence, _LEAD_IN.match(sentence).end())  # type: ignore[union-attr]
    return first is not None and bool(content_words(first[0]) & pin_words)

"""Whether a speaker takes back what was answered: a closed list in English and Japanese."""

import re

from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.sentences import split_sentences

_LOOKED_AT = 4
"""Sentences of a text in which a correction is looked for."""

_CORRECTION = lazy_pattern(
    r"^(?:no[,.:;!]|nope\b|wrong\b|actually,? (?:no|it|that)|that(?:'s| is| was)"
    r" (?:wrong|incorrect|not (?:right|true|correct|it|what))"
    r"|you(?:'re| are| were)? (?:wrong|mistaken|got (?:it|that) wrong|misunderstood)"
    r"|correction\b|not quite\b|i meant\b|i said\b)"
    r"|\byou got (?:it|that|\w+) wrong\b"
    r"|^(?:いや、|いえ、|違います|違う|ちがいます|間違い|間違って|訂正|そうではなく|そうじゃな)"
    r"|(?:ではなくて?、.{1,40}です|は間違いです|は誤りです|違っています)",
    re.IGNORECASE,
)
_CORRECTION_LEAD = lazy_pattern(
    r"^(?:(?:no|nope|wrong|actually|sorry|correction|you got (?:it|that) wrong"
    r"|you(?:'re| are) wrong|that(?:'s| is| was) (?:wrong|incorrect|not right|not true))"
    r"\s*[,:;]\s*)+"
    r"|^(?:いや|いえ|違います|違う|訂正|間違いです)[、：:]\s*",
    re.IGNORECASE,
)


def is_correction(text: str) -> bool:
    """Whether the user says that the previous answer was wrong."""
    return any(_CORRECTION.search(item.strip()) for item in split_sentences(text)[:_LOOKED_AT])


def without_correction(sentence: str) -> str:
    """A sentence without words before it that only say that something was wrong."""
    return _CORRECTION_LEAD.sub("", sentence.strip())

"""What a lesson claims, so that two claims that exclude each other can be told.

Two lessons contradict each other when they differ in just one thing:

- one is the negation of the other: "Always restart at night", "Never restart at night";
  "Enable the cache", "Disable the cache"; 「承認が必要」、「承認が不要」;
- they set the same thing to different numbers: "timeout 30s", "Use a timeout of 60 seconds".

Everything else must be the same, but for inflection, filler words and where the condition stands,
so lessons under different conditions do not count, nor does a lesson that says more than the
other. This misses contradictions that lie in the meaning of words; it seldom sees one where there
is none. A negated condition ("if the test does not pass") is part of the condition.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from core.domain.claim_values import Measure, is_measure, take_measures
from core.domain.fingerprint import NO_EN, NO_JA, fingerprint, uninflected

REMEMBERED = 32_768
"""Lessons whose claim is kept, so that a batch does not read a whole playbook again."""

_CONDITION = frozenset({"if", "unless", "when", "whenever", "while", "once", "until"}) | {
    uninflected(word) for word in ("before", "after")
}
_LIGHT = frozenset(
    uninflected(word)
    for word in (
        "use",
        "set",
        "make",
        "keep",
        "put",
        "choose",
        "pick",
        "have",
        "apply",
        "configure",
    )
)
"""Verbs that a setting may stand with: 'use a timeout of 30 s', 'set the timeout to 30 s'."""

_OPPOSITES = {
    uninflected(negative): uninflected(positive)
    for negative, positive in (
        ("disable", "enable"),
        ("disallow", "allow"),
        ("forbid", "allow"),
        ("prohibit", "allow"),
        ("without", "with"),
        ("exclude", "include"),
        ("reject", "accept"),
        ("decrease", "increase"),
        ("lower", "raise"),
        ("optional", "require"),
    )
}
_NEGATING = frozenset({uninflected("avoid"), "refrain"})
"""Verbs that negate what follows them."""

_OFF = re.compile(r"\b(?:turn|switch)(?:ed|ing|es|s)?\s+((?:\S{1,40}\s+){0,3}?)off\b")
_ON = re.compile(r"\b(?:turn|switch)(?:ed|ing|es|s)?\s+((?:\S{1,40}\s+){0,3}?)on\b")
_BAN_EN = re.compile(
    r"\b(?:is|are)\s+(?:strictly\s+)?(?:forbidden|prohibited)\b|\bmust be avoided\b"
)
_OPPOSITES_JA = (
    ("不要", "必要しない"),
    ("無効", "有効しない"),
    ("不可", "可しない"),
    ("オフ", "オンしない"),
    ("減ら", "増やしない"),
    ("下げ", "上げしない"),
)
_AVOID_JA = re.compile(r"(?:する)?(?:の|こと)?[をは]?(?:避け|控え)(?:る|て|ましょう|よう)?")
_MAY_JA = re.compile(r"(?:し)?ても?(?:よい|良い|いい|構わない|かまわない)(?:です)?")
_CONDITION_JA = re.compile(r"(?:場合|とき|時|なら|限り|かぎり|うち|と|ため)")
_OKURIGANA = re.compile(r"(?<=[\u4e00-\u9fff])[\u3041-\u3096]{1,2}$")


class Claim(NamedTuple):
    """What a lesson says, in the forms it is compared by."""

    fingerprint: str
    """Equal for lessons that say the same."""
    frame: str
    """The lesson without its negations and numbers."""
    negations: frozenset[tuple[int, int]]
    """Where in the frame a negation stood, outside of conditions: word, character of the word."""
    measures: tuple[Measure, ...]
    """Its numbers, in order."""
    subject: tuple[str, ...]
    """The words of the frame without light verbs, sorted: what the numbers are of."""
    found_by: tuple[str, ...]
    """What it shares with every claim it excludes: the frame, or the subject of its numbers."""

    def excludes(self, other: "Claim") -> bool:
        """Whether both cannot be followed."""
        if self.frame == other.frame and self.measures == other.measures:
            return len(self.negations ^ other.negations) == 1
        return (
            bool(self.subject)
            and self.subject == other.subject
            and len(self.negations) == len(other.negations)
            and [item.unit for item in self.measures] == [item.unit for item in other.measures]
            and self.measures != other.measures
        )


@lru_cache(maxsize=REMEMBERED)
def claim_of(text: str) -> Claim:
    """The claim of a lesson, a text of one line."""
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    unmeasured, measures = take_measures(plain)
    marks: set[tuple[int, int]] = set()
    words: list[str] = []
    bound = False
    for token in fingerprint(_with_plain_negations(unmeasured)).split(" "):
        if token == NO_EN or token in _NEGATING:
            if bound:
                words.append(NO_EN)
            else:
                marks ^= {(len(words), 0)}
            continue
        bound = bound or token in _CONDITION
        word, at = _positive(token)
        if at is not None:
            marks ^= {(len(words), at)}
        if word:
            words.append(word)
    frame, subject = " ".join(words), _subject(words) if measures else ()
    return Claim(
        fingerprint=fingerprint(text),
        frame=frame,
        negations=frozenset(marks),
        measures=measures,
        subject=subject,
        found_by=(f"f {frame}", *([f"s {' '.join(subject)}"] if subject else [])),
    )


def _subject(words: list[str]) -> tuple[str, ...]:
    """What the numbers are of; () where only light verbs stand with them."""
    left = set(words) - _LIGHT
    return tuple(sorted(left)) if any(not is_measure(word) for word in left) else ()


def _with_plain_negations(text: str) -> str:
    """The text with words that negate, such as 'turn off' and 「不要」, as plain negations."""
    text = _ON.sub(r"turn \1", _OFF.sub(r"not turn \1", text))
    text = _BAN_EN.sub(" not ", text)
    for negative, positive in _OPPOSITES_JA:
        text = text.replace(negative, positive)
    return _MAY_JA.sub("", _AVOID_JA.sub("しない", text))


def _positive(token: str) -> tuple[str, int | None]:
    """A token without its negation, and where that stood in it, or None."""
    if token in _OPPOSITES:
        return _OPPOSITES[token], 0
    if NO_JA not in token:
        return _OKURIGANA.sub("", token), None
    head, _, tail = token.rpartition(NO_JA)
    if _CONDITION_JA.match(tail):
        return token, None
    word = _OKURIGANA.sub("", head) + tail
    return word, len(_OKURIGANA.sub("", head))

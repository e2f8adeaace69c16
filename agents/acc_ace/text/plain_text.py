"""Make any text one printable line, and take the force out of imitated structure.

Content of a CCS never begins a line of a prompt and holds no mark that our prompts use as
structure, so no text can open a section, close a quote or pose as a constraint.
"""

import re
from typing import TypeVar, cast

from acc_ace.text.patterns import lazy_pattern

T = TypeVar("T")

_SURROGATE = lazy_pattern("[\ud800-\udfff]")
_INVISIBLE = lazy_pattern(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u206f\ufeff\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Controls that are no white space, zero-width and direction marks, tags, lone surrogates."""

_HEADING = lazy_pattern(r"[#＃]{2,}")
_FENCE = lazy_pattern(r"`{3,}|~{3,}")
_TAG = lazy_pattern(r"[<＜](?=\s*[/!?|｜／]?\s*[A-Za-zＡ-Ｚａ-ｚ_|｜])")
_PIN_ID = lazy_pattern(r"\[\s*(c-\d+)\s*\]", re.IGNORECASE)


def one_line(text: str) -> str:
    """The text on one line: invisible characters out, runs of white space to one space."""
    return " ".join(_INVISIBLE.sub("", text).split())


def head(text: str, *, tokens: int) -> str:
    """The start of a text that surely holds its first `tokens` tokens if it is plain prose.

    Bounds the work on a huge text before anything slower than a slice looks at it.
    """
    return text[: 16 * tokens + 4_096]


def neutralise(text: str) -> str:
    """One line without heading runs, code fences, tag openings and '[c-0001]' marks.

    Never adds a token, and changes nothing when applied again.
    """
    line = _HEADING.sub("#", one_line(text))
    line = _FENCE.sub("'''", line)
    line = _TAG.sub("‹", line)
    return _PIN_ID.sub(r"(\1)", line)


def encodable(value: T) -> T:
    """A value of JSON with each lone surrogate in its texts replaced, so that UTF-8 can hold it."""
    return cast(T, _encodable(value))


def _encodable(value: object) -> object:
    match value:
        case str():
            return _SURROGATE.sub("\ufffd", value)
        case list():
            return [_encodable(item) for item in value]
        case dict():
            return {_encodable(key): _encodable(item) for key, item in value.items()}
    return value

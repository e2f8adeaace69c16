"""The forms of a text: normalised for patterns, one printable line, Japanese or English.

What is returned to a user is always verbatim.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Final, Literal, TypeVar, cast
from unicodedata import combining

from acc_ace.text.patterns import lazy_pattern

MAX_ANALYSED = 100_000
"""Characters of a text that are analysed; what follows is not looked at."""

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""What Unicode lets a renderer leave out (Default_Ignorable_Code_Point)."""

_SPACES = re.compile(r"\s+")
_MARKS = str.maketrans(
    {"’": "'", "‘": "'", "`": "'", "“": '"', "”": '"', "–": "-", "—": " - ", "…": "..."}
)

_ACCENTS = re.compile("(?<=[A-Za-z])[\u0300-\u036f]+")
_MIXED_WORD = re.compile("\\b(?=\\w*[A-Za-z])(?=\\w*[\u0370-\u03ff\u0400-\u052f])\\w{1,64}\\b")
_LOOKALIKES = str.maketrans(
    "аеорсухіјѕԁһӏԛԝкмтвнАВЕКМНОРСТУХІЈЅαορειντυχκΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijsdhlqwkmtbhABEKMHOPCTYXIJSaopeivtuxkABEZHIKMNOPTYX",
)
"""Cyrillic and Greek letters that pass for Latin ones."""


def visible(text: str) -> str:
    """The text without what could hide a word: zero-width characters, towers of marks."""
    seen = _INVISIBLE.sub("", text)
    return seen if seen.isascii() else _towers().sub(r"\1", seen)


def normalise(text: str) -> str:
    """NFKC, visible, lowercased, straight quotes, single spaces; bounded by MAX_ANALYSED."""
    return normalise_cased(text).lower()


def normalise_cased(text: str) -> str:
    """As `normalise`, with its capitals: they tell the month of May from what one may do."""
    # Marks first: NFKC would turn an ellipsis into dots and keep curly quotes.
    folded = unicodedata.normalize("NFKC", visible(text[:MAX_ANALYSED]).translate(_MARKS))
    return _SPACES.sub(" ", folded).strip()


@cache
def _towers() -> re.Pattern[str]:
    """More marks on one letter than any script writes.

    Normalising sorts a run of marks in time that grows with its square. The table takes some
    milliseconds, so it is made at the first text that is not ASCII.
    """
    marks = "".join(chr(code) for code in range(0x300, 0x1F000) if combining(chr(code)))
    return re.compile(f"([{marks}]{{8}})[{marks}]+")


def skeleton(text: str) -> str:
    """What a reader sees in a text that may be disguised, line breaks and case kept.

    NFKC, visible, Latin accents off, and in words of mixed scripts the lookalikes as Latin. For
    finding what must not be there; not for comparing what people say.
    """
    seen = unicodedata.normalize("NFKC", visible(text[:MAX_ANALYSED]))
    if seen.isascii():
        return seen
    plain = _ACCENTS.sub("", unicodedata.normalize("NFD", seen[:MAX_ANALYSED]))
    return _MIXED_WORD.sub(_latin, unicodedata.normalize("NFC", plain))


def _latin(word: re.Match[str]) -> str:
    return word.group().translate(_LOOKALIKES)


_KANA = lazy_pattern("[\u3041-\u3096\u30a1-\u30fa\uff66-\uff9d]")
_HAN = lazy_pattern("[\u3400-\u4dbf\u4e00-\u9fff]")
_LATIN_WORD = lazy_pattern(r"[A-Za-z]{2,}")


def language_of(text: str) -> Literal["ja", "en"]:
    """The language a text is written in; English where nothing points to Japanese.

    Kana decides unless English words far outweigh it, so 'DBの再起動はNG' is Japanese and an
    English sentence that names 「障害」 stays English. Looks at the first MAX_ANALYSED characters.
    """
    seen = text[:MAX_ANALYSED]
    japanese = len(_KANA.findall(seen)) + len(_HAN.findall(seen))
    # A Japanese word takes about two characters.
    return "ja" if japanese and japanese >= 2 * len(_LATIN_WORD.findall(seen)) else "en"


T = TypeVar("T")

_SURROGATE = lazy_pattern("[\ud800-\udfff]")
_UNPRINTABLE = lazy_pattern(
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
    return " ".join(_UNPRINTABLE.sub("", text).split())


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


_WORDS = "zero one two three four five six seven eight nine ten eleven twelve"

NUMBER_WORDS: Final[Mapping[str, int]] = {word: value for value, word in enumerate(_WORDS.split())}
"""Each word from zero to twelve with its value."""

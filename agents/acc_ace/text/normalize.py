"""The form of a text that patterns are matched against; what is returned is always verbatim."""

import re
import unicodedata
from functools import cache
from unicodedata import combining

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

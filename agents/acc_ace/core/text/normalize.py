"""Normalise text for matching and for one-line output; detect Japanese or English.

Text shown to a user is always verbatim.
"""

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Final, Literal, TypeVar, cast
from unicodedata import combining

from acc_ace.core.text.patterns import lazy_pattern, remembered

MAX_ANALYSED = 100_000
"""Maximum characters analysed of a text; the rest is ignored."""

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Characters that renderers may omit (Unicode Default_Ignorable_Code_Point)."""

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
"""Cyrillic and Greek letters that look like Latin ones."""


def visible(text: str) -> str:
    """The text without what could hide a word: zero-width characters, stacked marks."""
    seen = _INVISIBLE.sub("", text)
    return seen if seen.isascii() else _towers().sub(r"\1", seen)


def normalise(text: str) -> str:
    """NFKC, visible, lowercased, straight quotes, single spaces; bounded by MAX_ANALYSED."""
    return normalise_cased(text).lower()


def normalise_cased(text: str) -> str:
    """As `normalise`, but cased: capitals distinguish the month of May from the verb."""
    # Marks first: NFKC would turn an ellipsis into dots and keep curly quotes.
    folded = unicodedata.normalize("NFKC", visible(text[:MAX_ANALYSED]).translate(_MARKS))
    return _SPACES.sub(" ", folded).strip()


@cache
def _towers() -> re.Pattern[str]:
    """More combining marks on one letter than any script uses.

    Normalising a run of marks takes quadratic time. Building the pattern takes milliseconds, so
    it is done at the first non-ASCII text.
    """
    marks = "".join(chr(code) for code in range(0x300, 0x1F000) if combining(chr(code)))
    return re.compile(f"([{marks}]{{8}})[{marks}]+")


def skeleton(text: str) -> str:
    """A possibly disguised text as a reader sees it, with line breaks and case.

    NFKC, visible, without Latin accents, and with lookalikes as Latin in words of mixed scripts.
    For detecting forbidden content, not for comparing texts.
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
    """The language of a text; English by default.

    Japanese characters decide unless English words far outweigh them, so 'DBの再起動はNG' is
    Japanese and an English sentence with 「障害」 is English. Scans MAX_ANALYSED characters.
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
"""Controls except white space, zero-width and direction marks, tags, lone surrogates."""

_HEADING = lazy_pattern(r"[#＃]{2,}")
_FENCE = lazy_pattern(r"`{3,}|~{3,}")
_TAG = lazy_pattern(r"[<＜](?=\s*[/!?|｜／]?\s*[A-Za-zＡ-Ｚａ-ｚ_|｜])")
_PIN_ID = lazy_pattern(r"\[\s*(c-\d+)\s*\]", re.IGNORECASE)


def one_line(text: str) -> str:
    """The text on one line, without invisible characters, with single spaces."""
    return " ".join(_UNPRINTABLE.sub("", text).split())


def same_wording(text: str) -> str:
    """A key that is equal for texts that differ only in case, width and end mark.

    Inner symbols count: 'cap is $500' and 'cap is €500' are different rules.
    """
    return unicodedata.normalize("NFKC", one_line(text)).casefold().strip(" .!。．！")


def has_words(text: str) -> bool:
    """Whether a text has anything but punctuation and white space."""
    return any(char.isalnum() for char in text)


def head(text: str, *, tokens: int) -> str:
    """A prefix of a text that contains its first `tokens` tokens if it is plain prose.

    Bounds the work on a huge text before anything slower than a slice processes it.
    """
    return text[: 16 * tokens + 4_096]


@remembered
def neutralise(text: str) -> str:
    """One line without heading runs, code fences, tag openings and '[c-0001]' marks.

    Never adds a token; idempotent.
    """
    line = _HEADING.sub("#", one_line(text))
    line = _FENCE.sub("'''", line)
    line = _TAG.sub("‹", line)
    return _PIN_ID.sub(r"(\1)", line)


def behind_margin(text: str) -> str:
    """A text line by line; none can be taken for a line beside it."""
    return "\n".join(f"| {_UNPRINTABLE.sub('', line)}" for line in text.splitlines())


def encodable(value: T) -> T:
    """A JSON value with lone surrogates replaced, so that it can be encoded as UTF-8."""
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
"""The values of the words zero to twelve."""


def short_ids(text: str) -> str:
    """A text with the ids of documents' parts as models read them: a third of the tokens.

    Four digits of a document's name and a number tell apart what one request shows.
    """
    if "part:" not in text:
        return text
    return re.sub(r"\bpart:([0-9a-f]{4})[0-9a-f]{12}:[0-9a-f]{16}:0*(?=\d)", r"part:\1:", text)

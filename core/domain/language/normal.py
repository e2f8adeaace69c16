"""The form of a text that patterns are matched against; what is returned is always verbatim."""

import re
import unicodedata

MAX_ANALYSED = 100_000
"""Characters of a text that are analysed; what follows is not looked at."""

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe00-\ufe0f\ufeff]")
_SPACES = re.compile(r"\s+")
_MARKS = str.maketrans(
    {"’": "'", "‘": "'", "`": "'", "“": '"', "”": '"', "–": "-", "—": " - ", "…": "..."}
)


def visible(text: str) -> str:
    """The text without zero-width and direction characters, which could hide a word."""
    return _INVISIBLE.sub("", text)


def normalise(text: str) -> str:
    """NFKC, visible, lowercased, straight quotes, single spaces; bounded by MAX_ANALYSED."""
    # Marks first: NFKC would turn an ellipsis into dots and keep curly quotes.
    folded = unicodedata.normalize("NFKC", visible(text[:MAX_ANALYSED]).translate(_MARKS))
    return _SPACES.sub(" ", folded).strip().lower()

"""Cut English words to a common stem, so that 'restarted' finds 'restarts'.

Step 1 of M. F. Porter, "An algorithm for suffix stripping" (1980), and a few long suffixes.
The stem is for matching only and is never shown.
"""

import re
from functools import lru_cache

_ENGLISH = re.compile(r"[a-z]{3,40}")
_VOWEL = re.compile(r"[aeiouy]")
_DOUBLE = re.compile(r"([^aeioulsz])\1$")
_NUMBER = re.compile(r"(\d+)s")
_LONG_SUFFIXES = {"ment": 4, "ness": 4, "ion": 5, "ly": 4}
"""Each suffix with the letters that must be left: 'deletion' is cut, 'station' is not."""


@lru_cache(maxsize=8_192)
def stem(word: str) -> str:
    """The stem of a lower-case English word, or of '503s'; any other text as it is."""
    number = _NUMBER.fullmatch(word)
    if number:
        return number[1]
    if not _ENGLISH.fullmatch(word):
        return word
    return _without_end(_without_long_suffix(_without_tense(_singular(word))))


def _singular(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _without_tense(word: str) -> str:
    for suffix in ("ing", "ed"):
        head = word.removesuffix(suffix)
        if head != word and len(head) >= 3 and _VOWEL.search(head):
            return _DOUBLE.sub(r"\1", head)
    return word


def _without_long_suffix(word: str) -> str:
    for suffix, letters in _LONG_SUFFIXES.items():
        head = word.removesuffix(suffix)
        if head != word and len(head) >= letters:
            return head
    return word


def _without_end(word: str) -> str:
    if word.endswith("e") and len(word) > 4:
        return word[:-1]
    if word.endswith("y") and len(word) > 3:
        return word[:-1] + "i"
    return word

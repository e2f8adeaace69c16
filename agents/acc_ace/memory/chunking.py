"""Cut a long text into parts within a token bound, where its writer made a break.

A part ends at the last heading, else paragraph, else sentence (English or Japanese), else line,
else word that fits. Parts are verbatim; only white space between them is left out. The text comes
in blocks of any size and the parts are the same however it was divided, so a text of any length
is cut in memory that does not grow with it.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from acc_ace.text.patterns import lazy_pattern
from acc_ace.text.tokens import CJK, token_end

_CHARS_PER_TOKEN = 8
"""A part has at most this many characters for each token of its bound, blanks included."""


class _Border(NamedTuple):
    """A place to cut at, and how full a part must be (a share of its reach) to end there."""

    pattern: re.Pattern[str]
    fill: float


_BORDERS = (
    _Border(lazy_pattern(r"\n(?=[ \t]{0,3}#{1,6}[ \t])"), 0.5),
    _Border(lazy_pattern(r"\n[ \t\r]*\n"), 0.5),
    _Border(lazy_pattern(r"[.!?]+[\"'”’)\]]*(?=\s)|[。！？｡]+[」』”’)）]*"), 0.25),
    _Border(lazy_pattern(r"\n"), 0.25),
    _Border(lazy_pattern(rf"\s|[{CJK}、，](?![。、，！？｡」』）])"), 0.0),
)
"""From the best to the worst."""

_AHEAD = 16
"""Characters behind a border that tell whether it is one."""

_INK = lazy_pattern(r"\S")
_JOINERS = frozenset("\u200d\ufe0e\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")


def chunks(blocks: Iterable[str], *, max_tokens: int) -> Iterator[str]:
    """The parts of a text, in order, each non-blank and within `max_tokens` tokens.

    Joined, and without white space, they are the text without white space.
    """
    window = _CHARS_PER_TOKEN * max_tokens
    text, at = "", 0
    for block in blocks:
        text, at = text[at:] + block, 0
        while len(text) - (at := _skip_blank(text, at)) > window + _AHEAD:
            end = _cut(text, at, window, max_tokens)
            yield text[at:end].rstrip()
            at = end
    while (at := _skip_blank(text, at)) < len(text):
        end = _cut(text, at, window, max_tokens)
        yield text[at:end].rstrip()
        at = end


def _skip_blank(text: str, at: int) -> int:
    ink = _INK.search(text, at)
    return ink.start() if ink else len(text)


def _cut(text: str, start: int, window: int, max_tokens: int) -> int:
    """Where the part that begins at `start` ends. Looks no further than _AHEAD past the window, so
    that what follows changes nothing.
    """
    stop = min(start + window, len(text))
    limit = token_end(text, max_tokens, start=start, stop=stop)
    if limit == len(text):
        return limit
    for pattern, fill in _BORDERS:
        least = start + max(1, int(fill * (limit - start)))
        matches = pattern.finditer(text, least, limit + _AHEAD)
        ends = [match.end() for match in matches if match.end() <= limit]
        if ends:
            return ends[-1]
    return _between_characters(text, start, limit)


def _between_characters(text: str, start: int, limit: int) -> int:
    """The limit, or the nearest place before it that tears no character from its marks."""
    end = limit
    while end > start + 1 and _clings(text[end - 1], text[end]):
        end -= 1
    return end if end > start + 1 else limit


def _clings(before: str, after: str) -> bool:
    return bool(unicodedata.combining(after)) or after in _JOINERS or before == "\u200d"

"""Cut a long text: into chunks at natural borders, or to an excerpt around search terms."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.search_terms import terms_of
from acc_ace.core.text.tokens import CJK, CUT_MARK, clip_tokens, estimate_tokens, token_end

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
"""Characters after a border that decide whether it is one."""

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
            end = part_end(text, at, window, max_tokens)
            yield text[at:end].rstrip()
            at = end
    while (at := _skip_blank(text, at)) < len(text):
        end = part_end(text, at, window, max_tokens)
        yield text[at:end].rstrip()
        at = end


def _skip_blank(text: str, at: int) -> int:
    ink = _INK.search(text, at)
    return ink.start() if ink else len(text)


def part_end(text: str, start: int, window: int, max_tokens: int) -> int:
    """Where the part that starts at `start` ends. Looks no further than _AHEAD past the window, so
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


MAX_LOOKED_AT = 200_000
"""Characters of a text that are searched; what follows is never the excerpt."""

_SENTENCE_CHARS = 300
"""Characters after which a sentence without an end is cut."""

_SENTENCE = lazy_pattern(
    # Few marks before the space: to count them all would read a line of dots again and again.
    rf".{{1,{_SENTENCE_CHARS}}}?(?:[\n。！？]+|[.!?]{{1,3}}(?=\s)|$)\s*"
    # Without an end in sight: up to a space, or wherever it must be.
    rf"|.{{1,{_SENTENCE_CHARS}}}(?:\s+|$)|.{{1,{_SENTENCE_CHARS}}}",
    re.DOTALL,
)
_BEFORE = 0.25
"""Share of the room around the words that goes to what comes before them."""


class _Stretch(NamedTuple):
    start: int
    end: int
    tokens: int
    worth: float


def excerpt(text: str, terms: Collection[str], budget: int) -> str:
    """At most `budget` tokens of a text, around the search terms that it holds; '…' where cut.

    A text that fits stays whole; one that holds none of the terms is cut after its head.
    """
    head = clip_tokens(text, budget)
    if head == text or not head.endswith(CUT_MARK) or not terms or budget < 3:
        return head
    sentences = _sentences(text[:MAX_LOOKED_AT], frozenset(terms))
    room = budget - 2  # For the two marks.
    first, last = _best_stretch(sentences, room)
    if first is None or last is None:
        return head
    start, end = _grown(sentences, first, last, room)
    if sentences[start].start == 0:
        return head
    cut = text[sentences[start].start : sentences[end].end].strip()
    tail = sentences[end].end < len(text.rstrip())
    inner = clip_tokens(cut, room).removesuffix(CUT_MARK) if estimate_tokens(cut) > room else cut
    return f"{CUT_MARK}{inner}{CUT_MARK if tail or inner != cut else ''}"


def _sentences(text: str, wanted: frozenset[str]) -> list[_Stretch]:
    spans = [match.span() for match in _SENTENCE.finditer(text)]
    matches = [wanted & terms_of(text[start:end]) for start, end in spans]
    counts = Counter(term for terms in matches for term in terms)
    return [
        _Stretch(
            start, end, estimate_tokens(text[start:end]), sum(1 / counts[term] for term in terms)
        )
        for (start, end), terms in zip(spans, matches, strict=True)
    ]


def _best_stretch(sentences: Sequence[_Stretch], room: int) -> tuple[int | None, int | None]:
    """The sentences, first and last, within `room` tokens that are worth most together.

    The earliest of equals; one sentence may be longer than the room. (None, None) for no worth.
    """
    best = 0.0
    stretch: tuple[int | None, int | None] = (None, None)
    first, tokens, worth = 0, 0, 0.0
    for last, sentence in enumerate(sentences):
        tokens += sentence.tokens
        worth += sentence.worth
        while first < last and (tokens > room or not sentences[first].worth):
            tokens -= sentences[first].tokens
            worth -= sentences[first].worth
            first += 1
        # More than by rounding: sums that go up and down are never quite the same.
        if sentence.worth and worth > best + 1e-9:
            best, stretch = worth, (first, last)
    return stretch


def _grown(sentences: Sequence[_Stretch], first: int, last: int, room: int) -> tuple[int, int]:
    """The stretch with as many whole sentences around it as fit, fewer before than after."""
    left = room - sum(sentence.tokens for sentence in sentences[first : last + 1])
    before = int(left * _BEFORE)
    while first > 0 and sentences[first - 1].tokens <= before:
        first -= 1
        before -= sentences[first].tokens
        left -= sentences[first].tokens
    while last + 1 < len(sentences) and sentences[last + 1].tokens <= left:
        last += 1
        left -= sentences[last].tokens
    while first > 0 and sentences[first - 1].tokens <= left:
        first -= 1
        left -= sentences[first].tokens
    return first, last

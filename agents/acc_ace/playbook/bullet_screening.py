"""Why a text must not become a bullet, whatever the playbook holds.

A lesson that only repeats text that nobody vouches for, of a tool or a document, is one reason.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

from acc_ace.text.injection import instruction_like
from acc_ace.text.normalize import skeleton
from acc_ace.text.patterns import lazy_pattern
from acc_ace.text.redaction import find_sensitive
from acc_ace.text.tokens import estimate_tokens

SHORT_CHARACTERS = 64
"""Texts up to this length are remembered: the same headings come back with every lesson."""

CHARACTERS_PER_TOKEN = 32
"""A text longer than its budget times this is too long without counting its tokens."""

_DELIMITER = lazy_pattern(
    r"<\|[^|]{1,40}\|>|</?(?:system|assistant|user|developer|instructions?)\b[^>]{0,40}>"
    r"|\[/?INST\]|^\s*#{0,6}\s*(?:system|assistant|developer)\s*[:：]"
    r"|\bhelpful\s*=\s*\d+\s+harmful\s*=\s*\d+",
    re.IGNORECASE,
)


def objection(text: str, *, max_tokens: int) -> str | None:
    """The reason code against a one-line text ('empty', 'too_long', 'secret', ...), or None."""
    return (_known if len(text) <= SHORT_CHARACTERS else _found)(text, max_tokens)


def _found(text: str, max_tokens: int) -> str | None:
    if not text:
        return "empty"
    if len(text) > CHARACTERS_PER_TOKEN * max_tokens or estimate_tokens(text) > max_tokens:
        return "too_long"
    seen = skeleton(text)
    findings = find_sensitive(text) or (find_sensitive(seen) if seen != text else ())
    if findings:
        return findings[0].kind.value
    if _DELIMITER.search(seen) or instruction_like(text):
        return "instruction_like"
    return None


_known = lru_cache(maxsize=4_096)(_found)

SCANNED_CHARACTERS = 200_000
"""Of all sources together that are looked at."""

COPIED = 0.5
"""Share of a lesson's runs from which it counts as copied."""

_RUN = 3
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fffー"
_PIECE = lazy_pattern(rf"[{_CJK}]+|[^\W_{_CJK}]+")


class Wording:
    """The runs of words of some texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        left = SCANNED_CHARACTERS
        self._runs: set[tuple[str, ...]] = set()
        for text in texts:
            # Shorter ones too, for lessons that are no longer.
            for size in range(1, _RUN + 1):
                self._runs.update(_runs(text[:left], size))
            left -= len(text)
            if left <= 0:
                break

    def share(self, text: str, *, apart_from: "Wording") -> float:
        """The part of a text's runs that stands here and not there, 0 to 1."""
        runs = list(_runs(text))
        if not runs:
            return 0.0
        here = sum(run in self._runs and run not in apart_from._runs for run in runs)
        return here / len(runs)


def _runs(text: str, size: int = _RUN) -> Iterator[tuple[str, ...]]:
    """Every run of pieces of a size; a shorter text is one run of its own."""
    pieces = list(_pieces(unicodedata.normalize("NFKC", text).casefold()))
    if 0 < len(pieces) < size:
        yield tuple(pieces)
    for at in range(len(pieces) - size + 1):
        yield tuple(pieces[at : at + size])


def _pieces(text: str) -> Iterator[str]:
    """Words; of Japanese, pairs of characters."""
    for match in _PIECE.finditer(text):
        piece = match.group()
        if re.match(f"[{_CJK}]", piece) and len(piece) > 1:
            yield from (piece[at : at + 2] for at in range(len(piece) - 1))
        else:
            yield piece

"""Whether a lesson only repeats text that nobody vouches for: of a tool, or of a document.

Compared are runs of three words (of four characters in Japanese), so a lesson that is drawn from
what a tool returned passes, and one that is copied out of it does not.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from acc_ace.text.patterns import lazy_pattern

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
            self._runs.update(_runs(text[:left]))
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


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    """Every run of pieces; a shorter text is one run of its own."""
    pieces = list(_pieces(unicodedata.normalize("NFKC", text).casefold()))
    if 0 < len(pieces) < _RUN:
        yield tuple(pieces)
    for at in range(len(pieces) - _RUN + 1):
        yield tuple(pieces[at : at + _RUN])


def _pieces(text: str) -> Iterator[str]:
    """Words; of Japanese, pairs of characters."""
    for match in _PIECE.finditer(text):
        piece = match.group()
        if re.match(f"[{_CJK}]", piece) and len(piece) > 1:
            yield from (piece[at : at + 2] for at in range(len(piece) - 1))
        else:
            yield piece

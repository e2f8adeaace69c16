"""Detect lessons that repeat untrusted text of tools, documents or mail.

Compares runs of three words, and the lesson's content words with those of each sentence, so that
paraphrases are found too.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.core.text.sentences import split_sentences
from acc_ace.core.text.similarity import content_words

SCANNED_CHARACTERS = 200_000
"""Maximum characters compared, of all sources together."""

COPIED = 0.5
"""Share of matching runs from which a lesson counts as copied."""

RESTATED = 0.75
"""Share of a lesson's content words in one sentence from which it counts as a paraphrase."""

_FEWEST_WORDS = 3
"""Minimum content words for that: fewer are no evidence of the source."""

_RUN = 3
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fffー"
_PIECE = lazy_pattern(rf"[{_CJK}]+|[^\W_{_CJK}]+")


class Wording:
    """Word runs and sentences of some texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        left = SCANNED_CHARACTERS
        self._runs: set[tuple[str, ...]] = set()
        self._sentences: list[frozenset[str]] = []
        for text in texts:
            # Shorter runs too, for lessons of one or two words.
            for size in range(1, _RUN + 1):
                self._runs.update(_runs(text[:left], size))
            self._sentences += map(content_words, split_sentences(text[:left]))
            left -= len(text)
            if left <= 0:
                break

    def repeats(self, lesson: str, vouched: "Wording") -> bool:
        """Whether a lesson repeats one of the texts more than the `vouched` ones."""
        if self._copies(lesson, vouched):
            return True
        words = content_words(lesson)
        if len(words) < _FEWEST_WORDS:
            return False
        here = self._holds(words)
        return here >= RESTATED and here > vouched._holds(words)

    def _copies(self, lesson: str, vouched: "Wording") -> bool:
        """Whether half of a lesson's runs are in these texts and not in the `vouched` ones."""
        runs = list(_runs(lesson))
        here = sum(run in self._runs and run not in vouched._runs for run in runs)
        return bool(runs) and here >= COPIED * len(runs)

    def _holds(self, words: frozenset[str]) -> float:
        """The largest share of the words found in one sentence."""
        shared = (len(words & sentence) for sentence in self._sentences)
        return max(shared, default=0) / len(words)


def _runs(text: str, size: int = _RUN) -> Iterator[tuple[str, ...]]:
    """Every run of `size` pieces; a shorter text is one run."""
    pieces = list(_pieces(unicodedata.normalize("NFKC", text).casefold()))
    if 0 < len(pieces) < size:
        yield tuple(pieces)
    for at in range(len(pieces) - size + 1):
        yield tuple(pieces[at : at + size])


def _pieces(text: str) -> Iterator[str]:
    """Words; for Japanese, character bigrams."""
    for match in _PIECE.finditer(text):
        piece = match.group()
        if re.match(f"[{_CJK}]", piece) and len(piece) > 1:
            yield from (piece[at : at + 2] for at in range(len(piece) - 1))
        else:
            yield piece

"""The parts of an artifact that are embedded."""

from collections.abc import Sequence
from typing import NamedTuple

from acc_ace.core.text.duplicates import Vector, unit_vector

PART_CHARS = 1_000
"""Characters of a part: about what small models read, Japanese included."""

MAX_PARTS = 8
"""Parts of one artifact that are embedded; what follows is found by its words alone."""

_SHARED_CHARS = 150

_CONTEXT_CHARS = 400
"""Characters of the turn before, from its end."""


class Passage(NamedTuple):
    """A part of an artifact: the texts whose mean vector represents it."""

    texts: tuple[str, ...]

    def vector(self, vectors: Sequence[Vector]) -> Vector:
        """The mean of the vectors of its texts, at length 1. Raises ValueError when there is none.

        Two opposite vectors have no mean; then the first one is taken.
        """
        try:
            return unit_vector(map(sum, zip(*vectors, strict=True)))
        except ValueError:
            return unit_vector(vectors[0])


def passages_of(content: str, before: str = "") -> list[Passage]:
    """The parts of a text that follows `before`; at least one, at most MAX_PARTS."""
    first, *others = _parts(content.strip())
    context = before.strip()[-_CONTEXT_CHARS:]
    head = Passage((first, f"{context}\n{first}") if context else (first,))
    return [head, *(Passage((part,)) for part in others)]


def _parts(content: str) -> list[str]:
    step = PART_CHARS - _SHARED_CHARS
    last = max(1, len(content) - _SHARED_CHARS)
    return [content[at : at + PART_CHARS] for at in range(0, last, step)][:MAX_PARTS]

"""Blend nearness in meaning with the score of the words.

Both are brought to one scale first, the best of the pool being 1: models spread their cosines
over very different ranges, and words seldom cover a whole question. Such a blend finds more than
fusion by ranks (Bruch et al., "An analysis of fusion functions for hybrid retrieval", 2023).
"""

from collections.abc import Sequence

LEAST_SPAN = 1e-3
"""Cosines nearer together than that are equal: vectors are stored to about half of it."""


def nearness(cosines: Sequence[float | None]) -> list[float | None]:
    """Each cosine between the least (0) and the greatest (1) of the pool; None stays unknown."""
    known = [cosine for cosine in cosines if cosine is not None]
    if not known:
        return list(cosines)
    least, span = min(known), max(known) - min(known)
    return [
        None if cosine is None else (cosine - least) / span if span > LEAST_SPAN else 1.0
        for cosine in cosines
    ]


def blended(words: Sequence[float], near: Sequence[float | None], share: float) -> list[float]:
    """The score of each text, `share` of it by nearness, the rest by words.

    Where nothing is known of nearness, all words are left as they are; where it is known of
    others only, the words of a text stand in for it.
    """
    if not share or all(close is None for close in near):
        return list(words)
    best = max(words, default=0.0) or 1.0
    return [
        said / best + share * ((said / best if close is None else close) - said / best)
        for said, close in zip(words, near, strict=True)
    ]

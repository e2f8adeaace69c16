"""Make similarities of vectors comparable with the other signs of relevance."""

from collections.abc import Sequence


def nearness(cosines: Sequence[float | None]) -> list[float | None]:
    """Each cosine between the least (0) and the greatest (1) of the pool; None stays unknown.

    Models spread their cosines over very different ranges, and most use a small part of -1 to 1.
    """
    known = [cosine for cosine in cosines if cosine is not None]
    if not known:
        return list(cosines)
    least, span = min(known), max(known) - min(known)
    return [
        None if cosine is None else (cosine - least) / span if span else 0.0 for cosine in cosines
    ]

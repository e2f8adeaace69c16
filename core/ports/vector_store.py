"""Vectors of artifacts: which are missing, and where they are kept."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from core.domain.vectors import Vector


class Unembedded(NamedTuple):
    """An artifact without vectors of the current model."""

    row: int
    """The store's own number of it; never used again for another artifact."""
    content: str
    before: str
    """What was said before it in its session; '' for nothing."""


class Embedded(NamedTuple):
    """The vectors of an artifact, one for each part; none when it cannot be embedded."""

    row: int
    vectors: Sequence[Vector]


class VectorStore(Protocol):
    """Keeps vectors beside artifacts. Every method raises StoreError as artifact stores do.

    Vectors belong to a model and a dimension; those of another model or dimension are kept until
    they are replaced, and never compared with.
    """

    async def unembedded(
        self, model: str, dimension: int | None, *, limit: int
    ) -> Sequence[Unembedded]:
        """Artifacts of any tenant that have no vectors of this model, the newest first.

        Those with vectors of another model may come after all that have none.
        A dimension that is not known yet counts as the one that the stored vectors have.
        """
        ...

    async def keep(self, model: str, dimension: int, embedded: Sequence[Embedded]) -> None:
        """Store vectors in place of all older ones of these artifacts.

        An artifact that is retired, erased or replaced meanwhile is passed over.
        """
        ...

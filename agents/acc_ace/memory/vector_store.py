"""Vectors of artifacts."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from acc_ace.text.dense_vectors import Vector


class Unembedded(NamedTuple):
    """An artifact without vectors of the current model."""

    row: int
    """Row number in the store; never reused."""
    content: str
    before: str
    """The previous message of its session; '' if none."""


class Embedded(NamedTuple):
    """The vectors of an artifact, one per part; none if it cannot be embedded."""

    row: int
    vectors: Sequence[Vector]


class VectorStore(Protocol):
    """Store vectors of artifacts. Every method raises StoreError as artifact stores do.

    Vectors belong to a model and a dimension; those of another model or dimension are kept until
    they are replaced, and never compared with.
    """

    async def unembedded(
        self, model: str, dimension: int | None, *, limit: int
    ) -> Sequence[Unembedded]:
        """Return artifacts of any tenant without vectors of this model, newest first.

        Those with vectors of another model may come after all that have none.
        A dimension that is not known yet counts as the one that the stored vectors have.
        """
        ...

    async def keep(self, model: str, dimension: int, embedded: Sequence[Embedded]) -> None:
        """Replace all vectors of these artifacts.

        Artifacts retired, erased or replaced meanwhile are skipped.
        """
        ...

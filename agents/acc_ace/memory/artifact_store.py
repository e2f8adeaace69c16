"""Ports of external memory: artifacts, their vectors, and what embeds them.

An artifact holds while it has neither expired nor been superseded.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, Protocol, runtime_checkable

from acc_ace.core.schemas.artifact import Artifact, Recall, RecallQuery
from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.core.text.duplicates import Vector
from acc_ace.memory.ranking import Ranked
from acc_ace.unit_of_work import Write


class ArtifactStore(Protocol):
    """Store artifacts and recall them by text, in English and Japanese.

    Every method raises StoreError when the store cannot be read or written.
    """

    async def add(self, artifacts: Sequence[Artifact]) -> None:
        """Store artifacts atomically; an existing id is replaced."""
        ...

    def add_write(self, artifacts: Sequence[Artifact]) -> Write:
        """`add` as a part of a unit of work."""
        ...

    async def get(self, tenant: Tenant, artifact_id: str) -> Artifact | None:
        """Return the artifact, or None."""
        ...

    async def recall(self, query: RecallQuery) -> Recall:
        """Return up to `query.limit` candidates within `query.max_tokens`, best first.

        The newest TURN artifact of the query's session is always among them (it counts towards
        the limit, and is cut to the tokens left rather than dropped).
        """
        ...

    async def retire(self, key: SessionKey, after_turn: int) -> int:
        """Hide the session's artifacts of turns after `after_turn` from recall; return how many."""
        ...

    def retire_write(self, key: SessionKey, after_turn: int) -> Write:
        """`retire` as a part of a unit of work."""
        ...

    async def count(self, tenant: Tenant) -> int:
        """Return the number of the tenant's artifacts, including retired ones."""
        ...

    async def remove(self, tenant: Tenant, artifact_id: str) -> bool:
        """Delete one artifact; whether there was one."""
        ...

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's artifacts (of one session and those in it); return how many."""
        ...


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


class Embedder(Protocol):
    """Embed queries and passages, which a model may treat differently.

    Every vector is of unit length (L2) and of one dimension. Both methods raise EmbedderError,
    naming the model, when it gives no vectors (TextRefusedError when it does not take a text);
    ConfigError when a setting or key is wrong.
    """

    @property
    def model(self) -> str:
        """Name of the model; vectors of different models are never compared."""
        ...

    @property
    def dimension(self) -> int | None:
        """Dimensions of a vector; None until the first one was created."""
        ...

    async def query(self, text: str) -> Vector:
        """Embed a query."""
        ...

    async def passages(self, texts: Sequence[str]) -> list[Vector]:
        """Embed stored texts; the vectors are in the same order."""
        ...

    async def close(self) -> None:
        """Release resources; further use raises EmbedderError."""
        ...


@runtime_checkable
class ArtifactListing(Protocol):
    """An artifact store that can list all artifacts of a user."""

    async def page(
        self, tenant: Tenant, *, limit: int = 100, after: str | None = None
    ) -> Sequence[Artifact]:
        """Return a page of artifacts by id, including retired ones; `after` is the last id seen.

        Raises StoreError when the store cannot be read.
        """
        ...


def is_valid(artifact: Artifact, now: datetime | None) -> bool:
    """Whether an artifact holds at a time; without one, nothing counts as expired."""
    if artifact.superseded_by is not None:
        return False
    if artifact.expires_at is None or now is None:
        return True
    expires = artifact.expires_at
    return (expires if expires.tzinfo else expires.replace(tzinfo=UTC)) > now


def only_valid(recall: Recall, now: datetime | None) -> Recall:
    """Recall without expired and superseded artifacts, for callers without a qualification gate."""
    valid = [item for item in recall.candidates if is_valid(item.artifact, now)]
    return recall.model_copy(update={"candidates": valid})


def valid_first(
    ranked: Iterable[Ranked], artifacts: Mapping[str, Artifact], now: datetime | None
) -> list[Ranked]:
    """What still holds, then the rest, each in the given order; what is not there is left out."""
    known = [item for item in ranked if item.artifact_id in artifacts]
    return sorted(known, key=lambda item: not is_valid(artifacts[item.artifact_id], now))

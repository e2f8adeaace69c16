"""Artifacts in a SQL database: the one flow of recall of SQLite and PostgreSQL, and what is read.

The index picks a bounded pool of matches, `core.domain.ranking` orders them, and only the chosen
ones are loaded. All that can be done before an embedder has answered is done first.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from core.adapters.dense_query import Asked, DensePool, Prepared, asking
from core.adapters.json_codec import decode
from core.adapters.sql_artifact_pool import ArtifactRows, lexical_pool
from core.adapters.sql_database import Database
from core.adapters.sql_dense import SqlDense
from core.adapters.tenant_totals import TenantTotals
from core.adapters.term_frequencies import TermFrequencies
from core.adapters.time_bounds import Times
from core.domain.ranking import (
    MOST_RANKED,
    CorpusStatistics,
    Document,
    Ranked,
    SearchQuery,
    fitted,
    rank,
    readings,
    search_query,
    shortlist,
)
from core.domain.reading import Reading
from core.domain.validity import is_valid, valid_first
from schemas.artifact import Artifact, Recall, RecallQuery
from schemas.recall_weights import RecallWeights
from schemas.tenancy import Tenant

_ANY_TOKENS = 2**31
"""For a list that is cut to its tokens later."""

T = TypeVar("T")
C = TypeVar("C")
R = TypeVar("R", bound=ArtifactRows)


class _Found(NamedTuple):
    """What the words found, and all that can be done before the vector of x_t is there."""

    tenant: TenantTotals
    statistics: CorpusStatistics
    previous: Document | None
    """The newest turn of the session, which is always a candidate."""
    documents: Mapping[str, Document]
    early: Mapping[str, Reading]
    prepared: Prepared | None


class _Chosen(NamedTuple):
    ranked: list[Ranked]
    bodies: Mapping[str, str]
    warnings: list[str]


class SqlArtifactStore(Generic[C, R]):
    """What the ArtifactStores of SQL databases have in common: all but the writing."""

    def __init__(
        self,
        database: Database[C],
        rows_of: Callable[[C], R],
        *,
        weights: RecallWeights,
        dense: SqlDense[R] | None,
    ) -> None:
        """Search by words, and by meaning too where there is `dense`."""
        self._database, self._rows_of = database, rows_of
        self._weights = weights
        self._dense = dense if weights.dense else None
        self._frequencies = TermFrequencies()

    async def close(self) -> None:
        """End the work in the background; the database stays open."""
        if self._dense is not None:
            await self._dense.filler.close()

    async def fill(self) -> int:
        """Embed now what has no vectors yet; how many artifacts. Raises EmbedderError."""
        return await self._dense.filler.fill() if self._dense is not None else 0

    async def get(self, tenant: Tenant, artifact_id: str) -> Artifact | None:
        """The artifact, or None."""

        def work(rows: R) -> Mapping[str, str]:
            totals = rows.totals(tenant)
            return rows.bodies(totals, [artifact_id]) if totals else {}

        bodies = await self._read(work)
        return _artifact(artifact_id, bodies[artifact_id]) if bodies else None

    async def page(
        self, tenant: Tenant, *, limit: int = 100, after: str | None = None
    ) -> Sequence[Artifact]:
        """A page of artifacts by id, retired ones included; `after` ended the previous page."""

        def work(rows: R) -> Sequence[tuple[str, str]]:
            totals = rows.totals(tenant)
            return rows.page(totals, after=after or "", limit=max(limit, 0)) if totals else []

        return [_artifact(name, body) for name, body in await self._read(work)]

    async def count(self, tenant: Tenant) -> int:
        """How many artifacts the tenant has, retired ones included."""

        def work(rows: R) -> int:
            totals = rows.totals(tenant)
            return rows.count(totals) if totals else 0

        return await self._read(work)

    async def recall(self, query: RecallQuery) -> Recall:
        """At most `query.limit` candidates within `query.max_tokens`, best first."""
        terms = search_query(query)
        self._fill()
        async with asking(self._dense.embedder if self._dense else None, query.text) as vector:
            found = await self._read(lambda rows: self._find(rows, query, terms))
            if found is None:
                return Recall()
            asked = await vector
        chosen = await self._read(
            lambda rows: self._choose(
                rows, query, terms, found, asked, limit=query.limit, max_tokens=query.max_tokens
            )
        )
        artifacts = _artifacts(chosen.bodies)
        ranked = chosen.ranked
        if not all(is_valid(artifact, query.asked_at) for artifact in artifacts.values()):
            # They are few as a rule, so that what they stand before is read only now.
            chosen = await self._read(
                lambda rows: self._choose(
                    rows, query, terms, found, asked, limit=MOST_RANKED, max_tokens=_ANY_TOKENS
                )
            )
            artifacts = _artifacts(chosen.bodies)
            ranked = shortlist(
                valid_first(chosen.ranked, artifacts, query.asked_at),
                found.previous,
                limit=query.limit,
                max_tokens=query.max_tokens,
            )
        return Recall(
            candidates=fitted(ranked, artifacts, query, terms),
            warnings=[text for text in (asked.warning, *chosen.warnings) if text],
        )

    def _fill(self) -> None:
        if self._dense is not None:
            self._dense.filler.wake()

    async def _read(self, work: Callable[[R], T]) -> T:
        return await self._database.read(lambda connection: work(self._rows_of(connection)))

    def _find(self, rows: R, query: RecallQuery, terms: SearchQuery) -> _Found | None:
        """What the words find. An embedder may be at work meanwhile."""
        tenant = rows.totals(query.key.tenant)
        if tenant is None:
            return None
        frequencies = self._frequencies.of(tenant, terms.terms, rows.count_terms)
        documents = lexical_pool(rows, tenant, query, terms, frequencies)
        previous = rows.previous_turn(tenant, query.key.session, before=Times.of(query.before).end)
        if previous is not None:
            documents[previous.artifact_id] = previous
        statistics = tenant.statistics(frequencies)
        early = readings(documents.values(), terms, statistics, weights=self._weights)
        prepared = self._dense.prepare(rows, tenant, documents) if self._dense else None
        return _Found(tenant, statistics, previous, documents, early, prepared)

    def _near(self, rows: R, query: RecallQuery, found: _Found, asked: Asked) -> DensePool:
        if self._dense is None or asked.vector is None:
            return DensePool({}, {}, [])
        return self._dense.pool(
            rows,
            found.tenant,
            asked.vector,
            found.documents,
            before=query.before,
            prepared=found.prepared,
        )

    def _choose(
        self,
        rows: R,
        query: RecallQuery,
        terms: SearchQuery,
        found: _Found,
        asked: Asked,
        *,
        limit: int,
        max_tokens: int,
    ) -> _Chosen:
        """The best `limit` of the pool within `max_tokens`, with the previous turn."""
        near = self._near(rows, query, found, asked)
        ranked = rank(
            {**found.documents, **near.documents}.values(),
            terms,
            found.statistics,
            weights=self._weights,
            limit=limit,
            also=found.previous.artifact_id if found.previous else None,
            cosines=near.cosines,
            early=found.early,
        )
        chosen = shortlist(ranked, found.previous, limit=limit, max_tokens=max_tokens)
        bodies = rows.bodies(found.tenant, [item.artifact_id for item in chosen])
        return _Chosen(chosen, bodies, near.warnings)


def _artifacts(bodies: Mapping[str, str]) -> dict[str, Artifact]:
    return {name: _artifact(name, body) for name, body in bodies.items()}


def _artifact(artifact_id: str, body: str) -> Artifact:
    """An artifact from its JSON; raises CorruptStoreError."""
    return decode(Artifact, body, what=f"artifact {artifact_id!r}")

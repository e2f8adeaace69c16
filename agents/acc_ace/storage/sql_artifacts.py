"""Artifacts in a SQL database: one recall algorithm over the indexes of SQLite and PostgreSQL.

The index picks a bounded pool of matches, `acc_ace.memory.ranking` ranks them, and only the chosen
ones are loaded. Lexical search runs while the embedder computes the query vector.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from acc_ace.core.schemas.artifact import Artifact, Recall, RecallQuery
from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.core.schemas.limits import RecallWeights
from acc_ace.memory.artifact_store import is_valid, valid_first
from acc_ace.memory.later import Lead, leads_of, named_in, rare, with_later
from acc_ace.memory.query_terms import TextMatches
from acc_ace.memory.ranking import (
    DEFAULT_WEIGHTS,
    MOST_RANKED,
    CorpusStatistics,
    Document,
    Ranked,
    SearchQuery,
    fitted,
    rank,
    search_query,
    shortlist,
    term_matches,
)
from acc_ace.storage.dense_search import DensePool, DenseSearch, Prefetch, QueryVector, asking
from acc_ace.storage.sql_artifact_pool import (
    ArtifactRow,
    ArtifactRows,
    TermFrequencies,
    later_pool,
    lexical_pool,
)
from acc_ace.storage.sql_rows import Rows, decode
from acc_ace.storage.tenant_rows import TenantTotals, Times, find_tenant, locked_tenant
from acc_ace.unit_of_work import Database, Write

_ANY_TOKENS = 2**31
"""No token limit, for a list that is cut later."""

T = TypeVar("T")
R = TypeVar("R", bound=ArtifactRows)
R_co = TypeVar("R_co", bound=ArtifactRows, covariant=True)


class _Found(NamedTuple):
    """The result of lexical search, and all that is computed before the vector of x_t arrives."""

    terms: SearchQuery
    tenant: TenantTotals
    statistics: CorpusStatistics
    previous: Document | None
    """The session's newest turn, which is always a candidate."""
    documents: Mapping[str, Document]
    early: Mapping[str, TextMatches]
    prepared: Prefetch | None


class _Chosen(NamedTuple):
    ranked: list[Ranked]
    bodies: Mapping[str, str]
    warnings: list[str]


class ArtifactIndex(Protocol[R_co]):
    """The database-specific index of artifacts and their search terms.

    Every write method runs in a transaction that has locked the tenant's row.
    """

    def reading(self, connection: Any) -> R_co:  # noqa: ANN401 - sqlite3's or psycopg's
        """The read side over a connection."""
        ...

    def insert(self, rows: Rows, tenant: int, items: Sequence[ArtifactRow]) -> None:
        """Insert or replace rows by id; the ids are distinct."""
        ...

    def retire(self, rows: Rows, tenant: int, session: str, after_turn: int) -> int:
        """Hide the session's artifacts after turn `after_turn` from recall; return how many."""
        ...

    def remove(self, rows: Rows, tenant: int, artifact_id: str) -> int:
        """Delete one artifact of the tenant; return 1 or 0."""
        ...

    def delete(self, rows: Rows, tenant: int, session: str | None) -> int:
        """Delete the tenant's artifacts (of one session); return how many."""
        ...


class SqlArtifactStore(Generic[R]):
    """An ArtifactStore in a database."""

    def __init__(
        self,
        database: Database,
        index: ArtifactIndex[R],
        *,
        weights: RecallWeights = DEFAULT_WEIGHTS,
        dense: DenseSearch[R] | None = None,
    ) -> None:
        """Lexical search, plus semantic search if there is `dense`."""
        self._database, self._index = database, index
        self._weights = weights
        self._dense = dense if weights.dense else None
        self._frequencies = TermFrequencies()

    async def add(self, artifacts: Sequence[Artifact]) -> None:
        """Store artifacts atomically; replaces the tenant's artifacts with the same ids."""
        if artifacts:
            await self._database.write(self.add_write(artifacts))
            self.wake()

    def add_write(self, artifacts: Sequence[Artifact]) -> Write:
        """`add` as a part of a unit of work, after which `wake` is called."""
        by_tenant: dict[Tenant, dict[str, ArtifactRow]] = {}
        for artifact in artifacts:
            items = by_tenant.setdefault(artifact.tenant, {})
            # The last artifact with an id wins, and counts as the newest.
            items.pop(artifact.artifact_id, None)
            items[artifact.artifact_id] = ArtifactRow.of(artifact)

        def write(rows: Rows) -> None:
            # All writers lock tenants in the same order, which avoids deadlocks.
            for tenant in sorted(by_tenant):
                number = locked_tenant(rows, tenant)
                self._index.insert(rows, number, list(by_tenant[tenant].values()))

        return write

    def restore_rows(self, rows: Rows, tenant: Tenant, bodies: Sequence[tuple[str, bool]]) -> None:
        """Add artifacts as they were stored, each with whether it is retired, in a transaction.

        The totals of the tenant are the caller's to compute. Raises CorruptStoreError.
        """
        number = locked_tenant(rows, tenant)
        items = [
            ArtifactRow.of(decode(Artifact, body, what="an artifact"))._replace(body=body)
            for body, _ in bodies
        ]
        self._index.insert(rows, number, items)
        rows.many(
            "UPDATE artifacts SET retired = ? WHERE tenant = ? AND artifact_id = ?",
            [
                (True, number, item.artifact.artifact_id)
                for item, (_, is_retired) in zip(items, bodies, strict=True)
                if is_retired
            ],
        )

    async def retire(self, key: SessionKey, after_turn: int) -> int:
        """Hide the session's artifacts after turn `after_turn` from recall; return how many."""
        return await self._database.write(lambda rows: self._retire(rows, key, after_turn))

    def retire_write(self, key: SessionKey, after_turn: int) -> Write:
        """`retire` as a part of a unit of work."""

        def write(rows: Rows) -> None:
            self._retire(rows, key, after_turn)

        return write

    async def remove(self, tenant: Tenant, artifact_id: str) -> bool:
        """Delete one artifact; return whether it existed."""

        def work(rows: Rows) -> int:
            number = find_tenant(rows, tenant)
            if number is None:
                return 0
            if self._dense is not None:
                self._dense.forget(number)
            return self._index.remove(rows, number, artifact_id)

        removed = await self._database.write(work)
        await self._database.scrub()
        return removed > 0

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's artifacts (of one session); return how many."""
        erased = await self._database.write(lambda rows: self.erase_rows(rows, tenant, session))
        await self._database.scrub()
        return erased

    def erase_rows(self, rows: Rows, tenant: Tenant, session: str | None = None) -> int:
        """`erase` in a transaction."""
        number = find_tenant(rows, tenant)
        if number is None:
            return 0
        if self._dense is not None:
            self._dense.forget(number)
        return self._index.delete(rows, number, session)

    def wake(self) -> None:
        """Start the background embedding backfill."""
        if self._dense is not None:
            self._dense.filler.wake()

    async def close(self) -> None:
        """Stop the background work; the database stays open."""
        if self._dense is not None:
            await self._dense.filler.close()

    async def fill(self) -> int:
        """Run the embedding backfill now; return how many artifacts. Raises EmbedderError."""
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
        """A page of artifacts by id, including retired ones, after the id `after`."""

        def work(rows: R) -> Sequence[tuple[str, str]]:
            totals = rows.totals(tenant)
            return rows.page(totals, after=after or "", limit=max(limit, 0)) if totals else []

        return [_artifact(name, body) for name, body in await self._read(work)]

    async def count(self, tenant: Tenant) -> int:
        """The number of the tenant's artifacts, including retired ones."""

        def work(rows: R) -> int:
            totals = rows.totals(tenant)
            return rows.count(totals) if totals else 0

        return await self._read(work)

    async def recall(self, query: RecallQuery) -> Recall:
        """At most `query.limit` candidates within `query.max_tokens`, best first."""
        self.wake()
        async with asking(self._dense.embedder if self._dense else None, query.text) as vector:
            matches = await self._read(lambda rows: self._find(rows, query))
            if matches is None:
                return Recall()
            query_vector = await vector
        choice = await self._read(
            lambda rows: self._choose(
                rows, query, matches, query_vector, limit=query.limit, max_tokens=query.max_tokens
            )
        )
        artifacts = _artifacts(choice.bodies)
        ranked = choice.ranked
        if not all(is_valid(artifact, query.asked_at) for artifact in artifacts.values()):
            # Expired ones are rare, so the candidates ranked below them are read only now.
            choice = await self._read(
                lambda rows: self._choose(
                    rows, query, matches, query_vector, limit=MOST_RANKED, max_tokens=_ANY_TOKENS
                )
            )
            artifacts = _artifacts(choice.bodies)
            ranked = shortlist(
                valid_first(choice.ranked, artifacts, query.asked_at),
                matches.previous,
                limit=query.limit,
                max_tokens=query.max_tokens,
            )
        # Finding the best excerpts of long candidates takes 20 ms for eight of 2,000 characters.
        candidates = await asyncio.to_thread(fitted, ranked, artifacts, query, matches.terms)
        return Recall(
            candidates=candidates,
            warnings=[text for text in (query_vector.warning, *choice.warnings) if text],
        )

    def _retire(self, rows: Rows, key: SessionKey, after_turn: int) -> int:
        number = find_tenant(rows, key.tenant)
        return 0 if number is None else self._index.retire(rows, number, key.session, after_turn)

    async def _read(self, work: Callable[[R], T]) -> T:
        return await self._database.read(lambda rows: work(self._index.reading(rows.connection)))

    def _find(self, rows: R, query: RecallQuery) -> _Found | None:
        """Run the lexical search, maybe while an embedder computes the query vector.

        The query is analysed on the store's thread, since a long one takes over 20 ms.
        """
        tenant = rows.totals(query.key.tenant)
        if tenant is None:
            return None
        terms = search_query(query)
        frequencies = self._frequencies.of(tenant, terms.terms, rows.count_terms)
        documents = lexical_pool(rows, tenant, query, terms, frequencies)
        previous = rows.previous_turn(tenant, query.key.session, before=Times.of(query.before).end)
        if previous is not None:
            documents[previous.artifact_id] = previous
        statistics = tenant.statistics(frequencies)
        early = term_matches(documents.values(), terms, statistics, weights=self._weights)
        prepared = self._dense.prepare(rows, tenant, documents) if self._dense else None
        return _Found(terms, tenant, statistics, previous, documents, early, prepared)

    def _near(self, rows: R, query: RecallQuery, matches: _Found, vector: QueryVector) -> DensePool:
        if self._dense is None or vector.vector is None:
            return DensePool({}, {}, [])
        return self._dense.pool(
            rows,
            matches.tenant,
            vector.vector,
            matches.documents,
            before=query.before,
            prepared=matches.prepared,
        )

    def _choose(
        self,
        rows: R,
        query: RecallQuery,
        matches: _Found,
        vector: QueryVector,
        *,
        limit: int,
        max_tokens: int,
    ) -> _Chosen:
        """The best `limit` of the pool within `max_tokens`, with the previous turn."""
        near = self._near(rows, query, matches, vector)
        documents = {**matches.documents, **near.documents}
        ranked = rank(
            documents.values(),
            matches.terms,
            matches.statistics,
            weights=self._weights,
            limit=limit,
            also=matches.previous.artifact_id if matches.previous else None,
            cosines=near.cosines,
            early=matches.early,
        )
        ranked = self._with_later(rows, query, matches, ranked, documents)
        items = shortlist(ranked, matches.previous, limit=limit, max_tokens=max_tokens)
        bodies = rows.bodies(matches.tenant, [item.artifact_id for item in items])
        return _Chosen(items, bodies, near.warnings)

    def _with_later(
        self,
        rows: R,
        query: RecallQuery,
        matches: _Found,
        ranked: list[Ranked],
        documents: Mapping[str, Document],
    ) -> list[Ranked]:
        """What was said later about the subjects of the best comes behind them."""
        tenant, best = matches.tenant, leads_of(ranked, documents)
        places = [documents[item.artifact_id] for item in best]
        own = [named_in(place) for place in places]
        terms = sorted({term for each in own for term in each})
        counts = self._frequencies.of(tenant, terms, rows.count_terms) if terms else {}
        statistics = tenant.statistics(counts)
        names = rare(terms, statistics)
        more = later_pool(rows, tenant, names, counts, before=query.before) if names else []
        pool = {**{document.artifact_id: document for document in more}, **documents}
        subjects = (each.intersection(names) for each in own)
        leads = [Lead(*each) for each in zip(best, places, subjects, strict=True)]
        return with_later(ranked, leads, list(pool.values()), statistics)


def _artifacts(bodies: Mapping[str, str]) -> dict[str, Artifact]:
    return {name: _artifact(name, body) for name, body in bodies.items()}


def _artifact(artifact_id: str, body: str) -> Artifact:
    """An artifact from its JSON; raises CorruptStoreError."""
    return decode(Artifact, body, what=f"artifact {artifact_id!r}")

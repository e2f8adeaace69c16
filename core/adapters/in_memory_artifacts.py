"""Artifacts in memory, for tests and for `store=memory`."""

from collections import Counter
from collections.abc import Iterable, Sequence

from core.domain.ranking import (
    CorpusStatistics,
    Document,
    SearchQuery,
    choose,
    rank,
    search_query,
)
from core.domain.search_terms import index_terms
from schemas.artifact import Artifact, ArtifactKind, Recall, RecallQuery
from schemas.tenancy import SessionKey, Tenant


class InMemoryArtifactStore:
    """An ArtifactStore that forgets at exit."""

    def __init__(self) -> None:
        self._documents: dict[Tenant, dict[str, Document]] = {}
        self._retired: dict[Tenant, set[str]] = {}

    async def add(self, artifacts: Sequence[Artifact]) -> None:
        """Store artifacts, all or none; one whose id is known to the tenant replaces it."""
        documents = [Document(item, index_terms(item.content)) for item in artifacts]
        for document in documents:
            tenant, artifact_id = document.artifact.tenant, document.artifact.artifact_id
            # A replacement counts as the newest, so it goes to the end.
            self._documents.setdefault(tenant, {}).pop(artifact_id, None)
            self._documents[tenant][artifact_id] = document
            self._retired.get(tenant, set()).discard(artifact_id)

    async def get(self, tenant: Tenant, artifact_id: str) -> Artifact | None:
        """The artifact, or None."""
        document = self._documents.get(tenant, {}).get(artifact_id)
        return document.artifact if document else None

    async def recall(self, query: RecallQuery) -> Recall:
        """At most `query.limit` candidates within `query.max_tokens`, best first."""
        terms = search_query(query)
        documents = self._visible(query)
        ranked = rank(documents, terms, _statistics(documents, terms))
        previous = _previous_turn(documents, query.key.session)
        return Recall(
            candidates=choose(ranked, previous, limit=query.limit, max_tokens=query.max_tokens)
        )

    async def retire(self, key: SessionKey, after_turn: int) -> int:
        """Hide the session's artifacts of turns later than `after_turn` from recall; how many."""
        retired = self._retired.setdefault(key.tenant, set())
        found = {
            artifact_id
            for artifact_id, document in self._documents.get(key.tenant, {}).items()
            if document.artifact.session == key.session
            and document.artifact.turn is not None
            and document.artifact.turn > after_turn
        } - retired
        retired |= found
        return len(found)

    async def count(self, tenant: Tenant) -> int:
        """How many artifacts the tenant has, retired ones included."""
        return len(self._documents.get(tenant, {}))

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's artifacts (of one session); how many."""
        documents = self._documents.get(tenant, {})
        doomed = [
            artifact_id
            for artifact_id, document in documents.items()
            if session is None or document.artifact.session == session
        ]
        for artifact_id in doomed:
            del documents[artifact_id]
            self._retired.get(tenant, set()).discard(artifact_id)
        return len(doomed)

    def _visible(self, query: RecallQuery) -> list[Document]:
        tenant = query.key.tenant
        retired = self._retired.get(tenant, set())
        return [
            document
            for artifact_id, document in self._documents.get(tenant, {}).items()
            if artifact_id not in retired
            and (query.before is None or document.artifact.created_at < query.before)
        ]


def _previous_turn(documents: Iterable[Document], session: str) -> Artifact | None:
    """The newest TURN artifact of a session; of one turn, the one stored last."""
    turns = [
        document.artifact
        for document in documents
        if document.artifact.kind is ArtifactKind.TURN and document.artifact.session == session
    ]
    return max(reversed(turns), key=lambda artifact: artifact.turn or 0, default=None)


def _statistics(documents: Sequence[Document], query: SearchQuery) -> CorpusStatistics:
    wanted = set(query.terms)
    frequencies: Counter[str] = Counter()
    length = 0
    for document in documents:
        terms = document.terms.split()
        length += len(terms)
        frequencies.update(wanted.intersection(terms))
    return CorpusStatistics(len(documents), length / max(len(documents), 1), frequencies)

"""A person searches their own memory: what recall finds, and what of it no model is shown."""

from typing import Final

from acc_ace.container import Container
from acc_ace.core.gates.screening import screened
from acc_ace.core.schemas.artifact import (
    Artifact,
    ArtifactKind,
    MemoryHit,
    MemoryHits,
    RecalledArtifact,
    RecallQuery,
)
from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.core.schemas.qualification import QualificationReason
from acc_ace.core.text.exchange import ExchangePart, parts_of
from acc_ace.core.text.search_terms import terms_of
from acc_ace.errors import InputError
from acc_ace.memory.chunking import excerpt
from acc_ace.memory.priors import said_by
from acc_ace.memory.ranking import search_query

MOST_HITS: Final = 50
HITS: Final = 10

_TEXT_TOKENS: Final = 200
"""Tokens of a hit's text; the artifact holds the rest."""


async def search_memory(
    container: Container, tenant: Tenant, query: str, *, limit: int = HITS
) -> MemoryHits:
    """The user's artifacts that match best, also what the gate keeps from every model.

    `limit` is 1 to `MOST_HITS`. Raises InputError for a blank query or another limit, StoreError.
    """
    if not query.strip():
        raise InputError("a search needs words to look for")
    if not 1 <= limit <= MOST_HITS:
        raise InputError(f"a search returns 1 to {MOST_HITS} hits, not {limit}")
    now = container.local_now()
    # It belongs to no session, so that no previous turn is always among the hits.
    key = SessionKey(*tenant, "")
    most = container.settings.limits.tool_result_tokens
    recall_query = RecallQuery(
        key=key, text=query, limit=limit, max_tokens=limit * most, asked_at=now
    )
    recall = await container.artifacts.recall(recall_query)
    artifacts = [item.artifact for item in recall.candidates]
    # By nobody's rules: those are of a session, and a person reads what contradicts them as well.
    gate = screened(artifacts, key=key, pins=(), now=now, max_tokens=most)
    refusals = {
        each.artifact_id: each.detail or each.reason.value
        for each in gate.rejected
        if each.reason is not QualificationReason.DUPLICATE
    }
    terms = frozenset(search_query(recall_query).text)
    hits = [_hit(item, terms, refusals) for item in recall.candidates]
    return MemoryHits(hits=hits, warnings=recall.warnings)


def _hit(item: RecalledArtifact, terms: frozenset[str], refusals: dict[str, str]) -> MemoryHit:
    artifact = item.artifact
    part = _best_part(artifact, terms)
    return MemoryHit(
        artifact_id=artifact.artifact_id,
        session=artifact.session,
        turn=artifact.turn,
        speaker=part.who,
        day=artifact.created_at.date(),
        score=item.score,
        text=excerpt(part.text, terms, _TEXT_TOKENS),
        refusal=refusals.get(artifact.artifact_id),
    )


def _best_part(artifact: Artifact, terms: frozenset[str]) -> ExchangePart:
    """What one speaker said of what is looked for; all of it where nothing tells who spoke."""
    speaker = said_by(artifact.content) or artifact.source
    parts = parts_of(artifact.content) if artifact.kind is ArtifactKind.TURN else []
    if not parts:
        return ExchangePart(speaker, artifact.content)
    best = max(parts, key=lambda part: len(terms & terms_of(part.text)))
    return best._replace(who=best.who or speaker)

"""The artifact store as ADK's memory service, for any ADK agent and its LoadMemoryTool.

Each event of a session becomes an artifact of that session; each result is the text as it was
said, with its author beside it, and says why it matched.
A memory's text raises no authority: it is evidence, whatever its author.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Final

from google.adk.events import Event
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions import Session
from google.genai import types

from acc_ace.adk.gated_memory import MAX_TOKENS, KnowsKinds, memory_text, spoken_text
from acc_ace.clock import Clock
from acc_ace.core.gates.screening import screened
from acc_ace.core.schemas.artifact import Artifact, ArtifactKind, RecalledArtifact, RecallQuery
from acc_ace.core.schemas.base import Authority, SessionKey, Tenant
from acc_ace.core.text.tokens import CUT_MARK
from acc_ace.errors import InputError
from acc_ace.memory.artifact_store import ArtifactStore, only_valid
from acc_ace.memory.priors import said_by

MAX_RESULTS = 10
"""Memories of one search; as many as ADK's own in-memory service returns."""


class ArtifactMemoryService(KnowsKinds):
    """A BaseMemoryService over an ArtifactStore."""

    def __init__(
        self,
        artifacts: ArtifactStore,
        clock: Clock,
        *,
        zone: tzinfo = UTC,
        limit: int = MAX_RESULTS,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        """Search `artifacts`; days named in a query are resolved in `zone`."""
        self._artifacts = artifacts
        self._clock = clock
        self._zone = zone
        self._limit = limit
        self._max_tokens = max_tokens

    async def add_session_to_memory(self, session: Session) -> None:
        """Store what was said in a session; storing it again replaces it.

        Raises InputError for an event with an invalid time, or StoreError.
        """
        key = SessionKey(session.app_name, session.user_id, session.id)
        await self._artifacts.add(list(_from_events(key, session.events, _turns(session.events))))

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store some events, without turn numbers: those are known only for a whole session.

        Raises InputError for an event with an invalid time.
        """
        key = SessionKey(app_name, user_id, session_id or "")
        await self._artifacts.add(list(_from_events(key, events, [None] * len(events))))

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store memories verbatim; one with a known id replaces the stored one.

        Raises InputError for a timestamp that is not ISO 8601.
        """
        tenant = Tenant(app_name, user_id)
        now = self._clock.now()
        made = (_from_memory(tenant, memory, now) for memory in memories)
        await self._artifacts.add([artifact for artifact in made if artifact.content])

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Delete a memory by its id from a search result; a missing one is no error.

        Raises InputError without an id, StoreError.
        """
        if not memory_id:
            raise InputError("a memory is deleted by its id; pass the id from a search result")
        await self._artifacts.remove(Tenant(app_name, user_id), memory_id)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """The best matches that pass the gate, best first. `gate_memory` adds a turn's rules."""
        if not query.strip():
            return SearchMemoryResponse()
        now = self._clock.now()
        # A search names no session, so the previous turn is not always included.
        key = SessionKey(app_name, user_id, "")
        recall = await self._artifacts.recall(
            RecallQuery(
                key=key,
                text=query,
                limit=self._limit,
                max_tokens=self._max_tokens,
                asked_at=now.astimezone(self._zone),
            )
        )
        valid = {item.artifact.artifact_id: item for item in only_valid(recall, now).candidates}
        passed = screened(
            (item.artifact for item in valid.values()),
            key=key,
            pins=(),
            now=now,
            max_tokens=self._max_tokens,
        ).shown
        memories = [
            _memory(valid[artifact.artifact_id], await self._author(artifact))
            for artifact in passed
        ]
        return SearchMemoryResponse(memories=memories)

    async def _author(self, artifact: Artifact) -> str:
        """Who said it, from the whole text if an excerpt has lost the leading label."""
        content = artifact.content
        if content.startswith(CUT_MARK):
            whole = await self._artifacts.get(artifact.tenant, artifact.artifact_id)
            content = whole.content if whole else ""
        return said_by(content) or artifact.source


def _from_events(
    key: SessionKey, events: Sequence[Event], turns: Sequence[int | None]
) -> Iterator[Artifact]:
    for event, turn in zip(events, turns, strict=True):
        text = spoken_text(event.content)
        if text:
            yield Artifact(
                artifact_id=f"event:{key.session}:{event.id or _digest(event.author, text)}",
                content=_labelled(event.author, text),
                source=_SOURCE,
                created_at=_time_of(event),
                tenant=key.tenant,
                kind=ArtifactKind.NOTE,
                authority=Authority.AGENT,
                session=key.session or None,
                turn=turn,
            )


_SOURCE: Final = "memory"
"""Where artifacts of this service are from, and the label of a text that would seem to have one."""


def _labelled(author: str | None, text: str) -> str:
    """The text as it is stored: with who it is by, for recall.

    An agent that is named like a role of a prompt is an agent.
    """
    if author and text:
        is_role = author.lower() in {"assistant", "developer", "system"}
        return f"{'agent' if is_role else author}: {text}"
    return f"{_SOURCE}: {text}" if said_by(text) else text


def _unlabelled(artifact: Artifact, author: str) -> str:
    """The text as it was added."""
    content = artifact.content
    return content.removeprefix(f"{author}: ") if artifact.source == _SOURCE else content


def _turns(events: Sequence[Event]) -> list[int | None]:
    """The turn of each event, counted as the journal does: each input opens the next one."""
    turn, turns = 0, list[int | None]()
    for event in events:
        turn += event.author == "user" and bool(spoken_text(event.content))
        turns.append(turn)
    return turns


def _from_memory(tenant: Tenant, memory: MemoryEntry, now: datetime) -> Artifact:
    text = memory_text(memory)
    return Artifact(
        artifact_id=memory.id or f"memory:{_digest(memory.author, text)}",
        content=_labelled(memory.author, text),
        source=_SOURCE,
        created_at=_moment(memory.timestamp) if memory.timestamp else now,
        tenant=tenant,
        kind=ArtifactKind.NOTE,
        authority=Authority.RETRIEVED,
    )


def _time_of(event: Event) -> datetime:
    try:
        return datetime.fromtimestamp(event.timestamp, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise InputError(
            f"event '{event.id}' has the time {event.timestamp}, which is not a time in seconds "
            "since 1970; divide milliseconds by 1,000"
        ) from error


def _moment(timestamp: str) -> datetime:
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError as error:
        raise InputError(
            f"'{timestamp}' is not an ISO 8601 time such as 2026-05-07T12:00:00+00:00"
        ) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _digest(author: str | None, text: str) -> str:
    """A deterministic id for content without one."""
    return hashlib.sha256(f"{author}\x00{text}".encode(errors="replace")).hexdigest()[:16]


def _memory(item: RecalledArtifact, author: str) -> MemoryEntry:
    artifact = item.artifact
    return MemoryEntry(
        id=artifact.artifact_id,
        author=author,
        timestamp=artifact.created_at.isoformat(),
        content=types.Content(role="user", parts=[types.Part(text=_unlabelled(artifact, author))]),
        custom_metadata={
            "score": item.score,
            "why": item.why,
            "source": artifact.source,
            "kind": artifact.kind.value,
            "session": artifact.session or "",
        },
    )

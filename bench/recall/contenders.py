"""The systems under test: our store, and ADK's memory services on the same texts."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Protocol

from google.adk.events import Event
from google.adk.memory import BaseMemoryService, InMemoryMemoryService
from google.adk.memory._sqlite_memory_service import SqliteMemoryService
from google.genai import types

from acc_ace.core.schemas.artifact import Artifact, ArtifactKind, RecallQuery
from acc_ace.core.schemas.base import Authority, SessionKey, Tenant
from acc_ace.core.schemas.limits import RecallWeights
from acc_ace.memory.artifact_store import Embedder
from acc_ace.storage.create_stores import sqlite_dense
from acc_ace.storage.sql_artifacts import SqlArtifactStore
from acc_ace.storage.sqlite.artifact_rows import SqliteArtifactRows
from acc_ace.storage.sqlite.artifact_writes import SqliteArtifactIndex
from acc_ace.storage.sqlite.database import DATABASE_FILE, SqliteDatabase
from bench.recall.corpus import Corpus, CorpusPassage

OURS = "acc-ace"
FUSED = "acc-ace-fused"
"""Ours with an embedder."""

_APP = "bench"
_ASKING = "bench:asking"
"""An empty session, so that recall adds no previous turn."""

_NO_LIMIT = 1_000_000
_INDEX_MB = 128


class Contender(Protocol):
    """Stores passages and finds the ids of those that match a question, best first."""

    name: str

    async def learn(self, corpus: Corpus) -> None:
        """Store all passages of a corpus."""
        ...

    async def find(self, corpus: Corpus, question: str, limit: int) -> list[str]:
        """Ids of at most `limit` passages."""
        ...


class OurStore:
    """The SQLite artifact store, with one tenant per corpus."""

    def __init__(self, store: SqlArtifactStore[SqliteArtifactRows], name: str = OURS) -> None:
        self.name = name
        self._store = store

    async def learn(self, corpus: Corpus) -> None:
        """Store all passages of a corpus, and embed them if there is an embedder."""
        await self._store.add([_artifact(corpus, passage) for passage in corpus.passages])
        await self._store.fill()

    async def find(self, corpus: Corpus, question: str, limit: int) -> list[str]:
        """Ids of at most `limit` passages."""
        query = RecallQuery(
            key=SessionKey(_APP, corpus.name, _ASKING),
            text=question,
            limit=limit,
            max_tokens=_NO_LIMIT,
            asked_at=corpus.asked_at,
        )
        recall = await self._store.recall(query)
        return [candidate.artifact.artifact_id for candidate in recall.candidates]


class AdkMemory:
    """An ADK memory service, with one ADK session per dialogue session."""

    def __init__(self, name: str, service: BaseMemoryService) -> None:
        self.name = name
        self._service = service

    async def learn(self, corpus: Corpus) -> None:
        """Store all passages of a corpus as events."""
        for session in dict.fromkeys(passage.session for passage in corpus.passages):
            events = [_event(p) for p in corpus.passages if p.session == session]
            await self._service.add_events_to_memory(
                app_name=_APP, user_id=corpus.name, events=events, session_id=session or "documents"
            )

    async def find(self, corpus: Corpus, question: str, limit: int) -> list[str]:
        """Ids of at most `limit` passages; the in-memory service never returns more than ten."""
        response = await self._service.search_memory(
            app_name=_APP, user_id=corpus.name, query=question
        )
        texts = [
            "".join(part.text or "" for part in memory.content.parts or [])
            for memory in response.memories[:limit]
        ]
        # Not every service returns ids; a repeated text counts as its first passage.
        ids = {passage.text: passage.passage_id for passage in reversed(corpus.passages)}
        return [ids[text] for text in texts]


@asynccontextmanager
async def contenders(
    folder: Path, weights: RecallWeights, embedder: Embedder | None = None
) -> AsyncIterator[Sequence[Contender]]:
    """All contenders, with their files in `folder`; ours also with the embedder, if any."""
    async with AsyncExitStack() as opened:
        adk_sqlite = SqliteMemoryService(folder / "adk.db")
        opened.push_async_callback(adk_sqlite.close)
        ours = [OurStore(_open(opened, folder / "words", weights, None))]
        if embedder is not None:
            ours.append(OurStore(_open(opened, folder / "fused", weights, embedder), FUSED))
        yield [
            *ours,
            AdkMemory("adk-in-memory", InMemoryMemoryService()),
            AdkMemory("adk-sqlite", adk_sqlite),
        ]


def _open(
    opened: AsyncExitStack, folder: Path, weights: RecallWeights, embedder: Embedder | None
) -> SqlArtifactStore[SqliteArtifactRows]:
    database = SqliteDatabase(folder / DATABASE_FILE)
    opened.push_async_callback(database.close)
    dense = sqlite_dense(database, embedder, memory_mb=_INDEX_MB)
    store = SqlArtifactStore(database, SqliteArtifactIndex(), weights=weights, dense=dense)
    opened.push_async_callback(store.close)
    return store


def _artifact(corpus: Corpus, passage: CorpusPassage) -> Artifact:
    return Artifact(
        artifact_id=passage.passage_id,
        content=passage.text,
        source="bench",
        created_at=passage.created_at,
        tenant=Tenant(_APP, corpus.name),
        kind=passage.kind,
        authority=Authority.AGENT if passage.kind is ArtifactKind.TURN else Authority.RETRIEVED,
        session=passage.session,
        turn=passage.turn,
    )


def _event(passage: CorpusPassage) -> Event:
    return Event(
        id=passage.passage_id,
        author=passage.speaker or "document",
        timestamp=passage.created_at.timestamp(),
        content=types.Content(role="user", parts=[types.Part(text=passage.text)]),
    )

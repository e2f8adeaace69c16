"""ADK's memory service as the agents of a turn have it: what they find passes the gate.

ADK's load_memory and preload_memory tools search the memory service of the run's context, ours or
any other.
"""

from datetime import datetime
from typing import Any

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.memory import BaseMemoryService
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions import Session
from google.genai import types

from acc_ace.adk.plugin.delivery import LENT
from acc_ace.container import Container
from acc_ace.core.gates.screening import screened
from acc_ace.core.schemas.artifact import Artifact, ArtifactKind
from acc_ace.core.schemas.base import Tenant
from acc_ace.turn.turn_record import TurnRecord

MAX_TOKENS = 4_000
"""Tokens of all memories of one search; longer ones are cut."""


class KnowsKinds(BaseMemoryService):
    """A memory service whose results say what kind of artifact each is, as ours does."""


class GatedMemory(BaseMemoryService):
    """A memory service as the agents of a turn have it: what a search finds passes the gate.

    The rules are those that are in force when a search is made. Raises what the service raises.
    """

    def __init__(self, memory: BaseMemoryService, container: Container, record: TurnRecord) -> None:
        """Search `memory` for the turn of `record`."""
        self._memory, self._container, self._record = memory, container, record

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """What the service finds and the gate lets through, best first.

        What contradicts a rule in force has that rule beside it.
        """
        result = await self._memory.search_memory(app_name=app_name, user_id=user_id, query=query)
        tenant, now = Tenant(app_name, user_id), self._container.clock.now()
        with_text = [memory for memory in result.memories if memory_text(memory)]
        texts = {str(at): memory for at, memory in enumerate(with_text)}
        passed = screened(
            (self._artifact(name, tenant, memory, now) for name, memory in texts.items()),
            key=self._record.key,
            pins=self._record.rules,
            now=now,
            max_tokens=MAX_TOKENS,
        ).shown
        shown = [_with_text(texts[item.artifact_id], item.content) for item in passed]
        # Pictures and other files have no words that could be screened.
        files = [memory for memory in result.memories if not memory_text(memory)]
        return SearchMemoryResponse(memories=[*shown, *files])

    async def add_session_to_memory(self, session: Session) -> None:
        """As the service does, without what an agent was lent."""
        events = [event for event in session.events if not _is_lent(event)]
        await self._memory.add_session_to_memory(session.model_copy(update={"events": events}))

    async def add_events_to_memory(self, **fields: Any) -> None:  # noqa: ANN401 - the framework's
        """As the service does, without what an agent was lent."""
        events = [event for event in fields.get("events", ()) if not _is_lent(event)]
        await self._memory.add_events_to_memory(**{**fields, "events": events})

    async def add_memory(self, **fields: Any) -> None:  # noqa: ANN401 - the framework's
        """As the service does."""
        await self._memory.add_memory(**fields)

    async def delete_memory(self, **fields: Any) -> None:  # noqa: ANN401 - the framework's
        """As the service does."""
        await self._memory.delete_memory(**fields)

    def _artifact(self, name: str, tenant: Tenant, memory: MemoryEntry, now: datetime) -> Artifact:
        """A memory as the gate reads it; only our own service's word on its kind counts."""
        known = memory.custom_metadata if isinstance(self._memory, KnowsKinds) else {}
        return Artifact(
            artifact_id=name,
            content=memory_text(memory),
            source="memory",
            created_at=now,
            tenant=tenant,
            kind=known.get("kind", ArtifactKind.NOTE),
            session=known.get("session") or None,
        )


def _is_lent(event: Event) -> bool:
    return LENT in (event.custom_metadata or {})


def spoken_text(content: types.Content | None) -> str:
    """What was said; thoughts, calls and files are left out."""
    parts = content.parts or [] if content else []
    return "\n".join(part.text for part in parts if part.text and not part.thought).strip()


def memory_text(memory: MemoryEntry) -> str:
    """What a memory says; thoughts, calls and files are left out."""
    return spoken_text(memory.content)


def gate_memory(ctx: InvocationContext, container: Container, record: TurnRecord) -> None:
    """Let the agents of a run find in memory only what passes the gate of their turn."""
    if ctx.memory_service is not None:
        ctx.memory_service = GatedMemory(ctx.memory_service, container, record)


def _with_text(memory: MemoryEntry, text: str) -> MemoryEntry:
    """A memory with other words; as it is when they are the same."""
    if text == memory_text(memory):
        return memory
    content = types.Content(role="user", parts=[types.Part(text=text)])
    return memory.model_copy(update={"content": content})

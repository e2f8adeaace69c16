"""The ADK session service of this product's own runner."""

from collections.abc import Sequence

from google.adk.sessions import BaseSessionService, InMemorySessionService

from core.adapters.open_sessions import open_sessions
from core.container import Container
from core.turn.event_offloading import offload_events
from schemas.past_turn import PastTurn
from schemas.tenancy import SessionKey


def open_session_service(container: Container) -> BaseSessionService:
    """Sessions beside the other stores: in memory, in a file or in PostgreSQL."""
    if container.settings.store == "memory":
        return InMemorySessionService()

    async def offload(key: SessionKey, turns: Sequence[PastTurn]) -> None:
        await offload_events(container, key, turns)

    return open_sessions(container.settings, lambda: container.journal, offload=offload)

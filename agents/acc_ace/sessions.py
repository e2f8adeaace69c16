"""The ADK session service of this product's own runner."""

from google.adk.sessions import BaseSessionService, InMemorySessionService

from core.adapters.open_sessions import open_sessions
from core.container import Container


def open_session_service(container: Container) -> BaseSessionService:
    """Sessions beside the other stores: in memory, in a file or in PostgreSQL."""
    if container.settings.store == "memory":
        return InMemorySessionService()
    return open_sessions(container.settings, container.journal)

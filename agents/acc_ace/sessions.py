"""The ADK session service of this product's own runner."""

from google.adk.sessions import BaseSessionService, InMemorySessionService

from core.adapters.adk_session import BoundedSessionService
from core.container import Container


def open_session_service(container: Container) -> BaseSessionService:
    """Sessions beside the other stores: in memory, or in `sessions.db` of the data directory."""
    settings = container.settings
    if settings.store == "memory":
        return InMemorySessionService()
    return BoundedSessionService(settings.data_dir / "sessions.db")

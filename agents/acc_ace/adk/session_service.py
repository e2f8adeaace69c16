"""The ADK session service of this product's own runner."""

from collections.abc import Sequence

from acc_ace.adk.sessions.create_session_service import open_sessions
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.container import Container
from acc_ace.schemas.base import SessionKey
from acc_ace.schemas.session import PastTurn
from acc_ace.turn.event_offload import offload_events


def open_session_service(container: Container) -> SqlSessionService:
    """Sessions in the database of the stores."""

    async def offload(key: SessionKey, turns: Sequence[PastTurn]) -> None:
        await offload_events(container, key, turns)

    return open_sessions(container.settings, lambda: container.database, offload=offload)

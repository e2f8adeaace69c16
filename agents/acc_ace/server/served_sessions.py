"""One ADK session service for all routes of a server, over the stores of its container."""

from collections.abc import Sequence
from typing import Final

from google.adk.cli.service_registry import get_service_registry

from acc_ace.adk.sessions.create_session_service import open_sessions
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.container import Container
from acc_ace.schemas.base import SessionKey
from acc_ace.schemas.session import PastTurn
from acc_ace.turn.event_offload import offload_events
from acc_ace.turn.session_changes import forget_session

_SCHEME: Final = "accace-served"


def open_session_service(container: Container) -> SqlSessionService:
    """Sessions beside the other stores; deleting one deletes what those keep of it.

    It waits for the turn that runs, then raises SessionBusyError with nothing deleted.
    """

    async def forget(key: SessionKey) -> None:
        await forget_session(container, key)

    async def offload(key: SessionKey, turns: Sequence[PastTurn]) -> None:
        await offload_events(container, key, turns)

    return open_sessions(
        container.settings, lambda: container.database, offload=offload, on_delete=forget
    )


def uri_of(service: SqlSessionService) -> str:
    """A URI under which ADK, which takes nothing but URIs, finds this very service."""

    def served(uri: str, **_options: object) -> SqlSessionService:
        return service

    get_service_registry().register_session_service(_SCHEME, served)
    return f"{_SCHEME}://"

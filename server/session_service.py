"""One ADK session service for all routes of a server, over the stores of its container."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final

from google.adk.cli.service_registry import get_service_registry

from core.adapters.bounded_sessions import BoundedSessions
from core.adapters.open_sessions import open_sessions
from core.container import Container
from core.turn.event_offloading import offload_events
from core.turn.forgetting import forgetting
from schemas.past_turn import PastTurn
from schemas.tenancy import SessionKey

_SCHEME: Final = "accace-served"


def open_session_service(container: Container) -> BoundedSessions:
    """Sessions beside the other stores; deleting one deletes what those keep of it.

    It waits for the turn that runs, then raises SessionBusyError with nothing deleted.
    """

    def forget(key: SessionKey) -> AbstractAsyncContextManager[None]:
        return forgetting(container, key)

    async def offload(key: SessionKey, turns: Sequence[PastTurn]) -> None:
        await offload_events(container, key, turns)

    return open_sessions(
        container.settings, lambda: container.journal, offload=offload, on_delete=forget
    )


def uri_of(service: BoundedSessions) -> str:
    """A URI under which ADK, which takes nothing but URIs, finds this very service."""

    def served(uri: str, **_options: object) -> BoundedSessions:
        return service

    get_service_registry().register_session_service(_SCHEME, served)
    return f"{_SCHEME}://"

"""What our ADK session services have in common, whatever they keep sessions in."""

import logging
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any, Final

from google.adk.events import Event, EventActions
from google.adk.sessions import BaseSessionService, State
from google.adk.sessions.base_session_service import GetSessionConfig

from core.adapters.client_state import allowed
from core.adapters.event_calls import OPEN_CALLS
from schemas.tenancy import SessionKey

_log = logging.getLogger(__name__)

Forget = Callable[[SessionKey], Awaitable[None]]
"""Deletes what other stores keep of a session."""

LEFT_OUT: Final = GetSessionConfig()
"""Default of `config`: tells a caller that left it out from one that passed None."""

NO_EVENTS: Final = GetSessionConfig(num_recent_events=0)
"""Asks for a session and its state alone."""


class BoundedSessions(BaseSessionService):
    """An ADK session service whose cost for a turn does not grow with the history."""

    beside_the_stores: bool = False
    """Whether sessions are in the database of the stores, and erased in the same transaction."""

    @abstractmethod
    async def erase(self, app_name: str, user_id: str) -> int:
        """Delete all sessions of a user, state included; how many."""

    @abstractmethod
    async def close(self) -> None:
        """Disconnect; the service connects again when it is needed."""


def is_silent(event: Event) -> bool:
    """Whether nothing of the event would outlive the turn."""
    if event.content is not None or event.output is not None or event.error_code:
        return False
    if any(not key.startswith(State.TEMP_PREFIX) for key in event.actions.state_delta):
        return False
    return event.actions.model_copy(update={"state_delta": {}}) == EventActions()


def protected(state: dict[str, Any] | None, session: str) -> dict[str, Any] | None:
    """The state without the keys that a client may not write; they are named in the log."""
    if not state:
        return state
    kept = {key: value for key, value in state.items() if allowed(key, value)}
    if len(kept) < len(state):
        dropped = sorted(set(state) - set(kept))
        _log.warning("client_state_dropped session=%s keys=%s", session, ",".join(dropped))
    return kept


def log_forgotten_calls(key: SessionKey, count: int) -> None:
    """Say that calls can no longer be answered once their events are out of the window."""
    if count:
        _log.warning(
            "waiting_calls_forgotten session=%s count=%d limit=%d", key.session, count, OPEN_CALLS
        )

"""What our ADK session services have in common, whatever they keep sessions in."""

import logging
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from typing import Any, Final

from google.adk.events import Event, EventActions
from google.adk.sessions import BaseSessionService, InMemorySessionService, State
from google.adk.sessions.base_session_service import GetSessionConfig

from core.adapters.client_state import allowed
from core.adapters.event_calls import OPEN_CALLS
from core.errors import StoreError
from schemas.tenancy import SessionKey, Tenant

_log = logging.getLogger(__name__)

Forget = Callable[[SessionKey], AbstractAsyncContextManager[None]]
"""Holds a session while it is deleted, and deletes what other stores keep of it."""

LEFT_OUT: Final = GetSessionConfig()
"""Default of `config`: tells a caller that left it out from one that passed None."""

NO_EVENTS: Final = GetSessionConfig(num_recent_events=0)
"""Asks for a session and its state alone."""


class BoundedSessions(BaseSessionService):
    """An ADK session service whose cost for a turn does not grow with the history."""

    beside_the_stores: bool = False
    """Whether sessions are in the database of the stores, and closed with them."""

    @abstractmethod
    async def drop(self, key: SessionKey) -> None:
        """Delete a session and nothing else; the caller holds it."""

    @abstractmethod
    async def base_state(self, key: SessionKey) -> dict[str, Any]:
        """A session's own state before its oldest event; empty when nothing is known of it."""

    @abstractmethod
    async def erase_shared(self, app_name: str, user_id: str) -> None:
        """Delete what the sessions of a user share, and the bytes of those that were dropped."""

    @abstractmethod
    async def close(self) -> None:
        """Disconnect; the service connects again when it is needed."""


async def drop_session(sessions: BaseSessionService, key: SessionKey) -> bool:
    """Delete a session of any service and nothing else; whether there was one.

    The caller holds it.
    """
    found = await sessions.get_session(
        app_name=key.app, user_id=key.user, session_id=key.session, config=NO_EVENTS
    )
    if found is None:
        return False
    if isinstance(sessions, BoundedSessions):
        await sessions.drop(key)
    else:
        await sessions.delete_session(app_name=key.app, user_id=key.user, session_id=key.session)
    return True


async def erase_shared(sessions: BaseSessionService, tenant: Tenant) -> None:
    """Delete what the sessions of a user share, in our services and in ADK's own in memory.

    ADK has no call for it, so another service keeps its `user:` state. Raises StoreError.
    """
    if isinstance(sessions, BoundedSessions):
        await sessions.erase_shared(*tenant)
    elif isinstance(sessions, InMemorySessionService):
        sessions.user_state.get(tenant.app, {}).pop(tenant.user, None)


@contextmanager
def left_to_the_next_turn(key: SessionKey) -> Iterator[None]:
    """Bear that the playbook cannot be shown in session.state: the turn has it from its store."""
    try:
        yield
    except StoreError as error:
        _log.warning("playbook_not_shown app=%s session=%s: %s", key.app, key.session, error)


def only_here(_key: SessionKey) -> AbstractAsyncContextManager[None]:
    """A Forget of a service that is used without other stores."""
    return nullcontext()


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

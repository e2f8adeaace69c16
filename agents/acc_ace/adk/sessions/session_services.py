"""Operations on any ADK session service, ours or another."""

from abc import abstractmethod
from typing import Final

from google.adk.sessions import BaseSessionService, InMemorySessionService
from google.adk.sessions.base_session_service import GetSessionConfig

from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.turn.ports import EventBuffer
from acc_ace.unit_of_work import Database

NO_EVENTS: Final = GetSessionConfig(num_recent_events=0)
"""Loads a session and its state alone."""


class StoredSessions(BaseSessionService):
    """Sessions in a database that may be that of the stores. Raises StoreError."""

    database: Database

    @abstractmethod
    def bound(self, app: str) -> None:
        """Note that the turns of an app have bounded memory: they need few events."""

    @abstractmethod
    def hold(self, key: SessionKey, invocation_id: str) -> EventBuffer:
        """Buffer what an invocation appends, until its turn is written or discarded."""

    @abstractmethod
    async def updated_at(self, key: SessionKey) -> float | None:
        """When a session was changed last; None for one that does not exist."""

    @abstractmethod
    async def drop(self, key: SessionKey) -> None:
        """Delete a session and nothing else; the caller holds it."""

    @abstractmethod
    async def erase_shared(self, tenant: Tenant) -> None:
        """Delete the state shared by a user's sessions, and wipe the bytes of dropped sessions."""


def is_beside(sessions: BaseSessionService, database: Database) -> bool:
    """Whether a service keeps sessions in that database: one transaction deletes them too."""
    return isinstance(sessions, StoredSessions) and sessions.database is database


async def drop_session(sessions: BaseSessionService, key: SessionKey) -> bool:
    """Delete a session of any service and nothing else; return whether it existed.

    The caller holds it.
    """
    session = await sessions.get_session(
        app_name=key.app, user_id=key.user, session_id=key.session, config=NO_EVENTS
    )
    if session is None:
        return False
    if isinstance(sessions, StoredSessions):
        await sessions.drop(key)
    else:
        await sessions.delete_session(app_name=key.app, user_id=key.user, session_id=key.session)
    return True


async def erase_shared(sessions: BaseSessionService, tenant: Tenant) -> None:
    """Delete the state that a user's sessions share, in our service and ADK's in-memory one.

    ADK has no call for it, so other services keep their `user:` state. Raises StoreError.
    """
    if isinstance(sessions, StoredSessions):
        await sessions.erase_shared(tenant)
    elif isinstance(sessions, InMemorySessionService):
        sessions.user_state.get(tenant.app, {}).pop(tenant.user, None)

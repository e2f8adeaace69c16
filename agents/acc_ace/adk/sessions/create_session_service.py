"""Open the ADK session service that belongs to the stores, over their database or its own."""

from functools import partial
from pathlib import Path
from typing import Any

from acc_ace.adk.sessions.event_retention import Offload, Retention
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.adk.sessions.stored_state import Projection
from acc_ace.config import Settings
from acc_ace.container import Container
from acc_ace.core.schemas.base import OWN_APP, PlaybookScope, SessionKey
from acc_ace.core.schemas.state import CCS, PLAYBOOK
from acc_ace.turn.event_offload import offload_events
from acc_ace.turn.session_changes import forget_session
from acc_ace.unit_of_work import Database


def open_session_service(
    container: Container, *, forgets: bool = False, directory: Path | None = None
) -> SqlSessionService:
    """Sessions in the database of the stores, or in a separate one in `directory`.

    With `forgets`, deleting a session also deletes its data in the stores: it waits for a running
    turn, then raises SessionBusyError with nothing deleted. Does no I/O.
    """
    own: Database | None = None
    if directory is not None:
        from acc_ace.storage.sqlite.database import (  # noqa: PLC0415 - of SQLite
            DATABASE_FILE,
            SqliteDatabase,
        )

        wait_s = container.settings.limits.turn_wait_s
        own = SqliteDatabase(directory / DATABASE_FILE, busy_timeout_s=wait_s)
    return SqlSessionService(
        own or container.database,
        recent_events=container.settings.recent_events,
        retention=_retention(container.settings, partial(offload_events, container)),
        on_delete=partial(forget_session, container) if forgets else None,
        owns_database=own is not None,
        projection=_projection(container),
        has_tokens=bool(container.settings.auth_tokens),
        masks_secrets=container.settings.mask_secrets,
    )


def _retention(settings: Settings, offload: Offload) -> Retention:
    kind = settings.session_events
    if kind == "keep":
        return Retention()
    return Retention(settings.session_turns, offload if kind == "offload" else None)


def _projection(container: Container) -> Projection:
    """Reads CCS_t, and an app's playbook but where users have their own, unseen by others."""
    shows_playbook = container.settings.playbook_scope == "app"

    async def read(key: SessionKey) -> dict[str, Any]:
        head = await container.journal.head(key)
        state: dict[str, Any] = {} if head is None else {CCS: head.state.to_state()}
        if shows_playbook:
            stored = await container.playbooks.load(PlaybookScope(key.app))
            if stored.version or key.app == OWN_APP:
                state[PLAYBOOK] = stored.to_state()
        return state

    return read

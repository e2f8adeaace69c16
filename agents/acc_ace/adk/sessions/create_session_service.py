"""Open the ADK session service of this product's own runner, over the stores' database."""

from collections.abc import Callable, Sequence
from pathlib import Path

from acc_ace.adk.sessions.event_retention import Offload, Retention
from acc_ace.adk.sessions.sql_sessions import Forget, SqlSessionService
from acc_ace.config import Settings
from acc_ace.container import Container
from acc_ace.schemas.base import SessionKey
from acc_ace.schemas.session import PastTurn
from acc_ace.storage.sql_database import Database
from acc_ace.storage.sqlite.database import DATABASE_FILE, SqliteDatabase
from acc_ace.turn.event_offload import offload_events


def open_sessions(
    settings: Settings,
    database: Callable[[], Database],
    *,
    offload: Offload,
    on_delete: Forget | None = None,
    directory: Path | None = None,
) -> SqlSessionService:
    """Sessions in the database of the stores, or in one of their own in `directory`.

    `offload` takes old events if the settings ask for that. Does no I/O.
    """
    return SqlSessionService(
        database() if directory is None else SqliteDatabase(directory / DATABASE_FILE),
        recent_events=settings.recent_events,
        retention=_retention(settings, offload),
        on_delete=on_delete,
        owns_database=directory is not None,
    )


def _retention(settings: Settings, offload: Offload) -> Retention:
    match settings.session_events:
        case "keep":
            return Retention()
        case "trim":
            return Retention(settings.session_turns)
        case "offload":
            return Retention(settings.session_turns, offload)


def open_session_service(container: Container) -> SqlSessionService:
    """Sessions in the database of the stores."""

    async def offload(key: SessionKey, turns: Sequence[PastTurn]) -> None:
        await offload_events(container, key, turns)

    return open_sessions(container.settings, lambda: container.database, offload=offload)

"""Open the ADK session service that goes with the stores."""

from pathlib import Path

from config import Settings
from core.adapters.adk_session import IN_MEMORY, SESSIONS_FILE, BoundedSessionService
from core.adapters.bounded_sessions import BoundedSessions, Forget
from core.ports.journal import Journal


def open_sessions(
    settings: Settings, journal: Journal, *, on_delete: Forget | None = None
) -> BoundedSessions:
    """Sessions where the journal is: the same PostgreSQL, a file beside it, or memory."""
    if settings.store == "postgres":
        # The driver is an optional extra.
        from core.adapters.postgres_journal import PostgresJournal  # noqa: PLC0415
        from core.adapters.postgres_sessions import PostgresSessionService  # noqa: PLC0415

        if isinstance(journal, PostgresJournal):
            # One database object, so that sessions and stores share one budget of connections.
            return PostgresSessionService(journal.database, on_delete=on_delete)
    path = IN_MEMORY if settings.store == "memory" else settings.data_dir / SESSIONS_FILE
    return BoundedSessionService(Path(path), on_delete=on_delete)

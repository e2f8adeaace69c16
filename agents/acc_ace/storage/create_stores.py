"""Open the stores that the settings ask for."""

from collections.abc import Mapping

from acc_ace.clock import Clock
from acc_ace.config import Settings
from acc_ace.memory.artifact_store import Embedder
from acc_ace.storage.create_playbook_files import open_playbook_files
from acc_ace.storage.local_lock import FileSessionLock, InProcessSessionLock
from acc_ace.storage.prompt_history import PromptHistory
from acc_ace.storage.sql_dense import SqlDense
from acc_ace.storage.sql_erasure import Files
from acc_ace.storage.sqlite.artifact_rows import SqliteArtifactRows
from acc_ace.storage.sqlite.artifact_writes import SqliteArtifactIndex
from acc_ace.storage.sqlite.database import DATABASE_FILE, IN_MEMORY, SqliteDatabase
from acc_ace.storage.stores import SqlStores, Stores
from acc_ace.turn.ports import UserFiles

LOCKS = "locks"
"""The directory of the locks of sessions, in the data directory."""

__all__ = ["Stores", "open_stores", "sqlite_dense"]


def open_stores(
    settings: Settings,
    clock: Clock,
    embedder: Embedder | None = None,
    *,
    files: UserFiles | None = None,
) -> Stores:
    """The stores of `settings.store`. Needs no event loop and does no I/O before first use.

    With an embedder artifacts are found by meaning too; the caller closes it after the stores.
    `files` of users are deleted with their sessions, and erased with them.
    Raises ConfigError when PostgreSQL is asked for and its URL or driver is missing.
    """
    beside = _files_beside(settings, files)
    match settings.store:
        case "memory":
            return _in_memory(settings, clock, embedder, beside)
        case "sqlite":
            return _in_file(settings, clock, embedder, beside)
        case "postgres":
            # The driver is an optional extra.
            from acc_ace.storage.create_postgres import open_postgres_stores  # noqa: PLC0415

            return open_postgres_stores(settings, clock, embedder, files=beside)


def _files_beside(settings: Settings, files: UserFiles | None) -> dict[str, Files]:
    """What is erased with a user beside the rows, by what a report calls it."""
    beside: dict[str, Files] = {} if files is None else {"files": files}
    return {**beside, "history_files": PromptHistory(settings.data_dir)}


def _in_memory(
    settings: Settings, clock: Clock, embedder: Embedder | None, files: Mapping[str, Files]
) -> Stores:
    """A SQLite database that nobody else sees, and that is gone when it is closed."""
    database = SqliteDatabase(IN_MEMORY)
    dense = sqlite_dense(database, embedder, memory_mb=settings.embedder.memory_mb)
    stores = SqlStores.over(
        database,
        SqliteArtifactIndex(),
        dense,
        weights=settings.recall,
        clock=clock,
        follower=None,
    )
    return stores.completed(InProcessSessionLock(), files=files)


def _in_file(
    settings: Settings, clock: Clock, embedder: Embedder | None, files: Mapping[str, Files]
) -> Stores:
    database = SqliteDatabase(settings.data_dir / DATABASE_FILE)
    follower = open_playbook_files(settings)
    dense = sqlite_dense(database, embedder, memory_mb=settings.embedder.memory_mb)
    stores = SqlStores.over(
        database,
        SqliteArtifactIndex(),
        dense,
        weights=settings.recall,
        clock=clock,
        follower=follower,
    )
    return stores.completed(
        FileSessionLock(settings.data_dir / LOCKS),
        files=files,
        wipe=database.wipe,
    )


def sqlite_dense(
    database: SqliteDatabase, embedder: Embedder | None, *, memory_mb: int
) -> SqlDense[SqliteArtifactRows] | None:
    """The vectors beside the words of a SQLite database, where there is an embedder."""
    if embedder is None:
        return None
    # Needs numpy, an optional extra.
    from acc_ace.storage.sqlite.dense_index import SqliteDense  # noqa: PLC0415

    return SqliteDense(database, embedder, memory_bytes=memory_mb * 1_000_000)

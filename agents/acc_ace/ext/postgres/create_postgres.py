"""Open the stores in PostgreSQL. Imported on demand: the driver is an optional extra."""

from collections.abc import Mapping

from acc_ace.clock import Clock
from acc_ace.config import Settings
from acc_ace.errors import ConfigError
from acc_ace.hooks import how_to_install
from acc_ace.memory.artifact_store import Embedder
from acc_ace.storage.create_stores import SqlStores, Stores, open_playbook_files
from acc_ace.storage.dense_search import DenseSearch
from acc_ace.storage.sql_erasure import Files

try:
    from acc_ace.ext.postgres.artifact_rows import PostgresArtifactRows
    from acc_ace.ext.postgres.artifact_writes import PostgresArtifactIndex
    from acc_ace.ext.postgres.database import PostgresDatabase
    from acc_ace.ext.postgres.session_locks import PostgresSessionLock
except ImportError as error:
    raise ConfigError(
        f"ACC_ACE_STORE=postgres needs the extra 'postgres'; {how_to_install('postgres')} ({error})"
    ) from error


def open_postgres_stores(
    settings: Settings,
    clock: Clock,
    embedder: Embedder | None = None,
    *,
    files: Mapping[str, Files],
) -> Stores:
    """The stores in the database of the settings. Does no I/O before first use.

    An embedder enables semantic search, for which the server needs pgvector.

    Raises ConfigError when the URL is missing or invalid.
    """
    database = open_database(settings)
    lock = PostgresSessionLock(database)
    follower = open_playbook_files(settings)
    stores = SqlStores.over(
        database,
        PostgresArtifactIndex(),
        _dense(database, embedder),
        weights=settings.recall,
        clock=clock,
        follower=follower,
    )
    return stores.completed(
        lock,
        files=files,
        close_lock=lock.close,
    )


def _dense(
    database: PostgresDatabase, embedder: Embedder | None
) -> DenseSearch[PostgresArtifactRows] | None:
    if embedder is None:
        return None
    # Needs the extension of the embedder.
    from acc_ace.ext.postgres.dense_index import PostgresDense  # noqa: PLC0415

    return PostgresDense(database, embedder)


def open_database(settings: Settings) -> PostgresDatabase:
    """The database of the settings, not yet connected; raises ConfigError."""
    if settings.database_url is None:
        raise ConfigError(
            "ACC_ACE_STORE=postgres needs ACC_ACE_DATABASE_URL: "
            "postgresql://user:password@host:5432/database"
        )
    return PostgresDatabase(
        settings.database_url.get_secret_value(),
        connections=settings.database_connections,
        wait_s=settings.database_wait_s,
        vectors=bool(settings.embedder.model),
    )

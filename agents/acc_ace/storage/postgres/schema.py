"""Make our schema in a PostgreSQL database, whoever else is doing so."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from acc_ace.errors import StoreError
from acc_ace.storage.postgres.connection import is_lost
from acc_ace.storage.sql_database import VERSION, baseline, check_version

SCHEMA = "acc_ace"
"""Everything of ours is in this schema, so that a database can be shared with other programs."""

OLDEST_SERVER = 130_000

OLDEST_PGVECTOR = (0, 8)
"""The first that goes on through its index until enough rows are one tenant's."""

_MIGRATION_LOCK = 0x_ACC_ACE
"""Advisory lock of those who migrate; those of sessions are 64-bit hashes."""

SESSION = f"""
    SET search_path = {SCHEMA};
    SET timezone = 'UTC';
    SET lock_timeout = '10s';
    SET idle_in_transaction_session_timeout = '60s';
    SET tcp_keepalives_idle = 10;
    SET tcp_keepalives_interval = 5;
    SET tcp_keepalives_count = 3;
    SELECT set_config('synchronous_commit', 'on', false)
     WHERE current_setting('synchronous_commit') = 'off'
"""
"""Nobody blocks others for ever, and a client machine that vanished is noticed in 25 s.

A commit is on disk before its answer is shown, also where the server's default would not wait.
How long a statement may take is set on each connection."""

_PATIENT = "SET lock_timeout = 0"

Connection = psycopg.Connection[tuple[Any, ...]]


def check_server(connection: Connection, server: str) -> None:
    """Raise StoreError for a server that is too old, or does not store every character."""
    version = connection.info.server_version
    if version < OLDEST_SERVER:
        raise StoreError(
            f"{server} runs version {version // 10_000}; version {OLDEST_SERVER // 10_000} or "
            "newer is needed"
        )
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(
            f"{server} stores text as {encoding}; create the database with ENCODING 'UTF8'"
        )


def migrate(connection: Connection, server: str) -> None:
    """Make our schema where there is none, in one transaction; StoreError for another version.

    An advisory lock lets one program work at a time; the others then find nothing to do.
    """
    if _version(connection) == VERSION:
        return
    # Whoever waits here must not have started: a transaction may not see the schema that another
    # one made after it began.
    with _alone(connection), connection.transaction():
        _create(connection, server)


def require_vectors(connection: Connection, server: str) -> None:
    """Make sure that pgvector can be used; raises StoreError that says what to do."""
    version = _pgvector(connection)
    if version is None:
        # Two that create it at once fail, in spite of IF NOT EXISTS.
        with _alone(connection):
            _create_pgvector(connection, server)
        version = _pgvector(connection)
    if tuple(map(int, str(version).split(".")[:2])) < OLDEST_PGVECTOR:
        raise StoreError(
            f"{server} has pgvector {version}; 0.8 or newer is needed: install it and run "
            "ALTER EXTENSION vector UPDATE"
        )


def vector_path(connection: Connection) -> None:
    """Make pgvector's types known in this transaction, whichever schema they are in."""
    connection.execute(
        "SELECT set_config('search_path', %s || ', ' || quote_ident(nspname), true) "
        "FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace "
        "WHERE extname = 'vector'",
        (SCHEMA,),
    )


@contextmanager
def _alone(connection: Connection) -> Iterator[None]:
    """Wait until no other program changes the schema, and keep them waiting meanwhile."""
    connection.execute(_PATIENT.encode())
    connection.execute("SELECT pg_advisory_lock(%s)", (_MIGRATION_LOCK,))
    try:
        yield
    finally:
        if not connection.closed:
            connection.execute("SELECT pg_advisory_unlock(%s)", (_MIGRATION_LOCK,))
            connection.execute(SESSION.encode())


def _create_pgvector(connection: Connection, server: str) -> None:
    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except psycopg.Error as error:
        if is_lost(error):
            raise
        raise StoreError(
            f"{server} cannot search vectors, as an embedder needs ({_first_line(error)}); install "
            "pgvector there and let its owner run CREATE EXTENSION vector, or unset "
            "ACC_ACE_EMBEDDER__MODEL"
        ) from error


def _pgvector(connection: Connection) -> str | None:
    """The version of pgvector that this database has."""
    (version,) = _one(connection, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    return None if version is None else str(version)


def _first_line(error: psycopg.Error) -> str:
    return str(error).partition("\n")[0]


def _create(connection: Connection, server: str) -> None:
    found = _version(connection)
    if found:
        check_version(found, server, "ACC_ACE_DATABASE_URL")
        return
    _make_schema(connection, server)
    connection.execute(baseline("postgres").encode())
    connection.execute("CREATE TABLE migrations (version integer PRIMARY KEY)")
    connection.execute("INSERT INTO migrations (version) VALUES (%s)", (VERSION,))


def _make_schema(connection: Connection, server: str) -> None:
    """Make the schema if it is missing: the right to do so is asked for even when it is there."""
    (schema,) = _one(connection, f"SELECT to_regnamespace('{SCHEMA}')")
    if schema is not None:
        return
    try:
        connection.execute(f"CREATE SCHEMA {SCHEMA}".encode())
    except psycopg.errors.InsufficientPrivilege as error:
        user, database = connection.info.user, connection.info.dbname
        raise StoreError(
            f"{server} does not let the user make the schema {SCHEMA} ({_first_line(error)}); let "
            f'the owner of the database run CREATE SCHEMA {SCHEMA} AUTHORIZATION "{user}", or '
            f'GRANT CREATE ON DATABASE "{database}" TO "{user}"'
        ) from error


def _version(connection: Connection) -> int:
    """The version of our schema; 0 in a database that has none yet."""
    (table,) = _one(connection, f"SELECT to_regclass('{SCHEMA}.migrations')")
    if table is None:
        return 0
    (version,) = _one(connection, "SELECT coalesce(max(version), 0) FROM migrations")
    return int(version)


def _one(connection: Connection, query: str) -> tuple[Any, ...]:
    row = connection.execute(query.encode()).fetchone()
    return row or (None,)

"""Create our schema in a PostgreSQL database, safe against concurrent migrations."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from acc_ace.errors import StoreError
from acc_ace.ext.postgres.connection import is_lost
from acc_ace.storage.sql_database import VERSION, baseline, check_version, upgrades

SCHEMA = "acc_ace"
"""All our tables are in this schema, so that other programs can share the database."""

OLDEST_SERVER = 130_000

OLDEST_PGVECTOR = (0, 8)
"""The first version with iterative index scans, which filtering by tenant needs."""

_MIGRATION_LOCK = 0x_ACC_ACE
"""Advisory lock key of migrations; session locks use 64-bit hashes."""

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
"""Locks and idle transactions time out; a vanished client machine is detected within 25 s.

A commit is durable before its answer is shown, even if the server's default is asynchronous.
The statement timeout is set per connection."""

_PATIENT = "SET lock_timeout = 0"

Connection = psycopg.Connection[tuple[Any, ...]]


def check_server(connection: Connection, server: str) -> None:
    """Raise StoreError for a server that is too old or whose encoding is not UTF-8."""
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
    """Create or upgrade our schema, in one transaction; StoreError where it cannot be.

    An advisory lock serialises programs; later ones find the schema in place.
    """
    if _version(connection) == VERSION:
        return
    # Lock before the transaction starts: its snapshot must include a schema that another program
    # created meanwhile.
    with _migration(connection), connection.transaction():
        _create(connection, server)


def require_vectors(connection: Connection, server: str) -> None:
    """Make sure that pgvector is usable; raises a StoreError that names the fix."""
    version = _pgvector(connection)
    if version is None:
        # Concurrent creation fails in spite of IF NOT EXISTS.
        with _migration(connection):
            _create_pgvector(connection, server)
        version = _pgvector(connection)
    if tuple(map(int, str(version).split(".")[:2])) < OLDEST_PGVECTOR:
        raise StoreError(
            f"{server} has pgvector {version}; 0.8 or newer is needed: install it and run "
            "ALTER EXTENSION vector UPDATE"
        )


def vector_path(connection: Connection) -> None:
    """Add pgvector's schema to the search path of this transaction."""
    connection.execute(
        "SELECT set_config('search_path', %s || ', ' || quote_ident(nspname), true) "
        "FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace "
        "WHERE extname = 'vector'",
        (SCHEMA,),
    )


@contextmanager
def _migration(connection: Connection) -> Iterator[None]:
    """Hold the migration lock."""
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
    """The version of pgvector in this database, or None."""
    (version,) = _one(connection, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    return None if version is None else str(version)


def _first_line(error: psycopg.Error) -> str:
    return str(error).partition("\n")[0]


def _create(connection: Connection, server: str) -> None:
    version = _version(connection)
    if version:
        check_version(version, server, "ACC_ACE_DATABASE_URL")
        for script in upgrades(version):
            connection.execute(script.encode())
        connection.execute("UPDATE migrations SET version = %s", (VERSION,))
        return
    _create_schema(connection, server)
    connection.execute(baseline("postgres").encode())
    connection.execute("CREATE TABLE migrations (version integer PRIMARY KEY)")
    connection.execute("INSERT INTO migrations (version) VALUES (%s)", (VERSION,))


def _create_schema(connection: Connection, server: str) -> None:
    """Create the schema if missing; CREATE IF NOT EXISTS would always need the privilege."""
    (schema,) = _one(connection, f"SELECT to_regnamespace('{SCHEMA}')")
    if schema is not None:
        return
    try:
        connection.execute(f"CREATE SCHEMA {SCHEMA}".encode())
    except psycopg.errors.InsufficientPrivilege as error:
        user, database = connection.info.user, connection.info.dbname
        raise StoreError(
            f"{server}: the user may not create the schema {SCHEMA} ({_first_line(error)}); let "
            f'the owner of the database run CREATE SCHEMA {SCHEMA} AUTHORIZATION "{user}", or '
            f'GRANT CREATE ON DATABASE "{database}" TO "{user}"'
        ) from error


def _version(connection: Connection) -> int:
    """The version of our schema; 0 in a database without it."""
    (table,) = _one(connection, f"SELECT to_regclass('{SCHEMA}.migrations')")
    if table is None:
        return 0
    (version,) = _one(connection, "SELECT coalesce(max(version), 0) FROM migrations")
    return int(version)


def _one(connection: Connection, query: str) -> tuple[Any, ...]:
    row = connection.execute(query.encode()).fetchone()
    return row or (None,)

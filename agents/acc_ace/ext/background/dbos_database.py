"""DBOS's database: its location, its serialiser and the translation of its errors.

Imported only with background learning: DBOS is an extra, and importing it takes half a second.
"""

import json
import logging
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from dbos import DBOS, DBOSClient
from dbos import Serializer as DbosSerializer
from dbos import error as dbos_error
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from acc_ace.config import Settings
from acc_ace.errors import AccAceError, ConfigError, StoreError
from acc_ace.ext.background.dbos_connections import BoundedClient, bounded_engine
from acc_ace.ext.postgres.connection import SilentError, network, with_encoded_query
from acc_ace.storage.private_files import make_directory
from acc_ace.storage.sqlite.wal_checkpoint import PATIENTLY_S, PAUSE_S, still_read, try_scrub

T = TypeVar("T")

APP = "acc-ace"
"""DBOS's name of the application that owns the rows."""

SCHEMA = "acc_ace_jobs"
"""PostgreSQL schema of its tables."""

JOBS_FILE = "jobs.db"

_ERROR = "error"
_BUSY_S = 30.0

CONNECTIONS = 2
"""Connections of a process's queue; its worker has more."""

_SHORTEST_WAIT_S = 5.0
"""A busy server may take that long to create the tables."""


@dataclass(frozen=True)
class DbosDatabase:
    """A database of DBOS's tables: a SQLite file, or a schema in PostgreSQL."""

    url: str
    name: str
    """For messages; holds no password."""
    file: Path | None = None
    server: str | None = None
    """The server's URL for its driver; None for a file."""
    wait_s: float | None = None
    """Time limit for a reply of the server, in seconds; None for a file, which has none."""

    def exists(self) -> bool:
        """Whether the tables exist. Blocks, and creates nothing. Raises StoreError."""
        server = self.server
        if server is None:
            return self.file is not None and self.file.exists()
        return self.run(lambda: _has_schema(server, self.wait_s or 0.0))

    def migrate(self) -> None:
        """Create or update the tables. Blocks. Raises StoreError."""
        if self.file is not None:
            make_directory(self.file.parent)
            self._each("PRAGMA journal_mode = WAL")
        self.run(lambda: DBOS.migrate(self.url, schema=SCHEMA))

    def client(self) -> DBOSClient:
        """A client that does not retry an unavailable server. Blocks. Raises StoreError."""
        options: dict[str, Any] = {
            "dbos_system_schema": SCHEMA,
            "serializer": JsonSerializer(),
            "application_name": APP,
            "retry_connection_errors": False,
        }
        engine = self.engine(CONNECTIONS)
        if engine is not None:
            return self.run(lambda: BoundedClient(engine, **options))
        return self.run(
            lambda: DBOSClient(
                system_database_url=self.url, system_database_pool_size=CONNECTIONS, **options
            )
        )

    def engine(self, connections: int) -> Engine | None:
        """A pool for the server, which the caller disposes of; None for a file: DBOS opens it."""
        if self.server is None or self.wait_s is None:
            return None
        return bounded_engine(
            self.url,
            self.server,
            connections=connections,
            # Half of it, which leaves time for a reconnect.
            longest_s=self.wait_s / 2,
            network=network(self.wait_s),
        )

    def run(self, work: Callable[[], T]) -> T:
        """Run `work`; database errors become a StoreError that names the database."""
        try:
            return work()
        except (
            SQLAlchemyError,
            sqlite3.Error,
            psycopg.Error,
            dbos_error.DBOSException,
        ) as error:
            cause = getattr(error, "orig", None) or error
            reason = str(cause).strip().partition("\n")[0]
            if isinstance(cause, SilentError):
                reason += " (ACC_ACE_DATABASE_WAIT_S is how long to try)"
            raise self.away(reason) from error

    def away(self, reason: str) -> StoreError:
        """The StoreError for an unreachable database, with the reason."""
        return StoreError(
            f"the jobs of background learning in {self.name} cannot be reached: {reason}; "
            "turns continue; stored jobs run when it is available again"
        )

    def scrub(self) -> None:
        """VACUUM a SQLite file and checkpoint its WAL, so that no deleted text remains. Blocks.

        Idempotent. Raises StoreError, also when another program reads the WAL for too long.
        """
        if self.file is not None and self.file.exists():
            self._each("VACUUM")
            if not self.run(self._empty_log):
                raise still_read(self.file)

    def _empty_log(self) -> bool:
        deadline = time.monotonic() + PATIENTLY_S
        with closing(self._connect()) as connection:
            while not (empty := try_scrub(connection)) and time.monotonic() < deadline:
                time.sleep(PAUSE_S)
        return empty

    def _each(self, *statements: str) -> None:
        def work() -> None:
            with closing(self._connect()) as connection:
                for statement in statements:
                    connection.execute(statement).fetchall()

        self.run(work)

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(str(self.file), timeout=_BUSY_S)


class JsonSerializer(DbosSerializer):
    """Writes JSON where DBOS would pickle: readable, and never executed."""

    def serialize(self, data: object) -> str:
        """JSON of a value; of an exception, its name and message."""
        if isinstance(data, BaseException):
            data = {_ERROR: [type(data).__name__, str(data)[:500]]}
        return json.dumps(data, ensure_ascii=True)

    def deserialize(self, serialized_data: str) -> object:
        """The value, or a StoredError with the stored name and message."""
        value = json.loads(serialized_data)
        if isinstance(value, dict) and set(value) == {_ERROR}:
            name, message = value[_ERROR]
            return StoredError(f"{name}: {message}")
        return value

    def name(self) -> str:
        """The serialiser's name in DBOS's rows."""
        return "acc_ace_json"


class StoredError(Exception):
    """The error of an earlier run of a job, read from its row."""


def dbos_database(settings: Settings) -> DbosDatabase:
    """DBOS's database beside the stores. Does no I/O.

    Raises ConfigError when the store cannot hold jobs.
    """
    if settings.store == "memory":
        raise ConfigError(
            "ACC_ACE_LEARNING=background stores jobs, which ACC_ACE_STORE=memory cannot: "
            "use sqlite or postgres, or ACC_ACE_LEARNING=inline"
        )
    if settings.store == "postgres":
        return _in_postgres(settings)
    file = (settings.data_dir / JOBS_FILE).resolve()
    return DbosDatabase(
        URL.create("sqlite", database=str(file)).render_as_string(), str(file), file
    )


def _in_postgres(settings: Settings) -> DbosDatabase:
    if settings.database_url is None:
        raise ConfigError("ACC_ACE_STORE=postgres needs ACC_ACE_DATABASE_URL")
    given = settings.database_url.get_secret_value()
    try:
        url = make_url(with_encoded_query(given))
    except ArgumentError as error:
        raise ConfigError(
            "ACC_ACE_LEARNING=background needs ACC_ACE_DATABASE_URL as a URL: "
            "postgresql://user:password@host:5432/database"
        ) from error
    named = f"schema {SCHEMA} of database {url.database} at {url.host or 'the default host'}"
    wait_s = settings.database_wait_s
    # DBOS's own connections, which create the tables, get the same time limits.
    url = url.update_query_dict({name: str(value) for name, value in network(wait_s).items()})
    text = url.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
    return DbosDatabase(text, named, server=given, wait_s=max(wait_s, _SHORTEST_WAIT_S))


def _has_schema(server: str, wait_s: float) -> bool:
    with psycopg.connect(server, **network(wait_s)) as connection:
        row = connection.execute("SELECT to_regnamespace(%s)", (SCHEMA,)).fetchone()
    return bool(row and row[0])


def quiet_dbos() -> None:
    """Route DBOS's records to the log of the process, without the errors that we report."""
    log = logging.getLogger("dbos")
    if not log.handlers:  # Else it would print to stderr by itself.
        log.addHandler(logging.NullHandler())
    if not any(isinstance(known, OwnErrorsOut) for known in log.filters):
        log.addFilter(OwnErrorsOut())


class OwnErrorsOut(logging.Filter):
    """Drops job failures from DBOS's log: we log each of them in one line."""

    def filter(self, record: logging.LogRecord) -> bool:
        """False for records about our own errors, retries and erased jobs."""
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, _REPORTED) and _SHUT_DOWN not in str(error)


_SHUT_DOWN = "cannot schedule new futures after shutdown"
"""Error of a job that DBOS dequeues while it stops; the job is requeued."""

_REPORTED = (
    AccAceError,
    dbos_error.DBOSMaxStepRetriesExceeded,
    dbos_error.DBOSNonExistentWorkflowError,
)

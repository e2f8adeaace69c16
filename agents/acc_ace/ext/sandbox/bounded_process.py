"""Run a child process within bounds: its seconds, its bytes, and no child of it left behind.

What it prints is read while it runs and never beyond the bound, so that memory stays bounded.
"""

import asyncio
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import IO, Final, Literal, NamedTuple

from acc_ace.core.text.redaction import redact

_LOOK_S: Final = 0.05
"""Seconds between two looks at whether a process has ended, or should."""

_PIECE: Final = 65_536
_TAIL: Final = 300


class Bounds(NamedTuple):
    """What a process may take."""

    seconds: float
    most_bytes: int
    """Of standard output and error output together."""


@dataclass(frozen=True)
class Job:
    """A command, and all that it is given."""

    command: Sequence[str]
    stdin: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    files: tuple[int, ...] = ()
    """Descriptors that it inherits."""
    user: int | None = None
    """The user and group that it runs as; None = those of this process."""


class Exit(NamedTuple):
    """How a process ended."""

    code: int
    stdout: bytes
    stderr: bytes
    killed_for: Literal["", "seconds", "bytes", "cancel"] = ""
    """Why it was killed; '' when it ended by itself."""

    @property
    def complaint(self) -> str:
        """The end of what it said, for an error: one line, without secrets."""
        text = (self.stderr.strip() or self.stdout.strip()).decode("utf-8", "replace")
        return redact(" ".join(text.split()))[-_TAIL:]


async def run_job(job: Job, bounds: Bounds) -> Exit:
    """Run it in a thread. A caller that is cancelled goes on when the process is gone.

    Raises OSError for a command that cannot be started.
    """
    cancel = Event()
    running = asyncio.ensure_future(asyncio.to_thread(run, job, bounds, cancel))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        cancel.set()
        await asyncio.wait([running])
        raise


def run(job: Job, bounds: Bounds, cancel: Event | None = None) -> Exit:
    """Run it to its end, or until a bound; its process group is killed in any case."""
    with subprocess.Popen(  # noqa: S603 - no shell; the callers choose the command
        job.command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(job.env),
        cwd=job.cwd,
        pass_fds=job.files,
        bufsize=0,
        start_new_session=True,
        user=job.user,
        group=job.user,
        extra_groups=None if job.user is None else (),
    ) as process:
        pipes = _Pipes(process, job.stdin, bounds.most_bytes)
        try:
            killed_for = _watch(process, pipes, bounds, cancel or Event())
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            pipes.close()
    return Exit(process.returncode, bytes(pipes.stdout), bytes(pipes.stderr), killed_for)


def _watch(
    process: subprocess.Popen[bytes], pipes: "_Pipes", bounds: Bounds, cancel: Event
) -> Literal["", "seconds", "bytes", "cancel"]:
    until = time.monotonic() + bounds.seconds
    while not pipes.is_full:
        has_ended = process.poll() is not None
        # A child that holds the pipes open is not waited for.
        moved = pipes.move(0 if has_ended else _LOOK_S)
        if has_ended and not moved:
            return ""
        if cancel.is_set():
            return "cancel"
        if time.monotonic() >= until:
            return "seconds"
    return "bytes"


class _Pipes:
    """The three pipes of a process, moved as far as they can be without waiting."""

    def __init__(self, process: subprocess.Popen[bytes], stdin: bytes, most_bytes: int) -> None:
        self.stdout, self.stderr = bytearray(), bytearray()
        self._unwritten, self._most = memoryview(stdin), most_bytes
        self._selector = selectors.DefaultSelector()
        into = {process.stdin: None, process.stdout: self.stdout, process.stderr: self.stderr}
        for pipe, buffer in into.items():
            if pipe is not None:
                os.set_blocking(pipe.fileno(), False)
                way = selectors.EVENT_WRITE if buffer is None else selectors.EVENT_READ
                self._selector.register(pipe, way, buffer)

    @property
    def is_full(self) -> bool:
        """Whether it has printed more than it may."""
        return len(self.stdout) + len(self.stderr) > self._most

    def move(self, seconds: float) -> bool:
        """Write and read what can be, waiting that long for it; says whether anything was read."""
        was = len(self.stdout) + len(self.stderr)
        if not self._selector.get_map():
            time.sleep(seconds)
        for key, _ in self._selector.select(seconds):
            pipe: IO[bytes] = key.fileobj  # type: ignore[assignment] # What was registered.
            if not (self._write(pipe) if key.data is None else self._read(pipe, key.data)):
                self._selector.unregister(pipe)
                pipe.close()
        return len(self.stdout) + len(self.stderr) > was

    def _read(self, pipe: IO[bytes], buffer: bytearray) -> bool:
        piece = os.read(pipe.fileno(), _PIECE)
        buffer += piece
        return bool(piece)

    def _write(self, pipe: IO[bytes]) -> bool:
        try:
            written = os.write(pipe.fileno(), self._unwritten[:_PIECE])
        except BrokenPipeError:
            return False  # It does not want to read more.
        self._unwritten = self._unwritten[written:]
        return bool(self._unwritten)

    def close(self) -> None:
        """Forget the pipes; `Popen` closes those that are still open."""
        self._selector.close()

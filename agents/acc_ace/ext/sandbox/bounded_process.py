"""Run a child process within bounds: its seconds, its bytes, and its process group goes with it.

What it prints is read while it runs and never beyond the bound, so that memory stays bounded. Not
reached: a grandchild that leaves the group by setsid(), and all of it where this process is killed
by SIGKILL. In the sandbox the kernel sees to both.
"""

import asyncio
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from threading import Event
from typing import Final, Literal, NamedTuple, TypeVar

from acc_ace.core.text.redaction import redact

_LOOK_S: Final = 0.05
"""Seconds between two looks at whether a process has ended, or should."""

_PIECE: Final = 65_536
_T = TypeVar("_T")

_THREADS: Final = ThreadPoolExecutor(16, "bounded-process")
"""One for each process; beyond, processes wait."""

Cancel = Callable[[], bool]
"""Whether a process that runs is to be killed."""

KilledFor = Literal["", "seconds", "bytes", "cancel"]


@dataclass(frozen=True)
class Job:
    """A command, what it may take, and all that it is given."""

    command: Sequence[str]
    seconds: float
    most_bytes: int
    """Of standard output and error output together."""

    stdin: bytes = b""
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    files: tuple[int, ...] = ()
    """Descriptors that it inherits."""
    user: int | None = None
    """The user and group that it runs as; None = those of this process."""


class NotStarted(OSError):
    """A command that cannot be started."""


class Exit(NamedTuple):
    """How a process ended."""

    code: int
    stdout: bytes
    stderr: bytes
    killed_for: KilledFor = ""
    """Why it was killed; '' when it ended by itself."""

    @property
    def complaint(self) -> str:
        """The end of what it said, for an error: one line, without secrets."""
        text = (self.stderr.strip() or self.stdout.strip()).decode("utf-8", "replace")
        return redact(" ".join(text.split()))[-300:]


async def run_job(job: Job) -> Exit:
    """Run it in a thread.

    Raises NotStarted for a command that cannot be started, OSError where its end is lost.
    """
    return await in_thread(partial(run, job))


async def in_thread(work: Callable[[Cancel], _T]) -> _T:
    """Let work that waits for a process be done by a thread.

    A caller that is cancelled goes on when the process is gone; work that waits for a thread then
    is not begun any more.
    """
    cancel = Event()
    future = _THREADS.submit(work, cancel.is_set)
    running = asyncio.wrap_future(future)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        cancel.set()
        if not future.cancel():
            await asyncio.wait([running])
        raise


def run(job: Job, cancel: Cancel) -> Exit:
    """Run it to its end, or until a bound; its process group is killed in any case."""
    output = {"stdout": bytearray(), "stderr": bytearray()}
    with (
        file_of(job.stdin) as stdin,
        _started(job, stdin) as process,
        selectors.DefaultSelector() as pipes,
    ):
        for name, buffer in output.items():
            pipes.register(getattr(process, name), selectors.EVENT_READ, buffer)
        try:
            killed_for = _watch(process, pipes, job, cancel)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    stdout, stderr = map(bytes, output.values())
    return Exit(process.returncode, stdout, stderr, killed_for)


def _started(job: Job, stdin: int) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 - no shell; the callers choose the command
            job.command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(job.env),
            cwd=job.cwd,
            pass_fds=job.files,
            start_new_session=True,
            user=job.user,
            group=job.user,
            extra_groups=None if job.user is None else (),
        )
    except OSError as error:
        raise NotStarted(error.errno, error.strerror) from error


def _watch(
    process: subprocess.Popen[bytes], pipes: selectors.BaseSelector, job: Job, cancel: Cancel
) -> KilledFor:
    """Read what it prints until it has ended, or has to."""
    until, left = time.monotonic() + job.seconds, job.most_bytes
    while left >= 0:
        has_ended = process.poll() is not None
        # A child that holds the pipes open is not waited for.
        ready = pipes.select(0 if has_ended else _LOOK_S)
        for key, _ in ready:
            piece = os.read(key.fd, _PIECE)
            key.data.extend(piece)
            left -= len(piece)
            if not piece:
                pipes.unregister(key.fileobj)
        if has_ended and not ready:
            return ""
        if (is_cancelled := cancel()) or time.monotonic() >= until:
            return "cancel" if is_cancelled else "seconds"
    return "bytes"


@contextmanager
def file_of(content: bytes) -> Iterator[int]:
    """A descriptor of a file without a name, to be read from its beginning."""
    with TemporaryFile() as file:
        file.write(content)
        file.seek(0)
        yield file.fileno()

"""The prompt: line input with editing and history, and Ctrl-C handling.

Editing and history need readline. After Ctrl-C the prompt waits until the cancelled turn has
cleaned up.
"""

import asyncio
import importlib
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Any, Self, TextIO, TypeVar

from acc_ace.core.text.redaction import mask_secrets
from acc_ace.storage.private_files import make_private

_PROMPT = "> "

MAX_LINES = 1_000
"""Maximum lines of a history file."""


def read_line(*, prompt_on: TextIO) -> str | None:
    """The next line; '' after Ctrl-C, None after Ctrl-D.

    The prompt is written to `prompt_on`: stderr if a program reads stdout.
    """
    try:
        line = _ask(prompt_on)
    except EOFError:
        print(file=prompt_on)
        return None
    except KeyboardInterrupt:
        print(file=prompt_on)
        return ""
    return line.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _ask(prompt_on: TextIO) -> str:
    if prompt_on is sys.stdout:
        return input(_PROMPT)  # readline must know the prompt to redraw the line.
    print(_PROMPT, end="", file=prompt_on, flush=True)
    return input()


@contextmanager
def line_history(path: Path) -> Iterator[None]:
    """Load the history and save it at the end, in a file that only the owner can read."""
    if find_spec("readline") is None:  # Windows: input() works, without history.
        yield
        return
    readline: Any = importlib.import_module("readline")
    readline.set_history_length(MAX_LINES)
    if path.exists():
        readline.read_history_file(path)
    try:
        yield
    finally:
        make_private(path.parent)
        path.touch(mode=0o600)
        readline.write_history_file(path)
        typed = path.read_text(encoding="utf-8", errors="surrogateescape")
        path.write_text(mask_secrets(typed), encoding="utf-8", errors="surrogateescape")


T = TypeVar("T")

_BLOCKED_S = 3.0
"""Seconds that a loop may take to notice a Ctrl-C; after that, the next one interrupts it."""

_MOST_BREAKS = 20
"""Maximum KeyboardInterrupts that an interrupted task may raise before it is abandoned."""


class CtrlC:
    """While entered, Ctrl-C only ends the reading of a line or cancels the running task.

    By default asyncio raises a second Ctrl-C through the event loop, which would interrupt the
    undo of the turn that the first one cancelled.
    """

    def __init__(
        self,
        runner: asyncio.Runner,
        *,
        again: Callable[[], None],
        blocked_s: float = _BLOCKED_S,
    ) -> None:
        """`again` is called, in the loop, at the second Ctrl-C during one task."""
        self._runner, self._again, self._blocked_s = runner, again, blocked_s
        self._reading = self._working = self._heard = False
        self._presses, self._since = 0, 0.0
        self.was_pressed = False
        """Whether Ctrl-C ended the last read."""
        self._task: asyncio.Task[Any] | None = None
        self._before: Any = None

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._pressed)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def read(self, read_line: Callable[[], str | None]) -> str | None:
        """Read a line; after Ctrl-C, '' with `was_pressed` set."""
        self.was_pressed = False
        try:
            self._reading = True
            return read_line()
        except KeyboardInterrupt:
            return ""
        finally:
            self._reading = False

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work`. Raises KeyboardInterrupt after it has ended if Ctrl-C cancelled it."""
        self._task, self._presses, self._heard = None, 0, False
        self._working = True
        try:
            task = self._runner.run(self._awaited(work))
            # Outside the loop, which a KeyboardInterrupt of the task would interrupt again.
            return task.result()
        except asyncio.CancelledError:
            if self._presses:
                raise KeyboardInterrupt from None
            raise
        except KeyboardInterrupt:
            self._let_end()
            raise
        finally:
            self._working = False

    async def _awaited(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._task = task
        if self._presses:
            self._cancel()
        await asyncio.wait([task])
        return task

    def _pressed(self, signum: int, frame: FrameType | None) -> None:
        del signum, frame
        if self._reading:
            self._reading, self.was_pressed = False, True
            raise KeyboardInterrupt
        if not self._working:
            return
        self._presses += 1
        if self._presses == 1:
            self._since = monotonic()
            self._call(self._cancel)
        elif not self._heard and monotonic() - self._since >= self._blocked_s:
            raise KeyboardInterrupt
        elif self._presses == 2:
            self._call(self._again)

    def _call(self, callback: Callable[[], None]) -> None:
        self._runner.get_loop().call_soon_threadsafe(callback)

    def _cancel(self) -> None:
        if self._task is not None:
            self._heard = True
            self._task.cancel()

    def _let_end(self) -> None:
        """Wait for the interrupted task to end, ignoring further interrupts that it raises."""
        for _ in range(_MOST_BREAKS):
            try:
                self._runner.run(self._ended())
            except KeyboardInterrupt:
                continue
            break

    async def _ended(self) -> None:
        if self._task is not None and not self._task.done():
            self._heard = True
            await asyncio.wait([self._task])

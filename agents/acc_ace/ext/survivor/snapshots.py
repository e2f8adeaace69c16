"""A run as it happens, for people: snapshots of ticks as JSON lines, and settings back into it.

A run file holds one `LoopSnapshot` per line. A run that dies while it writes leaves at most one
torn line, which readers report and leave out.
"""

import asyncio
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from pydantic import ValidationError
from pydantic_core import from_json

from acc_ace.errors import InputError, StoreError, first_problem
from acc_ace.ext.survivor.survival import SNAPSHOT_VERSION, Body, LoopSettings, LoopSnapshot

LONGEST_LINE: Final = 1_000_000
"""Bytes of the longest line that is read; a tick has some thousands."""

LONGEST_WAIT: Final = 0.2
"""Seconds that the thread of a paused loop waits at a time, so that it ends soon after the loop."""


class SnapshotWriter:
    """Append snapshots to a run file, each as a whole line that is flushed at once.

    A new file has mode 0600. Raises StoreError when it cannot be opened. An earlier run in it is
    kept.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._refusal = ""
        try:
            path.touch(0o600)
            self._file = path.open("a+b", buffering=0)
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error.strerror}") from error
        self._regular = stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)
        self._begin = b"\n" if self._is_torn() else b""

    def write(self, snapshot: LoopSnapshot) -> None:
        """Append one line.

        Raises StoreError when it cannot be written, as on a full disk: the file then ends with
        the last whole line, and it is closed, so that every later line is refused.
        """
        if self._refusal:
            raise StoreError(self._refusal)
        line = self._begin + snapshot.model_dump_json().encode() + b"\n"
        size = os.fstat(self._file.fileno()).st_size
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[self._file.write(rest) or 0 :]
        except OSError as error:
            if self._regular:
                # What cannot even be cut keeps a torn line, which readers report.
                with suppress(OSError):
                    self._file.truncate(size)
            self._refusal = f"{self.path} is closed since a disk error: {error.strerror}"
            self._file.close()
            raise StoreError(
                f"{self.path} cannot be written: {error.strerror}. It is whole up to the tick "
                f"before {snapshot.tick} of episode {snapshot.episode}; the run goes on without it"
            ) from error
        self._begin = b""

    def close(self) -> None:
        """Close the file; what is written later is refused."""
        self._refusal = self._refusal or f"{self.path} is closed"
        self._file.close()

    def _is_torn(self) -> bool:
        """Whether a run died within its last line; the next line then begins below it."""
        if not self._regular or not self._file.seek(0, os.SEEK_END):
            return False
        self._file.seek(-1, os.SEEK_END)
        return self._file.read(1) != b"\n"


def read_snapshots(path: Path, report: Callable[[str], None]) -> Iterator[LoopSnapshot]:
    """Read a run file, also one that is being written, as `numbered_snapshots` does."""
    return (snapshot for _, snapshot in numbered_snapshots(path, report))


def numbered_snapshots(
    path: Path, report: Callable[[str], None], *, after: int = 0
) -> Iterator[tuple[int, LoopSnapshot]]:
    """The snapshots behind a line of a run file, each with the number of its line.

    A line that is torn, longer than LONGEST_LINE bytes or no snapshot is left out, and `report`
    is called with its number. Raises StoreError when the file cannot be read, and InputError for
    a snapshot of another version.
    """
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                where = f"{path}, line {number}"
                if len(line) > LONGEST_LINE:
                    report(f"{where} is longer than {LONGEST_LINE:,} bytes; it is left out")
                    while line and not line.endswith(b"\n"):
                        line = file.readline(LONGEST_LINE)
                elif number <= after or not line.strip():
                    continue
                elif snapshot := _snapshot(line, where, report):
                    yield number, snapshot
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from error


def _snapshot(line: bytes, where: str, report: Callable[[str], None]) -> LoopSnapshot | None:
    try:
        fields = from_json(line)
    except ValueError:
        report(f"{where} is torn; it is left out")
        return None
    version = fields.get("version") if isinstance(fields, dict) else None
    if version not in (None, SNAPSHOT_VERSION):
        raise InputError(
            f"{where} is a snapshot of version {version!r:.40}; this program reads version "
            f"{SNAPSHOT_VERSION}"
        )
    try:
        return LoopSnapshot.model_validate_json(line)
    except ValidationError as error:
        report(f"{where} is no snapshot ({first_problem(error)}); it is left out")
        return None


class SettingsPort:
    """Take settings from any thread into the running loop, which takes them up at its next tick.

    One loop at a time waits at it.
    """

    def __init__(self, settings: LoopSettings | None = None) -> None:
        self._changed = threading.Condition()
        self._settings = settings or LoopSettings()
        self._steps = 0

    def change(self, **fields: object) -> LoopSettings:
        """Change some settings, from any thread; return all of them.

        Raises InputError for an unknown setting or a value out of its bounds; then none changes.
        """
        if unknown := sorted(fields.keys() - LoopSettings.model_fields.keys()):
            known = ", ".join(LoopSettings.model_fields)
            raise InputError(f"no such setting: {', '.join(unknown)[:200]}; there are {known}")
        with self._changed:
            try:
                self._settings = LoopSettings.model_validate(
                    {**self._settings.model_dump(), **fields}
                )
            except ValidationError as error:
                raise InputError(f"setting {first_problem(error)}") from error
            if not self._settings.paused:
                self._steps = 0
            self._changed.notify()
            return self._settings

    def step(self) -> None:
        """Let a paused loop live one more tick, from any thread; no effect on one that runs."""
        with self._changed:
            self._steps += self._settings.paused
            self._changed.notify()

    def take(self) -> LoopSettings:
        """The settings as they are now."""
        with self._changed:
            return self._settings

    async def wait_while_paused(self) -> None:
        """Return at once, or when the loop may live its next tick."""
        while not await asyncio.to_thread(self._admits):
            continue

    def _admits(self) -> bool:
        """Whether a tick may be lived, which is waited for a moment; it uses up a step."""
        with self._changed:
            is_open = self._changed.wait_for(self._is_open, LONGEST_WAIT)
            self._steps = max(0, self._steps - 1)
            return is_open

    def _is_open(self) -> bool:
        return not self._settings.paused or self._steps > 0


def body_in_words(body: Body) -> str:
    """Such as 'life 8/12, food 22/40, water 14/30'."""
    return ", ".join(f"{part} {has}/{most}" for part, (has, most) in body.points.items())

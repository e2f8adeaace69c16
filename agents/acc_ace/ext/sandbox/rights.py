"""What a person lets a survivor do in a folder: rights in stages, and the log of all that was done.

Both are tables of `workspace.db` in the data directory, so that a process that is killed leaves
them whole. What is granted or taken away is in force from the next act on.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

from acc_ace.core.text.normalize import one_line
from acc_ace.core.text.redaction import redact
from acc_ace.errors import ConfigError, InputError, StoreError
from acc_ace.storage.private_files import make_database_file, make_directory

Right = Literal["observe", "read", "write", "run", "gui"]
RIGHTS: Final[tuple[Right, ...]] = get_args(Right)
"""The stages; who has one has those before it."""

MOST_ACTS: Final = 100_000
"""Acts that are kept, more than a life has steps; the oldest go first."""

_TEXT: Final = 160
"""Characters of what an act showed."""

_TABLES: Final = """
pragma journal_mode = wal;
create table if not exists grants (folder text, place text, stage text, window text, at text);
create table if not exists acts (life text, step integer, kind text, stage text, at text,
    outcome text, shown text, ms real, unique (life, step, kind));
"""
_TIDY: Final = "delete from acts where rowid <= (select max(rowid) from acts) - ?"
_NEWEST: Final = "select folder, place, stage, window from grants order by rowid desc limit 1"
_BEGIN: Final = """insert or ignore into acts
    values (?, ?, ?, ?, ?, 'cut off', 'it may have been done or not', 0) returning 1"""
_FOUND: Final = "select outcome, shown from acts where (life, step, kind) = (?, ?, ?)"
_END: Final = "update acts set outcome = ?, shown = ?, ms = ? where (life, step, kind) = (?, ?, ?)"
_SUMS: Final = "select stage, outcome, count(*), avg(ms), max(ms) from acts group by 1, 2"


class WorkEnd(StrEnum):
    """How an act ended; one that was cut off by a kill may have been done or not."""

    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"
    CUT_OFF = "cut off"


class NotDone(Exception):
    """An act that failed or was refused; the text says why."""

    def __init__(self, why: str, outcome: WorkEnd = WorkEnd.FAILED) -> None:
        super().__init__(why)
        self.outcome = outcome


class Grant(NamedTuple):
    """The folder that is lent, and which one it is; the furthest right; the title of a window."""

    folder: Path
    place: str
    right: Right
    window: str = ""

    def covers(self, right: Right) -> bool:
        """Whether a right is granted."""
        return RIGHTS.index(right) <= RIGHTS.index(self.right)

    @contextmanager
    def opened(self) -> Iterator[int]:
        """A descriptor of the folder. Raises StoreError where it is gone, or another one."""
        try:
            folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError as error:
            raise StoreError(f"the workspace {self.folder} is gone: {error.strerror}") from error
        try:
            if _place(os.fstat(folder)) != self.place:
                raise StoreError(f"the workspace {self.folder} is another folder now; grant anew")
            yield folder
        finally:
            os.close(folder)


class WorkAct(NamedTuple):
    """A step of a life that uses a kind, and the right that it takes."""

    life: str
    step: int
    kind: str
    right: Right


class WorkLog:
    """The grants of a data directory and the acts under them. Every method raises StoreError."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / "workspace.db"
        make_directory(data_dir)
        make_database_file(self.path)
        with self._errors():
            self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            self._db.executescript(_TABLES)

    def grant(self) -> Grant:
        """The grant in force. Raises ConfigError where there is none."""
        for folder, place, right, window in self._rows(_NEWEST):
            if right in RIGHTS:
                return Grant(Path(folder), place, right, window)
            if right:
                raise StoreError(f"{self.path} grants {right!r}, which is no right: grant anew")
        raise ConfigError("no folder is lent: `acc-ace workspace grant observe FOLDER` does it")

    def give(self, folder: Path, right: Right, window: str = "") -> Grant:
        """Grant the next right in a folder, or one before it.

        Raises InputError for a stage left out, no folder, or the right gui without a window.
        """
        if not folder.is_dir():
            raise InputError(f"{str(folder)!r} is no folder")
        try:
            lent = folder.resolve(strict=True)
            grant = Grant(lent, _place(lent.stat()), right, window)
            str(lent).encode()
        except (OSError, RuntimeError, ValueError) as error:
            raise InputError(f"{str(folder)!r} cannot be lent: {error}") from error
        if right == "gui" and not window:
            raise InputError("the right gui is of one window: name it with --window TITLE")
        rows = [row[2] for row in self._rows(_NEWEST) if row[:2] == (str(lent), grant.place)]
        following = RIGHTS.index(rows[0]) + 1 if rows and rows[0] else 0
        if RIGHTS.index(right) > following:
            raise InputError(f"{RIGHTS[following]} comes before {right}: grant that first")
        self._note(grant.folder, grant.place, right, window)
        return grant

    def revoke(self) -> None:
        """Take the folder back."""
        self._note("", "", "", "")

    def tidy(self) -> None:
        """Drop the oldest acts beyond MOST_ACTS."""
        self._rows(_TIDY, MOST_ACTS)

    def once(self, act: WorkAct, do: Callable[[], str], *, is_relived: bool) -> tuple[WorkEnd, str]:
        """Do what was not done before, and log it; returns how it ended and what it showed.

        What was done before, or begun by a process that was killed, is not done again. What `do`
        raises beyond NotDone is passed on. Raises StoreError where a step that is lived again is
        not in the log.
        """
        key = act[:3]
        if is_relived or not self._rows(_BEGIN, *act, _now()):
            for outcome, text in self._rows(_FOUND, *key):
                return WorkEnd(outcome), text
            raise StoreError(
                f"{self.path} lacks step {act.step} of a life that made it: erase the run "
                "(acc-ace memory erase --app survivor --user work-SEED)"
            )
        begun, outcome = time.perf_counter(), WorkEnd.DONE
        try:
            text = do()
        except NotDone as error:
            outcome, text = error.outcome, str(error)
        text, ms = one_line(redact(text))[:_TEXT], 1_000 * (time.perf_counter() - begun)
        self._rows(_END, outcome, text, round(ms, 2), *key)
        return outcome, text

    def sums(self) -> list[tuple[Right, WorkEnd, int, float, float]]:
        """Of each right and outcome: how many acts, mean and most milliseconds."""
        return self._rows(_SUMS)

    def _note(self, *grant: object) -> None:
        values = (*map(str, grant), _now())
        self._rows("insert into grants values (?, ?, ?, ?, ?)", *values)

    def _rows(self, statement: str, *values: object) -> list[Any]:
        with self._errors():
            return self._db.execute(statement, values).fetchall()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"{self.path} cannot be used: {error}; move it away to begin a new log"
            ) from error


def _place(status: os.stat_result) -> str:
    return f"{status.st_dev}:{status.st_ino}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

"""What a person lets a survivor do in a folder: rights in stages, and the log of all that was done.

Both are tables of `workspace.db` in the data directory, so that a process that is killed leaves
them whole. What is granted or taken away is in force from the next act on.
"""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

from acc_ace.core.text.normalize import one_line
from acc_ace.errors import ConfigError, InputError, StoreError

Right = Literal["observe", "read", "write", "run", "gui"]
RIGHTS: Final[tuple[Right, ...]] = get_args(Right)
"""The stages; who has one has those before it."""

MOST_ACTS: Final = 100_000
"""Acts that are kept, more than a life has steps; the oldest go first."""

_TEXT: Final = 160
"""Characters of what an act showed."""

_TABLES: Final = """
pragma journal_mode = wal;
create table if not exists grants (folder text, stage text, window text, at text);
create table if not exists acts (life integer, step integer, kind text, stage text, at text,
    outcome text, shown text, ms real);
create index if not exists act_of_step on acts (life, step, kind);
"""
_BEGIN: Final = "insert into acts values (?, ?, ?, ?, ?, 'failed', 'it was cut off', 0)"
_END: Final = """update acts set outcome = ?, shown = ?, ms = ? where rowid =
    (select max(rowid) from acts where (life, step, kind) = (?, ?, ?))"""
_FOUND: Final = "select outcome, shown from acts where (life, step, kind) = (?, ?, ?)"
_NEWEST: Final = "select folder, stage, window from grants order by rowid desc limit 1"
_TIDY: Final = "delete from acts where rowid <= (select max(rowid) from acts) - ?"


class Outcome(StrEnum):
    """How an act ended."""

    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"


class NotDone(Exception):
    """An act that failed or was refused; the text says why."""

    def __init__(self, why: str, outcome: Outcome = Outcome.FAILED) -> None:
        super().__init__(why)
        self.outcome = outcome


class Grant(NamedTuple):
    """The folder that is lent, the furthest right there, and the title of a window, '' for none."""

    folder: Path
    right: Right
    window: str = ""

    def covers(self, right: Right) -> bool:
        """Whether a right is granted."""
        return RIGHTS.index(right) <= RIGHTS.index(self.right)


class WorkAct(NamedTuple):
    """A step of a life (its layout) that uses a kind, and the right that it takes."""

    life: int
    step: int
    kind: str
    right: Right


class WorkLog:
    """The grants of a data directory and the acts under them. Every method raises StoreError."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / "workspace.db"
        with self._errors():
            data_dir.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            self._db.executescript(_TABLES)

    def grant(self) -> Grant:
        """The grant in force. Raises ConfigError where there is none."""
        for folder, right, window in self._rows(_NEWEST):
            return Grant(Path(folder), right, window)
        raise ConfigError("no folder is lent: `acc-ace workspace grant observe FOLDER` does it")

    def give(self, grant: Grant) -> None:
        """Grant the next right, or take some away.

        Raises InputError for a stage left out, no folder, or the right gui without a window.
        """
        if not grant.folder.is_dir():
            raise InputError(f"{grant.folder} is no folder")
        if grant.right == "gui" and not grant.window:
            raise InputError("the right gui is of one window: name it with --window TITLE")
        rows = self._rows(_NEWEST)
        stages = [RIGHTS.index(row[1]) for row in rows if row[0] == str(grant.folder)]
        following = max(stages, default=-1) + 1
        if RIGHTS.index(grant.right) > following:
            raise InputError(f"{RIGHTS[following]} comes before {grant.right}: grant that first")
        values = (str(grant.folder), *grant[1:], _now())
        self._rows("insert into grants values (?, ?, ?, ?)", *values)

    def once(self, act: WorkAct, do: Callable[[], str], *, is_relived: bool) -> tuple[Outcome, str]:
        """Do what was not done before, and log it; returns how it ended and what it showed.

        What was done before, or begun by a process that was killed, is not done again. What `do`
        raises beyond NotDone is passed on. Raises StoreError where a step that is lived again is
        not in the log.
        """
        earlier: list[tuple[str, str]] = self._rows(_FOUND, *act[:3])
        if earlier:
            return Outcome(earlier[-1][0]), earlier[-1][1]
        if is_relived:
            raise StoreError(f"{self.path} lacks step {act.step} of a life that made it")
        self._rows(_BEGIN, *act, _now())
        self._rows(_TIDY, MOST_ACTS)
        begun, outcome = time.perf_counter(), Outcome.DONE
        try:
            text = do()
        except NotDone as error:
            outcome, text = error.outcome, str(error)
        text, ms = one_line(text)[:_TEXT], 1_000 * (time.perf_counter() - begun)
        self._rows(_END, outcome, text, round(ms, 2), *act[:3])
        return outcome, text

    def acts(self) -> list[tuple[Right, Outcome, float]]:
        """Right, outcome and milliseconds of each act, the oldest first."""
        return self._rows("select stage, outcome, ms from acts order by rowid")

    def _rows(self, statement: str, *values: object) -> list[Any]:
        with self._errors():
            return self._db.execute(statement, values).fetchall()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{self.path} cannot be used: {error}") from error


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")

"""What a store asks of a SQL database: schema, transactions, several stores' writes as one."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.resources import files
from typing import Final, Protocol, TypeVar

from acc_ace.errors import StoreError
from acc_ace.storage.sql_rows import Dialect, Rows
from acc_ace.unit_of_work import Write

T = TypeVar("T")


class Database(Protocol):
    """Runs a transaction as one function on a worker thread. No transaction outlives its call."""

    async def read(self, work: Callable[[Rows], T]) -> T:
        """One consistent view of the database."""
        ...

    async def write(self, work: Callable[[Rows], T]) -> T:
        """All or nothing. The work may run more than once, also after it was committed."""
        ...

    async def scrub(self) -> bool:
        """Leave no byte of what was deleted where a file could still hold it; whether it is so."""
        ...

    async def check(self) -> None:
        """Reach the database; raises StoreError."""
        ...

    async def close(self) -> None:
        """Finish running work and disconnect; using the database again raises StoreError."""
        ...


VERSION: Final = 101
"""Of the baseline. Lower numbers are those of programs that were never released."""

_FILES: Final = ("common", "sessions")

_KEYS: Final[dict[Dialect, str]] = {
    "sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "postgres": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
}


def baseline(dialect: Dialect) -> str:
    """The statements that make an empty database ours."""
    folder = files("acc_ace.storage") / "schema"
    scripts = [(folder / f"{name}.sql").read_text(encoding="utf-8") for name in (*_FILES, dialect)]
    return "\n".join(scripts).replace("{id}", _KEYS[dialect])


def check_version(found: int, database: str, setting: str) -> None:
    """Raise StoreError for a database of another version of the program.

    `database` is how it is named in the message, and `setting` what points to it.
    """
    if found > VERSION:
        raise StoreError(
            f"{database} has schema version {found}, this program knows up to {VERSION}; "
            f"upgrade the program, or point {setting} to another place"
        )
    if found < VERSION:
        raise StoreError(
            f"{database} has schema version {found}, of a program before the first release, and "
            f"cannot be upgraded to {VERSION}; export what you need with that program, then move "
            f"the database away or point {setting} to another place"
        )


class AlreadyCommittedError(Exception):
    """A write found itself in the database: the commit took place, its acknowledgement was lost."""


class UnitOfWork:
    """Collects writes and commits them together, in the order in which they were added.

    The write that can tell a repeated commit from a conflict (the journal's compare-and-swap)
    comes first: by AlreadyCommittedError it says that the others are there too.
    """

    def __init__(
        self, database: Database, *writes: Write, after: Sequence[Callable[[], None]] = ()
    ) -> None:
        """`after` is called when the writes are committed."""
        self._database, self._after = database, after
        self._writes = list(writes)

    def add(self, write: Write) -> None:
        """Make `write` a part of the commit."""
        self._writes.append(write)

    async def commit(self) -> None:
        """Run all writes in one transaction: all or nothing. Raises what they raise."""
        writes = tuple(self._writes)

        def work(rows: Rows) -> None:
            for write in writes:
                write(rows)

        # When it raises that, what this commit wanted is there.
        with suppress(AlreadyCommittedError):
            await self._database.write(work)
        for call in self._after:
            call()

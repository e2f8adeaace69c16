"""SQL databases: schema, transactions, and a unit of work over several stores."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.resources import files
from typing import Final

from acc_ace.errors import StoreError
from acc_ace.storage.sql_rows import Dialect, Rows
from acc_ace.unit_of_work import Database, Write

OLDEST: Final = 103
"""The oldest schema version that is upgraded. Lower ones are from before the first release."""

VERSION: Final = 106

_FILES: Final = ("common", "sessions")

_KEYS: Final[dict[Dialect, str]] = {
    "sqlite": "INTEGER PRIMARY KEY AUTOINCREMENT",
    "postgres": "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
}


def baseline(dialect: Dialect) -> str:
    """The statements that create the schema."""
    folder = files("acc_ace.storage") / "schema"
    scripts = [(folder / f"{name}.sql").read_text(encoding="utf-8") for name in (*_FILES, dialect)]
    return "\n".join([*scripts, *upgrades(OLDEST)]).replace("{id}", _KEYS[dialect])


def upgrades(version: int) -> list[str]:
    """The scripts, the same for both databases, that bring a schema from a version to this one."""
    folder = files("acc_ace.storage") / "schema"
    return [
        (folder / f"upgrade_{each}.sql").read_text(encoding="utf-8")
        for each in range(version + 1, VERSION + 1)
    ]


def check_version(version: int, database: str, setting: str) -> None:
    """Raise StoreError for a database with a schema version that cannot be upgraded.

    `database` is its name in the message, `setting` the setting that points to it.
    """
    if version > VERSION:
        raise StoreError(
            f"{database} has schema version {version}, this program knows up to {VERSION}; "
            f"upgrade the program, or point {setting} to another place"
        )
    if version < OLDEST:
        raise StoreError(
            f"{database} has schema version {version}, of a program before the first release, and "
            f"cannot be upgraded to {VERSION}; export what you need with that program, then move "
            f"the database away or point {setting} to another place"
        )


class AlreadyCommittedError(Exception):
    """The write is in the database already: it was committed, the acknowledgement was lost."""


class SqlUnitOfWork:
    """Collects writes and commits them in one transaction, in order.

    The write that can distinguish a retry from a conflict (the journal's compare-and-swap) comes
    first: its AlreadyCommittedError means that the other writes are committed too.
    """

    def __init__(
        self, database: Database, *writes: Write, after: Sequence[Callable[[], None]] = ()
    ) -> None:
        """`after` is called once the writes are committed."""
        self._database, self._after = database, after
        self._writes = list(writes)

    def add(self, *writes: Write) -> None:
        """Add writes to the transaction."""
        self._writes += writes

    async def commit(self) -> None:
        """Run all writes in one transaction. Raises the first error of a write."""
        writes = tuple(self._writes)

        def work(rows: Rows) -> None:
            for write in writes:
                write(rows)

        # That error means that this unit was committed before.
        with suppress(AlreadyCommittedError):
            await self._database.write(work)
        for call in self._after:
            call()

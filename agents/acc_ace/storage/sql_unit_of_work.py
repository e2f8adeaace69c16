"""The writes of several stores as one transaction."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from acc_ace.storage.sql_database import Database
from acc_ace.storage.sql_rows import Rows
from acc_ace.unit_of_work import Write


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

"""What a store asks of a SQL database, whichever it is."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from acc_ace.storage.sql_rows import Rows

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

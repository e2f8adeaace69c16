"""A database, and several stores' writes committed together."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")

Write = Callable[[Any], None]
"""One store's part of a unit of work, run on its transaction.

It may run again, after an earlier run was rolled back.
"""


class Database(Protocol):
    """Runs a transaction as one function, over rows, on a worker thread. Raises StoreError."""

    async def read(self, work: Callable[[Any], T]) -> T:
        """Run reads over one consistent snapshot."""
        ...

    async def write(self, work: Callable[[Any], T]) -> T:
        """Run one atomic transaction. `work` may be retried, even after a commit."""
        ...

    async def scrub(self) -> bool:
        """Remove deleted data from the database files; return whether that succeeded."""
        ...

    async def check(self) -> None:
        """Check the connection; raises StoreError."""
        ...

    async def close(self) -> None:
        """Finish running work and disconnect."""
        ...


class UnitOfWork(Protocol):
    """Collects writes and commits them together."""

    def add(self, *writes: Write) -> None:
        """Make `writes` a part of the commit, in their order. The journal's comes first."""
        ...

    async def commit(self) -> None:
        """Run all writes in one transaction: all or nothing. Raises what they raise."""
        ...

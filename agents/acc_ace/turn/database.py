"""The database of the stores, for what is kept there beside them."""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Database(Protocol):
    """Runs a transaction as one function, over rows, on a worker thread. Raises StoreError."""

    async def read(self, work: Callable[[Any], T]) -> T:
        """One consistent view of the database."""
        ...

    async def write(self, work: Callable[[Any], T]) -> T:
        """All or nothing. The work may run more than once, also after it was committed."""
        ...

    async def scrub(self) -> bool:
        """Leave no byte of what was deleted where a file could still hold it; whether it is so."""
        ...

    async def check(self) -> None:
        """Reach the database; raises StoreError."""
        ...

    async def close(self) -> None:
        """Finish running work and disconnect."""
        ...

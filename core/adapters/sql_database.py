"""What a store asks of a SQL database, whichever it is."""

from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")
C_co = TypeVar("C_co", covariant=True)


class Database(Protocol[C_co]):
    """Runs work in a transaction over a connection."""

    async def read(self, work: Callable[[C_co], T]) -> T:
        """One consistent view of the database."""
        ...

    async def write(self, work: Callable[[C_co], T]) -> T:
        """All or nothing. The work may run more than once, also after it was committed."""
        ...

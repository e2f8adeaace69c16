"""Several stores' writes, committed together."""

from collections.abc import Callable
from typing import Any, Protocol

Write = Callable[[Any], None]
"""One store's part of a unit of work, run on its transaction.

It may run again, after an earlier run was rolled back.
"""


class UnitOfWork(Protocol):
    """Collects writes and commits them together."""

    def add(self, write: Write) -> None:
        """Make `write` a part of the commit. The journal's comes first."""
        ...

    async def commit(self) -> None:
        """Run all writes in one transaction: all or nothing. Raises what they raise."""
        ...

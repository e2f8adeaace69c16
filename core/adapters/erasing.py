"""Let stores erase inside of one transaction, without any of them knowing."""

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar

from schemas.tenancy import Tenant

T = TypeVar("T")

Erase = Callable[[Tenant], Coroutine[Any, Any, int]]
"""`erase` of a store: deletes a user; how many rows."""


def erase_all(erasers: Mapping[str, Erase], tenant: Tenant) -> dict[str, int]:
    """Run the `erase` of stores whose database is a joined one; rows by store."""
    return {name: at_once(erase(tenant)) for name, erase in erasers.items()}


def at_once(work: Awaitable[T]) -> T:
    """The result of a coroutine that waits for nothing; raises RuntimeError when it does.

    Stores over a joined database never wait: their work runs on the thread that holds the
    transaction.
    """
    steps = work.__await__()
    try:
        next(steps)
    except StopIteration as done:
        result: T = done.value
        return result
    raise RuntimeError("a store waits inside of a transaction: it uses more than its database")

"""Who calls, and how many calls of one caller are under way."""

from collections import Counter
from typing import Final

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from starlette.requests import Request

from acc_ace.ext.mcp.lazy_memory import CALLER, LazyMemory

# Calls of one user at a time; further ones are refused, and nothing is kept of them.
MOST_CALLS: Final = 16

_WORK: Final = frozenset({"tools/call", "resources/read"})
_BUSY: Final = -32_000


class Callers:
    """Middleware: sets `CALLER` to the user that the transport proves, and bounds their calls."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    async def __call__(
        self,
        ctx: ServerRequestContext[LazyMemory, Request],
        call_next: CallNext,
    ) -> HandlerResult:
        """Handle one message. Raises MCPError when too many are under way."""
        proven = ctx.request.scope.get("user") if ctx.request is not None else None
        user = proven.username if isinstance(proven, AuthenticatedUser) else ""
        CALLER.set(user)
        if ctx.method not in _WORK:
            return await call_next(ctx)
        if self._open[user] >= MOST_CALLS:
            raise MCPError(_BUSY, f"{MOST_CALLS} calls are under way; wait for one of them to end")
        self._open[user] += 1
        try:
            return await call_next(ctx)
        finally:
            self._open -= Counter((user,))  # Which drops whoever has none left.

"""How many sessions of the protocol one user has open over HTTP."""

from collections import OrderedDict, defaultdict
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acc_ace.server.identity import USER, header

MOST_SESSIONS: Final = 20
IDLE_S: Final = 300.0
"""Seconds without a request, after which the SDK closes a session."""

_SESSION: Final = b"mcp-session-id"
_FAILED: Final = 400


class HttpSessions:
    """ASGI middleware: of a user with too many sessions, the one used longest ago is closed.

    Its client is told 404, as the protocol has it, and opens another.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._of = defaultdict[str, OrderedDict[str, None]](OrderedDict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI asks."""
        used = self._of[scope.get(USER) or ""]
        known = header(scope, _SESSION) if scope["type"] == "http" else None
        if known in used:
            used.move_to_end(known)

        async def noting(message: Message) -> None:
            # Of a request that failed, the SDK keeps no session.
            is_well = message["type"] == "http.response.start" and message["status"] < _FAILED
            if is_well and (opened := dict(message["headers"]).get(_SESSION)):
                used[opened.decode("ascii")] = None
            await send(message)

        await self._app(scope, receive, noting)
        if known and scope["method"] == "DELETE":
            used.pop(known, None)
        while len(used) > MOST_SESSIONS:
            await self._close(used.popitem(last=False)[0], scope)

    async def _close(self, session: str, scope: Scope) -> None:
        """End a session as its own client would."""

        async def no_body() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def unheard(_message: Message) -> None:
            """Nobody waits for this answer."""

        headers = [(_SESSION, session.encode("ascii")), (b"accept", b"application/json")]
        request = {**scope, "method": "DELETE", "headers": headers}
        await self._app(request, no_body, unheard)

"""How many sessions of the protocol one user has open over HTTP."""

from collections import defaultdict
from http import HTTPStatus
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acc_ace.server.identity import USER

MOST_SESSIONS: Final = 20
IDLE_S: Final = 300.0  # Without a request; then the SDK closes a session.

_SESSION: Final = b"mcp-session-id"


class HttpSessions:
    """ASGI middleware: of a user with too many sessions, the one used longest ago is closed.

    Its client is told 404, as the protocol has it, and opens another.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app, self._of = app, defaultdict[str, dict[bytes, None]](dict)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI asks."""
        used = self._of[scope.get(USER) or ""]

        async def noting(message: Message) -> None:
            # An answer names its session; of an opening that failed, the SDK keeps none.
            if message.get("status") == HTTPStatus.OK:
                session = dict(message["headers"]).get(_SESSION, b"")
                used.pop(session, None)
                used.update({session: None} if session and scope["method"] != "DELETE" else {})
            await send(message)

        await self._app(scope, receive, noting)
        while len(used) > MOST_SESSIONS:
            used.pop(oldest := next(iter(used)))
            headers = [(_SESSION, oldest), (b"accept", b"application/json")]
            await self._app({**scope, "method": "DELETE", "headers": headers}, receive, _unheard)


async def _unheard(_message: Message) -> None:
    """Nobody waits for the answer."""

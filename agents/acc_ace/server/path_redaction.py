"""Keep the data directory's path out of the errors that ADK writes into its event streams."""

from pathlib import Path
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SETTING: Final = b"ACC_ACE_DATA_DIR"


class PathRedaction:
    """ASGI middleware: `/run_sse` names the setting where a message names the directory.

    Our own routes answer with problems, which do so by themselves. ADK sends each event whole,
    so a path is never split between two messages.
    """

    def __init__(self, app: ASGIApp, *, data_dir: Path) -> None:
        self._app = app
        self._path = str(data_dir.absolute()).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI asks."""
        if scope["type"] != "http" or scope["path"] != "/run_sse":
            await self._app(scope, receive, send)
            return

        async def send_redacted(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": self._redacted(message.get("body", b""))}
            await send(message)

        await self._app(scope, receive, send_redacted)

    def _redacted(self, body: bytes) -> bytes:
        return body.replace(self._path, _SETTING) if b'"error"' in body else body

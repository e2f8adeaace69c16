"""HEAD wherever GET is, and an `Allow` that names every method of a path."""

import asyncio
from collections.abc import Iterable
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.routing import BaseRoute, Match, Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_NOT_ALLOWED: Final = 405
_METHODS: Final = ("DELETE", "GET", "PATCH", "POST", "PUT")


class Methods:
    """ASGI middleware: answers HEAD as GET without its body, and completes a 405."""

    def __init__(self, app: ASGIApp, *, routes: Iterable[BaseRoute]) -> None:
        """`routes` are those of the app, also such as are added later."""
        self._app, self._routes = app, routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI asks."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        whole = dict(scope)  # A mount changes the scope.

        async def send_allowing(message: Message) -> None:
            is_refusal = message.get("status") == _NOT_ALLOWED
            if is_refusal and (allowed := self._allowed(whole)):
                MutableHeaders(scope=message)["Allow"] = ", ".join(allowed)
            await send(message)

        if scope["method"] == "HEAD":
            await self._head(scope, receive, send_allowing)
        else:
            await self._app(scope, receive, send_allowing)

    async def _head(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The head of what GET answers; a stream ends as if its reader had left."""
        begun = asyncio.Event()
        messages: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive_none() -> Message:
            if messages:
                return messages.pop()
            await begun.wait()
            return {"type": "http.disconnect"}

        async def send_head(message: Message) -> None:
            if not begun.is_set() and message["type"] == "http.response.start":
                begun.set()
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        del receive
        await self._app({**scope, "method": "GET"}, receive_none, send_head)

    def _allowed(self, scope: Scope) -> list[str]:
        """Those that a route takes; none below a mount, which knows its own."""
        routes = [route for route in self._routes if not isinstance(route, Mount)]
        methods = {
            method
            for method in _METHODS
            if any(each.matches({**scope, "method": method})[0] is Match.FULL for each in routes)
        }
        return sorted(methods | ({"HEAD"} if "GET" in methods else set()))

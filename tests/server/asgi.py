"""Small ASGI apps to put behind one guard, and a client for them."""

import json
from typing import Any

import httpx
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send


class Echo:
    """Answers 200 with the method, path, scope extras and the body that reached it."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.calls += 1
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False):
                break
        seen = {"path": scope["path"], "user": scope.get("acc_ace.user"), "size": len(body)}
        await Response(json.dumps(seen), media_type="application/json")(scope, receive, send)


def client(app: ASGIApp, **options: Any) -> httpx.AsyncClient:
    """A client of an app in this process."""
    options.setdefault("base_url", "http://127.0.0.1:8000")
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), **options)

"""Small ASGI apps to put behind one guard, and a client for them."""

import json
from typing import Any

import httpx
from fastapi import FastAPI
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from acc_ace.container import Container
from acc_ace.server.app import create_app
from config import ROLES
from tests.fakes.scripted_llm import ScriptedLlm


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


def scripted_app(container: Container, model: ScriptedLlm | None = None) -> FastAPI:
    """The server over these stores, whose roles are all asked of one scripted model."""
    return create_app(container, models=dict.fromkeys(ROLES, model or ScriptedLlm()))


async def say(http: httpx.AsyncClient, text: str, session: str = "a") -> str:
    """The answer of a turn of /v1."""
    told = await http.post(f"/v1/sessions/{session}/turns", json={"input": text})
    assert told.status_code == 200, told.text
    return str(told.json()["answer"])

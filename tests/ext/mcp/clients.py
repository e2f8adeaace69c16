"""Clients of the SDK for the server: in this process, or over HTTP, as a user's token says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import httpx2
import uvicorn
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, ElicitResult

from acc_ace.ext.mcp.http import http_app
from acc_ace.ext.mcp.lazy_memory import LazyMemory
from acc_ace.ext.mcp.tools import build_server
from acc_ace.server.process import open_socket, url_of
from config import Settings

GENERATIONS: Final = ("legacy", "auto")
"""Modes of the client: the protocol with a handshake (to 2025-11-25), and the one without."""

AIKO, BOB = "a" * 20, "b" * 20
TOKENS: Final = {"aiko": AIKO, "bob": BOB}


def server(chosen: Settings | None = None) -> MCPServer[LazyMemory]:
    """A server over the stores of the settings."""
    return build_server(LazyMemory(chosen or Settings(), app="acc_ace", user="user", session="mcp"))


class Person:
    """Whoever sits before a client, and answers what they are asked."""

    def __init__(self, action: Any, *, agree: bool = True) -> None:
        self.asked: list[str] = []
        self._answer = ElicitResult(
            action=action, content={"agree": agree} if action == "accept" else None
        )

    async def __call__(self, context: object, params: Any) -> ElicitResult:
        self.asked.append(params.message)
        return self._answer


class Agent:
    """A client that calls tools."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: object) -> CallToolResult:
        return await self.client.call_tool(tool, arguments)

    async def told(self, tool: str, **arguments: object) -> dict[str, Any]:
        """The structured answer of a call that ends well."""
        result = await self.call(tool, **arguments)
        assert not result.is_error, result.content
        assert result.structured_content is not None
        return {**result.structured_content}

    async def rules(self) -> list[str]:
        return [rule["text"] for rule in (await self.told("rules"))["rules"]]


@asynccontextmanager
async def agent(mode: str = "auto", person: Person | None = None) -> AsyncIterator[Agent]:
    """A client of a server in this process."""
    async with Client(server(), mode=mode, elicitation_callback=person) as client:
        yield Agent(client)


@asynccontextmanager
async def served(chosen: Settings) -> AsyncIterator[str]:
    """The URL of a server that listens."""
    with open_socket("127.0.0.1", 0) as listener:
        app = http_app(server(chosen), chosen)
        web = uvicorn.Server(
            uvicorn.Config(app, lifespan="on", log_config=None, timeout_graceful_shutdown=1)
        )
        task = asyncio.create_task(web.serve(sockets=[listener]))
        while not web.started:  # noqa: ASYNC110 - it has no event for that
            await asyncio.sleep(0.01)
        try:
            yield f"{url_of(listener)}/mcp"
        finally:
            web.should_exit = True
            await task


@asynccontextmanager
async def remote(
    url: str, token: str = "", mode: str = "auto", person: Person | None = None
) -> AsyncIterator[Agent]:
    """A client of a server that listens."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(
            streamable_http_client(url, http_client=http), mode=mode, elicitation_callback=person
        ) as client,
    ):
        yield Agent(client)

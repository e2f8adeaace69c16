"""A client of `acc-ace mcp` over stdio, by the official SDK, that reads the tools' schemas."""

import json
import re
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e.processes import BIN, START_S, environment
from tests.fakes.ports import free_port

TOOLS: Final = ("remember", "recall", "rules", "state", "playbook")
WORDS: Final = ("action", "do", "op", "operation", "mode", "verb", "kind", "command")


@cache
def arguments(of: str = "stdio") -> tuple[str, ...]:
    """The words after `acc-ace mcp` for a transport; stdio is what it speaks without any."""
    shown = subprocess.run(  # noqa: S603 - our own command
        [str(BIN / "acc-ace"), "mcp", "--help"], capture_output=True, encoding="utf-8", check=False
    ).stdout
    if of == "stdio":
        return ("--transport", "stdio") if "--transport" in shown else ()
    if "--transport" in shown:
        word = re.search(r"streamable[-_]http|http", shown)
        return ("--transport", word[0] if word else "http")
    return ("--http",) if "--http" in shown else ("--port",)


@asynccontextmanager
async def desk(folder: Path, *, elicit: Any = None, **settings: str) -> AsyncIterator[Any]:
    """An initialized session with a server process over `folder`/data."""
    mcp = pytest.importorskip("mcp", reason="needs the SDK of the Model Context Protocol")
    stdio = pytest.importorskip("mcp.client.stdio")
    parameters = mcp.StdioServerParameters(
        command=str(BIN / "acc-ace"),
        args=["mcp", *arguments()],
        env=environment(folder / "data", **settings),
        cwd=folder,
    )
    with (folder / "mcp.log").open("a", encoding="utf-8") as log:
        async with (
            stdio.stdio_client(parameters, errlog=log) as (read, write),
            mcp.ClientSession(read, write, elicitation_callback=elicit) as session,
        ):
            await session.initialize()
            yield session


@contextmanager
def served(folder: Path, **settings: str) -> Iterator[str]:
    """`acc-ace mcp` over HTTP on a port of its own; its address."""
    port = free_port()
    flags = arguments("http")
    line = [str(BIN / "acc-ace"), "mcp", *flags, *(() if "--port" in flags else ("--port",))]
    with (folder / "http.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(  # noqa: S603 - our own command
            [*line, str(port)],
            cwd=folder,
            env=environment(folder / "data", **settings),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + START_S
        while not _listens(port):
            assert process.poll() is None, (folder / "http.log").read_text("utf-8")
            assert time.monotonic() < deadline, "nobody listens"
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=START_S)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@dataclass(frozen=True)
class Answer:
    """What a tool answered, whatever the release of the SDK calls its fields."""

    text: str
    is_error: bool


async def tools(session: Any) -> dict[str, dict[str, Any]]:
    """The tools by name, as they go over the wire."""
    return {each["name"]: each for each in on_wire(await session.list_tools())["tools"]}


async def call(session: Any, tool: str, values: dict[str, Any]) -> Answer:
    """Call a tool with these very arguments; an error of the protocol is an answer, too."""
    mcp = pytest.importorskip("mcp")
    # The SDK's error had another name before its version 2.
    refused: type[Exception] = getattr(mcp, "MCPError", None) or mcp.McpError
    try:
        result = on_wire(await session.call_tool(tool, values))
    except refused as error:
        return Answer(str(error), is_error=True)
    parts = [part.get("text", "") for part in result["content"]]
    structured = json.dumps(result.get("structuredContent") or {}, ensure_ascii=False)
    return Answer("\n".join([*parts, structured]), is_error=bool(result.get("isError")))


async def ask(session: Any, tool: str, text: str = "", *, action: str = "") -> Answer:
    """Call a tool with a text, wherever its schema has the place for it."""
    listed = await tools(session)
    if action and f"{action}_rule" in listed:
        tool, action = f"{action}_rule", ""
    return await call(session, tool, filled(listed[tool]["inputSchema"], text, action))


async def rules(session: Any) -> str:
    """The rules as the tool lists them."""
    return (await ask(session, "rules", action="list")).text


def on_wire(result: Any) -> dict[str, Any]:
    """A result as JSON has it."""
    parsed: dict[str, Any] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return parsed


def filled(schema: dict[str, Any], text: str, action: str = "") -> dict[str, Any]:
    """Arguments that a schema takes for a text and, where it has one, a verb."""
    places: dict[str, Any] = schema.get("properties", {})
    needed = list(schema.get("required", ()))
    verbs = [name for name in places if name in WORDS or action in _choices(places[name])]
    sentences = [name for name in places if name not in verbs and "string" in _kinds(places[name])]
    sentences.sort(key=lambda name: name not in needed)
    values: dict[str, Any] = {name: 1 for name in needed if "integer" in _kinds(places[name])}
    if verbs and action:
        values[verbs[0]] = action
    if text and sentences:
        values[sentences[0]] = text
    for name in needed:
        values.setdefault(name, (_choices(places[name]) or [text or "x"])[0])
    return values


def _choices(place: dict[str, Any]) -> list[Any]:
    own = [*place.get("enum", ()), *([place["const"]] if "const" in place else ())]
    return own + [each for part in place.get("anyOf", ()) for each in _choices(part)]


def _kinds(place: dict[str, Any]) -> set[str]:
    own = {str(place["type"])} if "type" in place else set()
    return own | {kind for part in place.get("anyOf", ()) for kind in _kinds(part)}

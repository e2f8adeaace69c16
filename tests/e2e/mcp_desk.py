"""A client of `acc-ace mcp` over stdio, by the official SDK, that reads the tools' schemas."""

import json
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e.processes import BIN, environment

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


async def tools(session: Any) -> dict[str, Any]:
    """The tools by name."""
    return {tool.name: tool for tool in (await session.list_tools()).tools}


def words(result: Any) -> str:
    """All that a tool answered, as text."""
    parts = [part.text for part in result.content if part.type == "text"]
    return "\n".join([*parts, json.dumps(result.structuredContent or {}, ensure_ascii=False)])


async def ask(session: Any, tool: str, text: str = "", *, action: str = "") -> Any:
    """Call a tool with a text, wherever its schema has the place for it."""
    listed = await tools(session)
    if action and f"{action}_rule" in listed:
        tool, action = f"{action}_rule", ""
    return await session.call_tool(tool, filled(listed[tool].inputSchema, text, action))


async def rules(session: Any) -> str:
    """The rules as the tool lists them."""
    return words(await ask(session, "rules", action="list"))


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

"""Turns that are taken and asked again, and what of them is looked at."""

import sqlite3
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx

from tests.fakes.fake_gemini import FakeGemini, says_json, wire_text
from tests.fakes.loopback import HttpReply, Json

Serve = Callable[..., Awaitable[httpx.AsyncClient]]
"""Starts a server with settings; a client of it."""

FIRST = "gemini-3.5-flash"
OTHER = "gemini-3.1-flash-lite"
SESSION = "/v1/sessions/s"
MONEY = {"model_uses", "spending"}
"""Tables of what was spent."""


def path(turn: int | str = 1, session: str = SESSION) -> str:
    """Where a turn is asked again."""
    return f"{session}/turns/{turn}/rerun"


def answers(text: str) -> HttpReply:
    """A reply as the schema of the Generator asks for it."""
    return says_json({"final_answer": text})


async def say(http: httpx.AsyncClient, text: str, **options: Any) -> Json:
    """A turn of the session."""
    return _body(await http.post(f"{SESSION}/turns", json={"input": text}, **options))


async def rule(http: httpx.AsyncClient, text: str, scope: str = "session") -> str:
    """The id of a new rule."""
    sent = {"text": text, "scope": scope}
    return str(_body(await http.post(f"{SESSION}/rules", json=sent))["id"])


async def offer(http: httpx.AsyncClient, turn: int = 1) -> Json:
    """What may be asked again of a turn."""
    return _body(await http.get(path(turn)))


async def again(
    http: httpx.AsyncClient, *without: str, turn: int = 1, model: str = "", **options: Any
) -> Json:
    """What a turn replies when it is asked again."""
    sent = {"model": model, "without": list(without)}
    return _body(await http.post(path(turn), json=sent, **options))


def last(gemini: FakeGemini) -> Json:
    """The newest request."""
    return gemini.requests[-1].body


def words(body: Json) -> str:
    """Instruction and texts of a request of Gemini, without white space."""
    return squeezed(wire_text(body))


def squeezed(text: str) -> str:
    """The text without white space."""
    return "".join(text.split())


def tool_names(body: Json) -> list[str]:
    """The tools of a request of Gemini, but the one that takes an answer."""
    declared = [each for tool in body.get("tools", []) for each in tool["functionDeclarations"]]
    return sorted(each["name"] for each in declared if each["name"] != "set_model_response")


def stored(folder: Path) -> Mapping[str, list[str]]:
    """The rows of each table of the database, but for those of money and SQLite's own counters."""
    with closing(sqlite3.connect(folder / "memory.db")) as opened:
        tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        names = {name for (name,) in opened.execute(tables)} - MONEY
        return {
            name: sorted(map(repr, opened.execute(f'SELECT * FROM "{name}"').fetchall()))  # noqa: S608
            for name in sorted(names)
        }


def refused(response: httpx.Response, *statuses: int) -> str:
    """The reason of a problem that has one of these statuses."""
    assert response.status_code in statuses, response.text
    assert response.headers["content-type"] == "application/problem+json"
    detail = str(response.json()["detail"])
    assert detail
    return detail


def _body(response: httpx.Response) -> Json:
    assert response.status_code < 300, response.text
    value: Json = response.json()
    return value

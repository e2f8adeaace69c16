"""Names and text that no store can keep are refused by ADK's routes, with the field."""

import json
import math
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.server.app import create_app
from tests.fakes.scripted_llm import ScriptedLlm
from tests.server.asgi import client

SESSIONS = "/apps/acc_ace/users/aiko/sessions"


@pytest.fixture(params=["sqlite", "postgres"])
async def http(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    where: dict[str, Any] = {"store": request.param, "data_dir": tmp_path / "data"}
    if request.param == "postgres":
        where["database_url"] = request.getfixturevalue("postgres").clean_database()
    chosen = Settings(learning="off", serve_web_interface=False, **where)
    app = create_app(build_container(chosen), models=dict.fromkeys(ROLES, ScriptedLlm()))
    async with client(app) as opened:
        await opened.post(SESSIONS, json={"sessionId": "s-1"})
        yield opened
    await app.state.acc_ace.close()


async def sent(http: httpx.AsyncClient, path: str, body: Any, method: str = "POST") -> Any:
    """Send a body with escapes that httpx itself would not write."""
    kind = {"content-type": "application/json"}
    response = await http.request(method, path, content=json.dumps(body), headers=kind)
    assert response.status_code != 500
    return response.json()


def names(problem: Any) -> tuple[int, str, list[str]]:
    return problem["status"], problem["code"], problem["errors"][0]["loc"]


@pytest.mark.parametrize(
    ("state", "where"),
    [
        ({"a\0b": 1}, ["state", "a\\0b"]),
        ({"user:x\0": 1}, ["state", "user:x\\0"]),
        ({"k\ud800": 1}, ["state", "k\\ud800"]),
        ({"k": "v\ud800"}, ["state", "k"]),
        ({"k": {"deep": ["fine", "\udfff"]}}, ["state", "k", "deep", "1"]),
        ({"k": [1.5, math.inf]}, ["state", "k", "1"]),
        ({"k": math.nan}, ["state", "k"]),
        ({"k": json.loads("[" * 200 + "]" * 200)}, ["state", "k", "0"]),
    ],
)
async def test_state_that_cannot_be_kept_is_422_with_its_field(
    http: httpx.AsyncClient, state: dict[str, Any], where: list[str]
) -> None:
    made = await sent(http, SESSIONS, {"state": state})
    assert names(made) == (422, "invalid_request", ["body", *where])
    assert made["detail"].startswith(".".join(where))
    patched = await sent(http, f"{SESSIONS}/s-1", {"stateDelta": state}, "PATCH")
    assert names(patched) == (422, "invalid_request", ["body", "stateDelta", *where[1:]])
    message = {"role": "user", "parts": [{"text": "hello"}]}
    run = {"appName": "acc_ace", "userId": "aiko", "sessionId": "s-1", "newMessage": message}
    for path in ("/run", "/run_sse"):
        answer = await sent(http, path, {**run, "stateDelta": state})
        assert names(answer) == (422, "invalid_request", ["body", "stateDelta", *where[1:]])
    assert (await http.get(f"{SESSIONS}/s-1")).json()["events"] == []


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/apps/acc_ace/users/a%00b/sessions", "user_id"),
        ("/apps/acc_ace/users/aiko/sessions/s%00x", "session_id"),
        ("/apps/a%00/users/aiko/sessions", "app_name"),
        ("/apps/acc_ace/users/aiko/sessions/s-1/artifacts/a%00", "path"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
async def test_a_nul_in_the_path_is_422_with_what_it_names(
    http: httpx.AsyncClient, path: str, field: str, method: str
) -> None:
    answer = await sent(http, path, {}, method)
    assert names(answer) == (422, "invalid_request", ["path", field])


async def test_a_nul_in_an_id_of_the_body_is_422_with_its_field(http: httpx.AsyncClient) -> None:
    made = await sent(http, SESSIONS, {"sessionId": "s\0"})
    assert names(made) == (422, "invalid_request", ["body", "sessionId"])
    event = {"author": "user", "invocationId": "i\0"}
    made = await sent(http, SESSIONS, {"events": [event]})
    assert names(made) == (422, "invalid_request", ["body", "events", "0", "invocationId"])
    reply = {"functionResponse": {"id": "c\0", "name": "approve", "response": {}}}
    run = {"appName": "acc_ace", "userId": "aiko", "sessionId": "s-1"}
    answer = await sent(http, "/run", {**run, "newMessage": {"parts": [reply]}})
    where = ["newMessage", "parts", "0", "functionResponse", "id"]
    assert names(answer) == (422, "invalid_request", ["body", *where])
    answer = await sent(http, "/run", {**run, "userId": "a\0", "newMessage": {"parts": [reply]}})
    assert names(answer) == (422, "invalid_request", ["body", "userId"])


async def test_text_with_a_nul_and_unusual_names_are_taken(http: httpx.AsyncClient) -> None:
    state = {"名前": "a\0b", "user:é": {"x": "😀"}}
    elsewhere = SESSIONS.replace("acc_ace", "desk")
    made = await sent(http, elsewhere, {"sessionId": "s-2", "state": state})
    assert made["state"] == state
    read = (await http.get(f"{elsewhere}/s-2")).json()
    assert read["state"] == state
    deep: dict[str, Any] = {}
    for _ in range(200):
        deep = {"d": deep}
    made = await sent(http, SESSIONS, {"state": {"deep": deep, "bad\0": 1}})
    assert names(made)[2] == ["body", "state", "bad\\0"]


async def test_a_body_that_no_reader_can_follow_is_422(http: httpx.AsyncClient) -> None:
    deep = '{"stateDelta": {"k": ' + "[" * 100_000 + "]" * 100_000 + "}}"
    kind = {"content-type": "application/json"}
    refused = await http.patch(f"{SESSIONS}/s-1", content=deep, headers=kind)
    assert names(refused.json()) == (422, "invalid_request", ["body", "body"])


async def test_no_text_where_a_name_is_due_is_422(http: httpx.AsyncClient) -> None:
    part: dict[str, Any] = {"mediaResolution": {"level": {}}}
    refused = await sent(http, f"{SESSIONS}/s-1/artifacts", {"filename": "a", "artifact": part})
    assert (refused["status"], refused["code"]) == (422, "invalid_request")


@pytest.mark.parametrize("path", ["ccs/versions/{n}", "ccs/history?before={n}"])
async def test_a_version_that_no_database_can_count_to_is_422(
    http: httpx.AsyncClient, path: str
) -> None:
    answer = await http.get(f"/v1/sessions/s-1/{path.format(n=2**63)}")
    assert answer.status_code == 422

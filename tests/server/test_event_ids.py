"""Keys that a turn stores sort by time, so that indexes grow at their end and stay cheap."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.server.app import create_app
from tests.fakes.extensions import needs
from tests.server.asgi import client

SESSION = "/apps/acc_ace/users/user/sessions/s"
WAYS = ("run", "run_sse", "v1")


@pytest.fixture
async def http(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(build_container(Settings(data_dir=tmp_path)))
    async with client(app) as opened:
        await opened.post("/apps/acc_ace/users/user/sessions", json={"sessionId": "s"})
        yield opened
    await app.state.acc_ace.close()


async def turn(http: httpx.AsyncClient, way: str, text: str) -> None:
    if way == "v1":
        answer = await http.post("/v1/sessions/s/turns", json={"input": text})
    else:
        content = {"role": "user", "parts": [{"text": text}]}
        body = {"appName": "acc_ace", "userId": "user", "sessionId": "s", "newMessage": content}
        answer = await http.post(f"/{way}", json=body)
    assert answer.status_code == 200


@needs("embedded")
async def test_later_events_and_invocations_have_later_ids_whichever_way_they_came(
    http: httpx.AsyncClient,
) -> None:
    for way in WAYS * 2:
        await turn(http, way, f"a fact by {way}")
    events: list[dict[str, Any]] = (await http.get(SESSION)).json()["events"]
    ids = [event["id"] for event in events]
    invocations = [event["invocationId"] for event in events]
    assert len(set(invocations)) == len(WAYS) * 2
    assert ids == sorted(set(ids))
    assert invocations == sorted(invocations)


@needs("embedded")
async def test_evidence_of_later_turns_has_later_keys(
    http: httpx.AsyncClient, tmp_path: Path
) -> None:
    for way in WAYS * 2:
        await turn(http, way, f"a fact by {way}")
    with closing(sqlite3.connect(tmp_path / "memory.db")) as database:
        keys = [
            name
            for (name,) in database.execute("SELECT invocation_id FROM interactions ORDER BY turn")
        ]
    assert len(keys) == len(WAYS) * 2
    assert keys == sorted(keys)

"""Over HTTP, a store that cannot be used is a 503 that names the setting, and loses nothing."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.core.schemas.limits import Limits
from tests.server.asgi import client, scripted_app

TURN = "/v1/sessions/s/turns"


@asynccontextmanager
async def _server(data_dir: Path) -> AsyncIterator[httpx.AsyncClient]:
    settings = Settings(data_dir=data_dir, serve_web_interface=False, limits=Limits(turn_wait_s=1))
    app = scripted_app(build_container(settings))
    async with client(app) as http:
        yield http
    await app.state.acc_ace.close()


def _is_clear(response: httpx.Response, data_dir: Path) -> None:
    assert response.status_code == 503
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["code"] in {"store_error", "corrupt_store"}
    assert "ACC_ACE_DATA_DIR" in response.json()["detail"]
    assert str(data_dir) not in response.text
    assert "Traceback" not in response.text


async def test_corrupted_database_is_named(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    (data_dir / "memory.db").write_bytes(b"this is no database " * 500)
    async with _server(data_dir) as http:
        _is_clear(await http.post(TURN, json={"input": "hello"}), data_dir)
        _is_clear(await http.get("/readyz"), data_dir)
        assert (await http.get("/healthz")).status_code == 200
    assert (data_dir / "memory.db").read_bytes().startswith(b"this is no database")


async def test_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    data_dir = tmp_path / "file" / "data"
    async with _server(data_dir) as http:
        _is_clear(await http.post(TURN, json={"input": "hello"}), data_dir)
        ready = await http.get("/readyz")
        assert ready.status_code == 503


async def test_locked_database_is_named_and_the_turn_works_when_it_is_free_again(
    tmp_path: Path,
) -> None:
    data_dir = tmp_path / "data"
    async with _server(data_dir) as http:
        first = (await http.post(TURN, json={"input": "Never restart db-01 by day."})).json()
        other = sqlite3.connect(data_dir / "memory.db", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        try:
            locked = await http.post(TURN, json={"input": "hello"})
        finally:
            other.rollback()
            other.close()
        _is_clear(locked, data_dir)
        again = (await http.post(TURN, json={"input": "hello"})).json()
    assert again["turn"] == 2
    assert again["ccs"]["constraints"] == first["ccs"]["constraints"]


async def test_stream_of_adk_names_the_setting_too(tmp_path: Path) -> None:
    data_dir = tmp_path / "data"
    async with _server(data_dir) as http:
        data_dir.mkdir()
        (data_dir / "memory.db").write_bytes(b"this is no database " * 500)
        content = {"role": "user", "parts": [{"text": "hello"}]}
        body = {"appName": "acc_ace", "userId": "user", "sessionId": "s", "newMessage": content}
        streamed = await http.post("/run_sse", json=body)
        whole = await http.post("/run", json=body)
    _is_clear(streamed, data_dir)
    _is_clear(whole, data_dir)

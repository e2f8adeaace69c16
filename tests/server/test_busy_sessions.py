"""A turn that is refused because its session is busy leaves nothing of itself behind."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.genai import types

from acc_ace import Container, build_container
from acc_ace.adk.sessions.create_session_service import open_session_service
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.errors import SessionBusyError
from acc_ace.pipeline import APP_NAME, build_app
from acc_ace.server.app import create_app
from config import ROLES, Settings
from schemas.base import SessionKey
from schemas.limits import Limits
from tests.fakes.loopback import served
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.desk import Desk

KEY = SessionKey(APP_NAME, "user", "s-1")
TURNS = "/v1/sessions/s-1/turns"
SESSION = "/apps/acc_ace/users/user/sessions/s-1"
PATIENCE_S = 0.05
LOOKS = 20


class Slow:
    """A first answer that takes as long as the test says; the server is in another thread."""

    def __init__(self) -> None:
        self.asked, self.released = threading.Event(), threading.Event()

    async def __call__(self, request: LlmRequest) -> dict[str, Any]:
        self.asked.set()
        await asyncio.to_thread(self.released.wait, 30)
        return {"final_answer": "First answer."}


@pytest.fixture(params=["sqlite", "postgres"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """Where a server keeps its sessions."""
    where: dict[str, Any] = {"store": request.param, "data_dir": tmp_path / "data"}
    if request.param == "postgres":
        where["database_url"] = request.getfixturevalue("postgres").clean_database()
    return where


def settings(where: dict[str, Any], wait_s: float) -> Settings:
    limits = Limits(turn_wait_s=wait_s)
    return Settings(learning="off", serve_web_interface=False, limits=limits, **where)


@pytest.fixture
def slow() -> Iterator[Slow]:
    first = Slow()
    yield first
    first.released.set()


def server(where: dict[str, Any], slow: Slow, *, wait_s: float = PATIENCE_S) -> FastAPI:
    llm = ScriptedLlm().on("generator", slow, {"final_answer": "Second answer."})
    chosen = settings(where, wait_s)
    return create_app(build_container(chosen), models=dict.fromkeys(ROLES, llm))


def run_body(text: str) -> dict[str, Any]:
    return {
        "appName": KEY.app,
        "userId": KEY.user,
        "sessionId": KEY.session,
        "newMessage": {"role": "user", "parts": [{"text": text}]},
    }


async def said(http: httpx.AsyncClient) -> list[str]:
    """The texts of the session's events, in their order."""
    events = (await http.get(SESSION)).json()["events"]
    parts = [part for event in events for part in event.get("content", {}).get("parts", [])]
    return [part["text"] for part in parts if "text" in part]


async def test_a_refused_turn_is_409_and_leaves_nothing_whichever_route_it_came_by(
    stored: dict[str, Any], slow: Slow
) -> None:
    app = server(stored, slow)
    with served(app) as url:
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            first = asyncio.create_task(http.post(TURNS, json={"input": "First."}))
            await asyncio.to_thread(slow.asked.wait, 30)
            busy = await http.post("/run", json=run_body("Second."))
            assert (busy.status_code, busy.json()["code"]) == (409, "session_busy")
            assert busy.json()["instance"] == "/run"
            assert busy.headers["content-type"] == "application/problem+json"
            assert busy.headers["retry-after"]
            # ADK has answered 200 by then; its one event says what is wrong.
            busy = await http.post("/run_sse", json=run_body("Second."))
            assert busy.status_code == 200
            assert "session 's-1' is still busy" in busy.text
            for way in ("", "?stream=true"):
                busy = await http.post(TURNS + way, json={"input": "Second."})
                assert (busy.status_code, busy.json()["code"]) == (409, "session_busy")
            assert await said(http) == []
            slow.released.set()
            assert (await first).status_code == 200
            again = await http.post("/run_sse", json=run_body("Second."))
            assert again.status_code == 200
            assert await said(http) == ["First.", "First answer.", "Second.", "Second answer."]
    await app.state.acc_ace.close()


@pytest.mark.parametrize("path", ["/run", "/run_sse", TURNS])
async def test_a_turn_waits_and_writes_only_when_it_is_its_turn(
    tmp_path: Path, slow: Slow, path: str
) -> None:
    app = server({"store": "sqlite", "data_dir": tmp_path}, slow, wait_s=30)
    with served(app) as url:
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            first = asyncio.create_task(http.post(TURNS, json={"input": "First."}))
            await asyncio.to_thread(slow.asked.wait, 30)
            body = {"input": "Second."} if path == TURNS else run_body("Second.")
            second = asyncio.create_task(http.post(path, json=body))
            for _ in range(LOOKS):
                assert await said(http) == []
            slow.released.set()
            assert (await first).status_code == (await second).status_code == 200
            assert await said(http) == ["First.", "First answer.", "Second.", "Second answer."]
    await app.state.acc_ace.close()


async def test_a_turn_of_the_default_app_is_refused_before_it_writes(
    tmp_path: Path, slow: Slow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADK_DEFAULT_APP_NAME", APP_NAME)
    app = server({"store": "sqlite", "data_dir": tmp_path}, slow)
    with served(app) as url:
        async with httpx.AsyncClient(base_url=url, timeout=60) as http:
            first = asyncio.create_task(http.post(TURNS, json={"input": "First."}))
            await asyncio.to_thread(slow.asked.wait, 30)
            body = {name: value for name, value in run_body("Second.").items() if name != "appName"}
            busy = await http.post("/run", json=body)
            assert (busy.status_code, busy.json()["code"]) == (409, "session_busy")
            slow.released.set()
            assert (await first).status_code == 200
            assert (await http.post("/run_sse", json=body)).status_code == 200
    await app.state.acc_ace.close()


@pytest.fixture
async def container(stored: dict[str, Any]) -> AsyncIterator[Container]:
    built = build_container(settings(stored, PATIENCE_S))
    yield built
    await built.close()


@pytest.fixture
async def sessions(container: Container) -> AsyncIterator[SqlSessionService]:
    service = open_session_service(container, forgets=True)
    yield service
    await service.close()


def a_turn(container: Container, sessions: SqlSessionService) -> "asyncio.Task[None]":
    """A turn as `adk web` runs it, without our server."""
    app = build_app(container, dict.fromkeys(ROLES, ScriptedLlm()))
    runner = Runner(app=app, session_service=sessions)

    async def run() -> None:
        message = types.UserContent("Are you there?")
        async for _ in runner.run_async(
            user_id=KEY.user, session_id=KEY.session, new_message=message
        ):
            pass

    return asyncio.create_task(run())


async def events(sessions: SqlSessionService) -> int:
    found = await sessions.get_session(app_name=KEY.app, user_id=KEY.user, session_id=KEY.session)
    assert found is not None
    return len(found.events)


async def test_without_our_server_a_refused_turn_leaves_no_event(
    container: Container, sessions: SqlSessionService
) -> None:
    await sessions.create_session(app_name=KEY.app, user_id=KEY.user, session_id=KEY.session)
    async with container.lock.hold(KEY, wait_s=1):
        with pytest.raises(RuntimeError, match="busy") as raised:
            await a_turn(container, sessions)
        assert isinstance(raised.value.__cause__, SessionBusyError)
        assert await events(sessions) == 0
    await a_turn(container, sessions)
    assert await events(sessions) > 1


async def test_without_our_server_a_turn_that_is_given_up_leaves_no_event(
    stored: dict[str, Any],
) -> None:
    container = build_container(settings(stored, 30))
    sessions = open_session_service(container, forgets=True)
    await sessions.create_session(app_name=KEY.app, user_id=KEY.user, session_id=KEY.session)
    async with container.lock.hold(KEY, wait_s=1):
        turn = a_turn(container, sessions)
        for _ in range(LOOKS):
            assert await events(sessions) == 0
        turn.cancel()
        await asyncio.wait({turn})
        assert turn.cancelled()
        assert await events(sessions) == 0
    await sessions.close()
    await container.close()


async def test_a_refused_turn_under_the_plugin_leaves_no_event(
    container: Container, sessions: SqlSessionService
) -> None:
    agent = LlmAgent(name="desk", model=ScriptedLlm().on("generator", "Hi."))
    desk = Desk(agent, settings=container.settings, sessions=sessions)
    async with desk.container.lock.hold(SessionKey("desk", "ops", "s1"), wait_s=1):
        with pytest.raises(RuntimeError, match="busy"):
            await desk.ask("Are you there?")
        found = await sessions.get_session(app_name="desk", user_id="ops", session_id="s1")
        assert found is not None
        assert found.events == []
    assert await desk.ask("Are you there?") == "Hi."
    await desk.container.close()

"""Deleting a session by either route: during its turn, after a failure, and once more."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx
import pytest
from google.adk.models.llm_request import LlmRequest

from acc_ace import build_container
from acc_ace.conversation import APP_NAME
from acc_ace.server.app import create_app
from acc_ace.server.server_context import ServerContext
from config import ROLES
from schemas.base import SessionKey
from tests.fakes.place import Place
from tests.fakes.scripted_llm import ScriptedLlm
from tests.server.asgi import client

KEY = SessionKey(APP_NAME, "aiko", "s1")
OURS = "/v1/sessions/s1"
ADKS = f"/apps/{APP_NAME}/users/aiko/sessions/s1"
ANSWER = '{"final_answer": "Noted."}'


@dataclass
class Served:
    """A server whose model answers when it may."""

    http: httpx.AsyncClient
    context: ServerContext
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    open: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, _request: LlmRequest) -> str:
        self.asked.set()
        await self.open.wait()
        return ANSWER

    async def say(self, session: str = "s1") -> httpx.Response:
        words = {"input": "The code word is walnut."}
        return await self.http.post(f"/v1/sessions/{session}/turns", json=words)

    async def held(self) -> tuple[int, int, bool]:
        """Turns, artifacts, and whether there is a state."""
        stores = self.context.container
        return (
            len(await stores.evidence.list(KEY)),
            await stores.artifacts.count(KEY.tenant),
            await stores.journal.head(KEY) is not None,
        )


NOTHING = (0, 0, False)


@asynccontextmanager
async def serving(place: Place, *, turn_wait_s: float = 30) -> AsyncIterator[Served]:
    llm = ScriptedLlm()
    settings = place.with_settings(
        learning="off", serve_web_interface=False, limits={"turn_wait_s": turn_wait_s}
    )
    app = create_app(build_container(settings), models=dict.fromkeys(ROLES, llm))
    async with client(app, headers={"X-User": "aiko"}) as http:
        served = Served(http, app.state.acc_ace)
        llm.on("generator", served.answer)
        try:
            yield served
        finally:
            served.open.set()
            await served.context.close()


@pytest.mark.parametrize("route", [OURS, ADKS])
async def test_a_session_is_not_deleted_under_its_turn(place: Place, route: str) -> None:
    async with serving(place, turn_wait_s=0.1) as served:
        turn = asyncio.create_task(served.say())
        await served.asked.wait()
        refused = await served.http.delete(route)
        assert (refused.status_code, refused.json()["code"]) == (409, "session_busy")
        served.open.set()
        assert (await turn).status_code == 200
        assert (await served.http.delete(route)).status_code in {200, 204}
        assert await served.held() == NOTHING
        assert (await served.http.delete(OURS)).status_code == 404


@pytest.mark.parametrize("route", [OURS, ADKS])
async def test_a_deletion_waits_for_the_turn_that_runs(place: Place, route: str) -> None:
    async with serving(place) as served:
        turn = asyncio.create_task(served.say())
        await served.asked.wait()
        deletion = asyncio.create_task(served.http.delete(route))
        await asyncio.sleep(0)
        served.open.set()
        assert (await turn).status_code == 200
        assert (await deletion).status_code in {200, 204}
        assert await served.held() == NOTHING


async def test_a_turn_whose_session_vanishes_says_so_and_leaves_no_word(place: Place) -> None:
    async with serving(place) as served:
        turn = asyncio.create_task(served.say())
        await served.asked.wait()
        # As a program does that holds no session.
        await served.context.session_service.drop(KEY)
        served.open.set()
        refused = await turn
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
        assert "session 's1' was deleted" in refused.json()["detail"]
        assert await served.held() == NOTHING
        assert (await served.say()).status_code == 200


@pytest.mark.parametrize("table", ["interactions", "artifacts", "session_directory", "journal"])
@pytest.mark.parametrize("route", [OURS, ADKS])
async def test_a_deletion_that_failed_is_finished_by_the_next(
    place: Place, route: str, table: str
) -> None:
    async with serving(place) as served:
        served.open.set()
        assert (await served.say()).status_code == 200
        place.refuse_deletes(table)
        failed = await served.http.delete(route)
        assert (failed.status_code, failed.json()["code"]) == (503, "store_error")
        place.allow_deletes(table)
        assert (await served.http.delete(OURS)).status_code == 204
        assert await served.held() == NOTHING
        assert (await served.http.delete(OURS)).status_code == 404


async def test_what_an_older_deletion_left_can_be_deleted(place: Place) -> None:
    async with serving(place) as served:
        served.open.set()
        await served.say()
        await served.context.container.journal.erase(KEY.tenant, KEY.session)
        await served.context.container.evidence.erase(KEY.tenant, KEY.session)
        await served.context.container.directory.erase(KEY.tenant, KEY.session)
        await served.context.session_service.drop(KEY)
        assert (await served.http.delete(OURS)).status_code == 204
        assert await served.context.container.artifacts.count(KEY.tenant) == 0


async def test_the_session_of_another_user_is_not_found(place: Place) -> None:
    async with serving(place) as served:
        served.open.set()
        await served.say()
        other = await served.http.delete(OURS, headers={"X-User": "ben"})
        assert other.status_code == 404
        assert (await served.http.get(f"{OURS}/ccs")).status_code == 200


async def test_a_session_without_a_turn_can_be_deleted(place: Place) -> None:
    async with serving(place) as served:
        assert (
            await served.http.post(ADKS.removesuffix("/s1"), json={"sessionId": "s1"})
        ).status_code == 200
        assert (await served.http.delete(OURS)).status_code == 204
        assert (await served.http.get(ADKS)).status_code == 404

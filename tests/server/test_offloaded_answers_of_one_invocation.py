"""Events of an invocation that was answered call by call: each turn has its own words in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from acc_ace import Container, build_container
from acc_ace.errors import ModelUnavailable
from acc_ace.server.app import create_app
from config import ROLES
from schemas.artifact import Artifact, RecallQuery
from schemas.base import SessionKey
from schemas.interaction import Outcome
from tests.fakes.place import Place
from tests.fakes.scripted_llm import Reply, ScriptedLlm, calls
from tests.server.asgi import client

KEY = SessionKey("acc_ace", "user", "s-1")
TURNS = "/v1/sessions/s-1/turns"
SECRET = "The vault code is walnut-77."


@pytest.fixture
def container(place: Place) -> Container:
    settings = place.with_settings(
        learning="off",
        session_events="offload",
        session_turns=1,
        serve_web_interface=False,
        tools=("tests.fakes.confirmed_tool:restart_server",),
    )
    return build_container(settings)


@asynccontextmanager
async def serving(container: Container, *answers: Reply) -> AsyncIterator[httpx.AsyncClient]:
    """A server whose model calls two tools that ask a person first, then answers."""
    both = calls(("restart_server", {"server": "db-01"}), ("restart_server", {"server": "db-02"}))
    model = ScriptedLlm().on("generator", both, {"final_answer": "Asked."}, *answers)
    app = create_app(container, models=dict.fromkeys(ROLES, model))
    async with client(app) as opened:
        yield opened
    await app.state.acc_ace.close()


@pytest.fixture
async def http(container: Container) -> AsyncIterator[httpx.AsyncClient]:
    answers = ("Fine.", SECRET, "Indeed.")
    async with serving(container, *({"final_answer": each} for each in answers)) as opened:
        yield opened


async def confirm_both(http: httpx.AsyncClient, *, first: int = 200) -> None:
    """Two turns of one invocation, whose user asked for Zanzibar; the status of the first one."""
    statuses = [first, 200]
    asked = await http.post(TURNS, json={"input": "Zanzibar needs both servers."})
    for call in asked.json()["calls"]:
        answer = {"id": call["id"], "name": call["name"], "response": {"confirmed": True}}
        content = {"role": "user", "parts": [{"functionResponse": answer}]}
        run = {"appName": KEY.app, "userId": KEY.user, "sessionId": KEY.session}
        response = await http.post("/run", json={**run, "newMessage": content})
        assert response.status_code == statuses.pop(0), response.text


async def small_talk(http: httpx.AsyncClient) -> None:
    for number in range(4):
        said = {"input": f"Small talk {number}."}
        assert (await http.post(TURNS, json=said)).status_code == 200


async def recalled(container: Container, text: str) -> list[Artifact]:
    query = RecallQuery(key=KEY._replace(session="s-2"), text=text, limit=20, max_tokens=9_000)
    found = await container.artifacts.recall(query)
    return [each.artifact for each in found.candidates]


async def test_words_of_an_undone_answer_do_not_come_back_with_their_events(
    container: Container, http: httpx.AsyncClient
) -> None:
    await confirm_both(http)
    assert (await http.post("/v1/sessions/s-1/undo")).status_code == 200
    await small_talk(http)
    assert not [each for each in await recalled(container, SECRET) if "walnut" in each.content]
    assert [each for each in await recalled(container, "Zanzibar") if "Zanzibar" in each.content]


async def test_each_answer_is_recalled_under_the_number_of_its_turn(
    container: Container, http: httpx.AsyncClient
) -> None:
    await confirm_both(http)
    await small_talk(http)
    kept = await container.evidence.list(KEY)
    first, second = kept[-1], kept[-2]
    assert [each.outcome for each in (first, second)] == [Outcome.ANSWERED] * 2
    secret = [each for each in await recalled(container, SECRET) if "walnut" in each.content]
    assert {each.turn for each in secret} == {second.turn}
    request = [each for each in await recalled(container, "Zanzibar") if "Zanzibar" in each.content]
    assert {each.turn for each in request} == {first.turn}


async def test_a_long_answer_of_a_later_turn_is_offloaded_whole(
    container: Container, http: httpx.AsyncClient
) -> None:
    await confirm_both(http)
    [second, first] = (await container.evidence.list(KEY))[:2]
    assert second.decision is not None
    long: dict[str, Any] = {"final_answer": " ".join(f"word{number}" for number in range(9_000))}
    await container.evidence.record(
        KEY, second.model_copy(update={"decision": second.decision.model_copy(update=long)})
    )
    await small_talk(http)
    pieces: list[str] = []
    while piece := await container.artifacts.get(
        KEY.tenant, f"events:{KEY.session}:{second.invocation_id}:{len(pieces) + 1}"
    ):
        pieces.append(piece.content)
        assert piece.turn == second.turn == first.turn + 1
    assert len(pieces) > 1
    assert "".join(pieces).endswith("word8998 word8999")


async def test_the_request_stays_in_the_session_while_a_call_whose_run_was_lost_waits(
    container: Container,
) -> None:
    answers = ({"final_answer": SECRET}, {"final_answer": "Indeed."})
    async with serving(container, ModelUnavailable("the model is away"), *answers) as http:
        await confirm_both(http, first=503)
        await small_talk(http)
        session = await http.get("/apps/acc_ace/users/user/sessions/s-1")
    assert "Zanzibar needs both servers." in session.text

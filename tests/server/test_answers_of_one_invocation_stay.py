"""A committed turn keeps its evidence whatever its invocation does next."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from acc_ace import Container, build_container
from acc_ace.server.app import create_app
from config import ROLES
from schemas.base import SessionKey
from schemas.interaction import Outcome
from tests.fakes.place import Place
from tests.fakes.scripted_llm import ScriptedLlm, calls
from tests.server.asgi import client

KEY = SessionKey("acc_ace", "user", "incident")
SESSION = "/v1/sessions/incident"
GOOD = f"{SESSION}/turns/2/feedback"

Call = dict[str, Any]


@pytest.fixture
def container(place: Place) -> Container:
    settings = place.with_settings(
        learning="off",
        serve_web_interface=False,
        tools=("tests.fakes.confirmed_tool:restart_server",),
    )
    return build_container(settings)


@pytest.fixture
async def http(container: Container) -> AsyncIterator[httpx.AsyncClient]:
    """A server whose model calls two tools that ask a person first."""
    both = calls(("restart_server", {"server": "db-01"}), ("restart_server", {"server": "db-02"}))
    model = ScriptedLlm().on(
        "generator",
        both,
        {"final_answer": "Asked."},
        {"final_answer": "Restarted db-01."},
        {"final_answer": "Restarted db-02."},
    )
    app = create_app(container, models=dict.fromkeys(ROLES, model))
    async with client(app) as opened:
        yield opened
    await app.state.acc_ace.close()


async def asked(http: httpx.AsyncClient) -> tuple[Call, Call]:
    """The two calls that wait."""
    one, two = (await http.post(f"{SESSION}/turns", json={"input": "Restart both."})).json()[
        "calls"
    ]
    return one, two


async def confirm(http: httpx.AsyncClient, call: Call) -> int:
    """Let a call run; the status of the answer."""
    confirmed = {"id": call["id"], "name": call["name"], "response": {"confirmed": True}}
    message = {"role": "user", "parts": [{"functionResponse": confirmed}]}
    where = {"appName": "acc_ace", "userId": "user", "sessionId": "incident"}
    response = await http.post("/run", json={**where, "newMessage": message})
    return response.status_code


async def answers(container: Container) -> list[tuple[int, str, str]]:
    """The turns of the evidence that have an answer, oldest first."""
    kept = await container.evidence.list(KEY)
    return [
        (each.turn, each.outcome.value, each.decision.final_answer)
        for each in reversed(kept)
        if each.decision
    ]


async def test_an_answered_turn_stands_when_the_next_answer_fails_to_begin(
    http: httpx.AsyncClient, container: Container, place: Place
) -> None:
    one, two = await asked(http)
    assert await confirm(http, one) == 200
    # SQLite writes the record of a session anew, PostgreSQL changes it.
    refuse = place.refuse_inserts if place.settings.store == "sqlite" else place.refuse_updates
    refuse("session_directory")
    assert await confirm(http, two) != 200
    place.allow_updates("session_directory")
    assert await answers(container) == [(2, "answered", "Restarted db-01.")]
    assert (await http.post(GOOD, json={"thumbs": "up"})).status_code == 200


@pytest.mark.parametrize("undone", [False, True])
async def test_a_turn_that_failed_replaces_no_answer_of_its_name(
    http: httpx.AsyncClient, container: Container, undone: bool
) -> None:
    one, _ = await asked(http)
    await confirm(http, one)
    [before] = await container.evidence.list(KEY)
    if undone:
        await http.post(f"{SESSION}/undo")
    kept = await answers(container)
    failed = before.model_copy(update={"decision": None, "outcome": Outcome.FAILED})
    await container.evidence.record(KEY, failed)
    assert await answers(container) == kept

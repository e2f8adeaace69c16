"""A call that breaks a rule waits for the person: 202 with the rule quoted, and yes or no."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from google.adk.models.llm_request import LlmRequest

from acc_ace import build_container
from acc_ace.server.app import create_app
from config import ROLES, Settings
from schemas.base import SessionKey
from schemas.interaction import GuardJudge, GuardVerdict
from tests.fakes.confirmed_tool import PAID
from tests.fakes.default_replies import prompt_text, said_in
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.server.asgi import client

TURNS = "/v1/sessions/till/turns"
RULE = "Never refund more than 20 euros."


def compress(request: LlmRequest) -> dict[str, Any]:
    """Propose the rule in the turn that says it."""
    is_said = RULE in said_in(prompt_text(request))
    return {"rule_changes": [{"kind": "add", "quote": RULE}] if is_said else []}


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    """A server with a tool that pays back, and the rule in force."""
    PAID.clear()
    settings = Settings(
        store="memory",
        learning="off",
        serve_web_interface=False,
        tools=("tests.fakes.confirmed_tool:refund",),
    )
    model = (
        ScriptedLlm()
        .on("compressor", compress)
        .on(
            "generator",
            {"final_answer": "Noted."},
            call("refund", order="A1", amount=50),
            {"final_answer": "Done."},
        )
    )
    app = create_app(build_container(settings), models=dict.fromkeys(ROLES, model))
    async with client(app) as opened:
        set_rule = await opened.post(TURNS, json={"input": RULE})
        assert set_rule.json()["ccs"]["constraints"] == [RULE]
        yield opened
    container = app.state.acc_ace.container
    kept = await container.evidence.list(SessionKey("acc_ace", "user", "till"))
    verdicts = [(each.verdict, each.by, each.rule_id) for turn in kept for each in turn.guarded]
    said = GuardVerdict.CONFIRMED if PAID else GuardVerdict.REFUSED
    assert verdicts == [(said, GuardJudge.PERSON, "c-0001")]
    await app.state.acc_ace.close()


async def answer(http: httpx.AsyncClient, paused: dict[str, Any], *, confirmed: bool) -> str:
    """Answer the one call that waits; the text of the events."""
    [waiting] = paused["calls"]
    response = {"id": waiting["id"], "name": waiting["name"], "response": {"confirmed": confirmed}}
    message = {"role": "user", "parts": [{"functionResponse": response}]}
    session = {"appName": "acc_ace", "userId": "user", "sessionId": paused["session"]}
    answered = await http.post("/run", json={**session, "newMessage": message})
    assert answered.status_code == 200, answered.text
    return answered.text


async def paused(http: httpx.AsyncClient) -> dict[str, Any]:
    """The turn whose call breaks the rule, as it waits."""
    response = await http.post(TURNS, json={"input": "Refund A1."})
    assert response.status_code == 202, response.text
    body: dict[str, Any] = response.json()
    [waiting] = body["calls"]
    assert waiting["name"] == "adk_request_confirmation"
    hint = waiting["args"]["toolConfirmation"]["hint"]
    assert RULE in hint
    assert "refund(A1, 50)" in hint
    assert PAID == []
    return body


async def test_yes_runs_the_call_once(http: httpx.AsyncClient) -> None:
    waits = await paused(http)
    assert "Done." in await answer(http, waits, confirmed=True)
    assert PAID == [50]


async def test_no_does_not_run_it(http: httpx.AsyncClient) -> None:
    waits = await paused(http)
    assert RULE in await answer(http, waits, confirmed=False)
    assert PAID == []

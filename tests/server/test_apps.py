"""Every route takes an app: a plugin app is seen and managed as ours is, by its own users."""

import json
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from google.adk.agents import LlmAgent

from acc_ace import Container, build_container
from acc_ace.core.playbook.manual_edit import read_batch
from acc_ace.core.playbook.playbook_service import PlaybookService
from acc_ace.server.app import create_app
from config import ROLES, Settings
from schemas.base import PlaybookScope
from tests.fakes.extensions import is_there
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.desk import KEY, Desk
from tests.server.asgi import client

RULE = "Never restart db-01 during business hours."
LESSON = "Read the log before a restart."
DESK = {"app": KEY.app, "user": KEY.user, "q": "restart"}
BASE = f"/v1/sessions/{KEY.session}"


@pytest.fixture
async def desk(container: Container) -> Desk:
    """An app of the plugin over the server's stores, with a turn and a lesson."""
    desk = Desk(LlmAgent(name="helper", model=ScriptedLlm()), over=container)
    await desk.ask(f"Rule: {RULE}")
    service = PlaybookService(
        container.playbooks,
        PlaybookScope(KEY.app),
        person=KEY.user,
        limits=container.settings.limits,
        clock=container.clock,
    )
    lesson = {"type": "ADD", "section": "strategies", "content": LESSON}
    await service.apply(read_batch(json.dumps(lesson)))
    return desk


READ = [
    ("/v1/sessions", "s1"),
    (BASE, '"rules":1'),
    (f"{BASE}/turns", RULE),
    (f"{BASE}/ccs", RULE),
    (f"{BASE}/ccs/history", RULE),
    (f"{BASE}/ccs/versions/1", RULE),
    (f"{BASE}/rules", RULE),
    (f"{BASE}/turns/1/requests", RULE),
    (f"{BASE}/turns/1/recall", '"turn":1'),
    (f"{BASE}/turns/1/state", RULE),
    (f"/v1/memory/artifacts/turn:{KEY.session}:1", RULE),
    (f"{BASE}/cost", "scripted/test"),
    ("/v1/playbook", LESSON),
    ("/v1/playbook/deltas", LESSON),
    ("/v1/playbook/versions", '"version":1'),
    ("/v1/playbook/search", LESSON),
    *([("/v1/playbook/export", LESSON)] if is_there("playbook_files") else []),
]


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize(("route", "shown"), READ, ids=[route for route, _ in READ])
async def test_what_is_stored_for_an_app_is_read_under_its_name_alone(
    http: httpx.AsyncClient, route: str, shown: str
) -> None:
    its = await http.get(route, params=DESK)
    assert its.status_code == 200, its.text
    assert shown in its.text
    ours = await http.get(route, params={**DESK, "app": "acc_ace"})
    assert shown not in ours.text


@pytest.mark.usefixtures("desk")
async def test_the_notes_of_an_app_are_told_from_its_answer(http: httpx.AsyncClient) -> None:
    [turn] = (await http.get(f"{BASE}/turns", params=DESK)).json()["items"]
    assert turn["notes"] == [f"In force: c-0001 {RULE}"]
    assert "c-0001" not in turn["answer"]


async def test_rules_of_an_app_are_made_and_lifted(http: httpx.AsyncClient, desk: Desk) -> None:
    made = await http.post(f"{BASE}/rules", json={"text": "No peanuts."}, params=DESK)
    assert made.status_code == 201
    assert await desk.constraints() == [RULE, "No peanuts."]
    gone = await http.delete(f"{BASE}/rules/c-0001", params=DESK)
    assert gone.status_code == 204
    assert await desk.constraints() == ["No peanuts."]
    await http.post(f"{BASE}/undo", params=DESK)
    assert await desk.constraints() == [RULE, "No peanuts."]


@pytest.mark.usefixtures("desk")
async def test_the_playbook_of_an_app_is_edited(http: httpx.AsyncClient) -> None:
    bullet = (await http.get("/v1/playbook", params=DESK)).json()["bullets"][0]["id"]
    pinned = await http.patch(f"/v1/playbook/bullets/{bullet}", json={"pinned": True}, params=DESK)
    assert pinned.status_code == 200, pinned.text
    assert (await http.get("/v1/playbook", params=DESK)).json()["version"] == 2
    assert (await http.get("/v1/playbook")).json()["version"] == 0


@pytest.mark.usefixtures("desk")
async def test_feedback_on_a_turn_of_an_app_teaches_its_playbook(http: httpx.AsyncClient) -> None:
    given = await http.post(f"{BASE}/turns/1/feedback", json={"thumbs": "up"}, params=DESK)
    assert (given.status_code, given.json()["fresh"]) == (200, True)
    [turn] = (await http.get(f"{BASE}/turns", params=DESK)).json()["items"]
    assert turn["feedback"][0]["thumbs"] == "up"


@pytest.mark.usefixtures("desk")
async def test_a_turn_of_another_app_is_its_own_to_take(http: httpx.AsyncClient) -> None:
    refused = await http.post(f"{BASE}/turns", json={"input": "hello"}, params=DESK)
    assert refused.status_code == 422
    assert "this server does not host the app 'desk'" in refused.json()["detail"]


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize("route", [route for route, _ in READ])
async def test_an_unknown_app_is_named_with_those_that_the_user_has(
    http: httpx.AsyncClient, route: str
) -> None:
    wrong = await http.get(route, params={**DESK, "app": "desc"})
    assert wrong.status_code == 404
    said = "nothing is stored for an app 'desc'; apps with data of yours: acc_ace, desk"
    assert wrong.json()["detail"] == said


@pytest.mark.usefixtures("desk")
async def test_apps_are_listed_for_those_who_have_data_in_them(http: httpx.AsyncClient) -> None:
    assert (await http.get("/v1/apps", params={"user": KEY.user})).json() == ["acc_ace", "desk"]
    assert (await http.get("/v1/apps", params={"user": "mallory"})).json() == ["acc_ace"]


async def test_with_tokens_an_app_opens_nothing_of_other_users() -> None:
    settings = Settings(
        store="memory",
        serve_web_interface=False,
        auth_tokens={"mallory": "token-of-mallory"},
    )
    container = build_container(settings)
    app: FastAPI = create_app(container, models=dict.fromkeys(ROLES, ScriptedLlm()))
    await Desk(LlmAgent(name="helper", model=ScriptedLlm()), over=container).ask(RULE)
    headers = {"Authorization": "Bearer token-of-mallory"}
    async with client(app, headers=headers) as http:
        found: list[Any] = [
            await http.get(route, params={"app": KEY.app, "q": "restart"})
            for route, shown in READ
            if shown not in {LESSON, '"version":1'}
        ]
        assert [response.status_code for response in found[1:]] == [404] * 5 + [200] + [404] * 5
        assert found[0].json()["items"] == []
        assert RULE not in "".join(response.text for response in found)
        held = await http.get("/v1/playbook/held", params={"app": KEY.app})
        assert held.status_code == 403
    await app.state.acc_ace.close()

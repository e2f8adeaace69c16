"""What began a turn that waited for a person is recalled after its events are deleted."""

from typing import Any

import httpx

from acc_ace import build_container
from acc_ace.server.app import create_app
from config import ROLES
from schemas.artifact import RecallQuery
from schemas.base import SessionKey
from tests.fakes.place import Place
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.server.asgi import client

KEY = SessionKey("acc_ace", "user", "s-1")
SESSIONS = f"/apps/{KEY.app}/users/{KEY.user}/sessions"


def run(part: dict[str, Any]) -> dict[str, Any]:
    content = {"role": "user", "parts": [part]}
    return {"appName": KEY.app, "userId": KEY.user, "sessionId": KEY.session, "newMessage": content}


async def confirm(http: httpx.AsyncClient, asked: httpx.Response) -> None:
    """Answer the call that waits."""
    [waiting] = [
        part["functionCall"]
        for event in asked.json()
        for part in event.get("content", {}).get("parts", [])
        if part.get("functionCall", {}).get("id") in event.get("longRunningToolIds", [])
    ]
    answer = {"id": waiting["id"], "name": waiting["name"], "response": {"confirmed": True}}
    answered = await http.post("/run", json=run({"functionResponse": answer}))
    assert answered.status_code == 200, answered.text


async def test_the_words_of_a_turn_that_was_confirmed_outlive_its_events(place: Place) -> None:
    settings = place.with_settings(
        learning="off",
        session_events="offload",
        session_turns=2,
        serve_web_interface=False,
        tools=("tests.fakes.confirmed_tool:restart_server",),
    )
    model = ScriptedLlm().on(
        "generator", call("restart_server", server="db-01"), {"final_answer": "Done."}
    )
    app = create_app(build_container(settings), models=dict.fromkeys(ROLES, model))
    artifacts = app.state.acc_ace.container.artifacts
    async with client(app) as http:
        await http.post(SESSIONS, json={"sessionId": KEY.session})
        await confirm(http, await http.post("/run", json=run({"text": "Zanzibar needs db-01."})))
        for number in range(4):
            said = {"input": f"Small talk {number}."}
            assert (await http.post("/v1/sessions/s-1/turns", json=said)).status_code == 200
        events = await http.get(f"{SESSIONS}/{KEY.session}")
    found = await artifacts.recall(RecallQuery(key=KEY, text="Zanzibar"))
    await app.state.acc_ace.close()
    assert "Zanzibar" not in events.text
    contents = [candidate.artifact.content for candidate in found.candidates]
    assert [text for text in contents if text.startswith("user: Zanzibar needs db-01.")]

"""A turn by ADK's routes whose session is deleted while it waits is refused, and not kept."""

import asyncio

import pytest

from acc_ace import build_container
from acc_ace.conversation import APP_NAME
from acc_ace.server.app import create_app
from acc_ace.server.server_context import ServerContext
from config import ROLES
from schemas.base import SessionKey
from tests.fakes.lock_watch import asked_for
from tests.fakes.place import Place
from tests.fakes.scripted_llm import ScriptedLlm
from tests.server.asgi import client

KEY = SessionKey(APP_NAME, "aiko", "s1")
SESSIONS = f"/apps/{APP_NAME}/users/aiko/sessions"


@pytest.mark.parametrize("path", ["/run", "/run_sse"])
async def test_it_is_refused_and_begins_no_session(
    place: Place, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = place.with_settings(learning="off", serve_web_interface=False)
    app = create_app(build_container(settings), models=dict.fromkeys(ROLES, ScriptedLlm()))
    context: ServerContext = app.state.acc_ace
    words = {"role": "user", "parts": [{"text": "Are you there?"}]}
    body = {"appName": APP_NAME, "userId": "aiko", "sessionId": "s1", "newMessage": words}
    async with client(app, headers={"X-User": "aiko"}) as http:
        await http.post(SESSIONS, json={"sessionId": "s1"})
        async with context.container.lock.hold(KEY, wait_s=0):
            asked = asked_for(context.container.lock, monkeypatch)
            waiting = asyncio.create_task(http.post(path, json=body))
            await asked.wait()
            # As a deletion does, which holds the session.
            await context.session_service.drop(KEY)
            assert not waiting.done()
        refused = await waiting
        assert refused.status_code == (409 if path == "/run" else 200)
        assert "session 's1' was deleted while its turn waited" in refused.text
        assert (await http.get(f"{SESSIONS}/s1")).status_code == 404
    await context.close()

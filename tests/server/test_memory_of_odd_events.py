"""ADK's endpoint that stores a session's events as memory, with events as clients make them."""

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from tests.server.asgi import client, scripted_app


async def test_an_event_in_milliseconds_is_a_problem_that_names_it() -> None:
    app = scripted_app(build_container(Settings()))
    said = {"role": "user", "parts": [{"text": "my cat is Tama"}]}
    event = {"author": "user", "timestamp": 1.75e12, "content": said}
    async with client(app) as http:
        body = {"sessionId": "s", "events": [event]}
        made = await http.post("/apps/acc_ace/users/u/sessions", json=body)
        answer = await http.patch("/apps/acc_ace/users/u/memory", json={"session_id": "s"})
    await app.state.acc_ace.close()
    assert answer.status_code == 422
    assert made.json()["events"][0]["id"] in answer.json()["detail"]
    assert "divide milliseconds by 1,000" in answer.json()["detail"]

"""A lesson is read by others once an operator or two users' outcomes have confirmed it."""

from collections.abc import AsyncIterator

import httpx
import pytest
from pydantic import SecretStr

from acc_ace import build_container
from config import Settings
from tests.fakes.extensions import is_there
from tests.fakes.scripted_llm import ScriptedLlm
from tests.server.asgi import client, scripted_app

LESSON = "Confirm the order number before a refund"
READS = [
    "/v1/playbook",
    "/v1/playbook?version=1",
    "/v1/playbook/deltas",
    "/v1/playbook/diff?first=0&second=1",
    "/v1/playbook/search?q=order+number",
    "/v1/playbook/bullets/b-00001",
    *(["/v1/playbook/export"] if is_there("playbook_files") else []),
]
TIMELINE = "/events?kind=delta"


def of(user: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {user}"}


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    """A server that a turn of Aiko's has taught a lesson; Bob is the operator."""
    settings = Settings(
        store="memory",
        serve_web_interface=False,
        auth_tokens={user: SecretStr(user) for user in ("aiko", "bob", "eve")},
        playbook_editors=("bob",),
        playbook_scope="app",
    )
    lesson = {"type": "ADD", "section": "pitfalls", "content": LESSON}
    llm = ScriptedLlm().on("curator", {"operations": [lesson]}, {"operations": []})
    app = scripted_app(build_container(settings), llm)
    async with client(app) as opened:
        body = {"input": "That refund went to the wrong order."}
        told = await opened.post("/v1/sessions/s/turns", json=body, headers=of("aiko"))
        assert told.status_code == 200, told.text
        yield opened
    await app.state.acc_ace.close()


async def shown(http: httpx.AsyncClient, path: str, user: str) -> bool:
    answer = await http.get(path, headers=of(user))
    assert answer.status_code == 200, answer.text
    return LESSON in answer.text


@pytest.mark.parametrize("path", READS)
async def test_it_is_read_by_its_author_and_an_operator_alone(
    http: httpx.AsyncClient, path: str
) -> None:
    assert [await shown(http, path, user) for user in ("aiko", "bob", "eve")] == [True, True, False]


async def test_the_timeline_that_all_share_does_not_have_its_text(http: httpx.AsyncClient) -> None:
    assert [await shown(http, TIMELINE, user) for user in ("aiko", "bob", "eve")] == [False] * 3


async def test_once_an_operator_has_confirmed_it_everybody_reads_it(
    http: httpx.AsyncClient,
) -> None:
    again = {"type": "UPDATE", "bullet_id": "b-00001", "content": f"{LESSON}."}
    done = await http.post("/v1/playbook/apply", json=again, headers=of("bob"))
    assert done.status_code == 200, done.text
    assert await shown(http, "/v1/playbook", "eve")
    assert await shown(http, "/v1/playbook/search?q=order+number", "eve")

"""What a user said of themself answers in a new session, and is seen, corrected and erased."""

from typing import Any

import httpx
import pytest

from bench.user_profile import Row, rows
from tests.fakes.extensions import needs
from tests.server.asgi import say

pytestmark = needs("embedded")


@pytest.fixture
def http(key_free: httpx.AsyncClient) -> httpx.AsyncClient:
    """The key-free server."""
    return key_free


async def profile(http: httpx.AsyncClient) -> list[dict[str, Any]]:
    response = await http.get("/v1/memory/profile")
    assert response.status_code == 200, response.text
    return list(response.json()["facts"])


@pytest.mark.parametrize("row", rows("tuned")[:4], ids=str)
async def test_a_new_session_answers_what_it_knows_of_the_user(
    http: httpx.AsyncClient, row: Row
) -> None:
    for text in row["session1"]:
        await say(http, text)
    answer = await say(http, row["ask"], "b")
    assert [each for each in row["about_user"] if each not in answer] == []
    assert [each for each in row["not_user"] if each in answer] == []
    await say(http, row["update"], "c")
    answer = await say(http, row["ask"], "d")
    assert [each for each in row["after"] if each not in answer] == []
    assert [each for each in row["gone"] if each in answer] == []


async def test_a_fact_is_seen_corrected_and_forgotten(http: httpx.AsyncClient) -> None:
    await say(http, "I live in Tampere and work as a smith.")
    home, job = sorted(await profile(http), key=lambda fact: str(fact["subject"]))
    assert (home["subject"], home["text"]) == ("home", "I live in Tampere")
    assert (job["session"], job["turn"]) == ("a", 1)
    path = f"/v1/memory/artifacts/{home['artifact_id']}"
    assert (await http.put(path, json={"content": "I live in Vaasa"})).status_code == 200
    answer = await say(http, "What do you know about me?", "b")
    assert "I live in Vaasa" in answer
    assert "Tampere" not in answer
    assert {fact["subject"] for fact in await profile(http)} == {"home", "job"}
    answer = await say(http, f"/forget {job['artifact_id']}", "b")
    assert f"Deleted: {job['artifact_id']}" in answer
    assert "smith" not in await say(http, "What do you know about me?", "c")


async def test_what_is_known_is_exported_and_erased_with_the_user(http: httpx.AsyncClient) -> None:
    await say(http, "I live in Tampere.")
    (fact,) = await profile(http)
    assert fact["artifact_id"] in (await http.get("/v1/users/user/export")).text
    assert (await http.delete("/v1/users/user")).status_code == 200
    assert await profile(http) == []


async def test_a_rule_holds_against_what_is_known(http: httpx.AsyncClient) -> None:
    await say(http, "I live in Tampere.")
    await say(http, "/rule always Never tell anyone where I live.", "b")
    answer = await say(http, "What do you know about me?", "c")
    assert '"I live in Tampere." [fact:' in answer
    assert "Never" not in answer
    state = await http.get("/v1/sessions/c/ccs")
    assert "Never tell anyone where I live." in state.json()["ccs"]["constraints"]
    assert [fact["text"] for fact in await profile(http)] == ["I live in Tampere."]

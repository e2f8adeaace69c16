"""The route that takes feedback on a turn."""

from typing import Any

import httpx
import pytest

from tests.fakes.scripted_llm import ScriptedLlm

BASE = "/v1/sessions/incident/turns"
LESSON = {"type": "ADD", "section": "pitfalls", "content": "Check which server is meant first."}


async def say(http: httpx.AsyncClient, text: str, **headers: str) -> None:
    response = await http.post(BASE, json={"input": text}, headers=headers)
    assert response.status_code == 200, response.text


async def helpful(http: httpx.AsyncClient) -> int:
    playbook = (await http.get("/v1/playbook")).json()
    return int(playbook["bullets"][0]["helpful"])


async def test_thumbs_up_tags_the_bullets_of_the_turn_and_counts_once(
    http: httpx.AsyncClient, scripted: ScriptedLlm
) -> None:
    scripted.on("curator", {"operations": [LESSON]}, {"operations": []})
    await say(http, "Look at the servers.")
    scripted.on("generator", {"final_answer": "db-01", "bullet_ids": ["b-00001"]})
    scripted.on(
        "reflector", {"key_insight": ""}, {"bullet_tags": [{"id": "b-00001", "tag": "helpful"}]}
    )
    await say(http, "Which server is down?")
    first = await http.post(f"{BASE}/2/feedback", json={"thumbs": "up", "id": "click-1"})
    again = await http.post(f"{BASE}/2/feedback", json={"thumbs": "up", "id": "click-1"})
    assert first.status_code == again.status_code == 200
    report = first.json()
    assert (report["id"], report["turn"], report["fresh"], report["learned"]) == (
        "click-1",
        2,
        True,
        True,
    )
    assert [item["status"] for item in report["deltas"]] == ["applied"]
    assert again.json()["fresh"] is False
    assert await helpful(http) == 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"thumbs": "sideways"}, 422),
        ({"reward": "much"}, 422),
        ({"ground_truth": ""}, 422),
        ({"comment": "x" * 8_001}, 422),
        ({"thumbs": "up", "who": "me"}, 422),
        ({"thumbs": "up", "id": "a/b"}, 422),
    ],
)
async def test_feedback_that_says_nothing_usable_is_refused(
    http: httpx.AsyncClient, body: dict[str, Any], status: int
) -> None:
    await say(http, "Which server is down?")
    response = await http.post(f"{BASE}/1/feedback", json=body)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"


async def test_a_reward_that_is_no_number_is_refused(http: httpx.AsyncClient) -> None:
    await say(http, "Which server is down?")
    headers = {"content-type": "application/json"}
    response = await http.post(f"{BASE}/1/feedback", content='{"reward": NaN}', headers=headers)
    assert response.status_code in {400, 422}


async def test_feedback_on_a_turn_that_never_was_is_not_found(http: httpx.AsyncClient) -> None:
    await say(http, "Which server is down?")
    response = await http.post(f"{BASE}/7/feedback", json={"thumbs": "up"})
    assert response.status_code == 404
    assert response.json()["code"] == "not_found"


async def test_nobody_judges_the_turn_of_another_user(http: httpx.AsyncClient) -> None:
    await say(http, "Which server is down?", **{"X-User": "alice"})
    response = await http.post(
        f"{BASE}/1/feedback", json={"thumbs": "down"}, headers={"X-User": "bob"}
    )
    assert response.status_code == 404

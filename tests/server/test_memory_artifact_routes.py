"""A user reads, corrects and forgets what recall finds, on both databases."""

from collections.abc import AsyncIterator

import httpx
import pytest

from acc_ace.config import ROLES
from acc_ace.server.app import create_app
from tests.fakes.place import Place
from tests.fakes.scripted_llm import ScriptedLlm
from tests.server.asgi import client

ARTIFACT = "/v1/memory/artifacts/turn:s1:1"
SAID, MEANT = "The disk of db-01 has 64 GB.", "user: The disk of db-01 has 512 GB.\nagent: ok"


@pytest.fixture
async def http(place: Place) -> AsyncIterator[httpx.AsyncClient]:
    """A server with a session that said something wrong."""
    app = create_app(place.open(), models=dict.fromkeys(ROLES, ScriptedLlm()))
    async with client(app) as opened:
        await say(opened, SAID)
        yield opened
    await app.state.acc_ace.close()


async def say(http: httpx.AsyncClient, text: str, session: str = "s1") -> None:
    said = await http.post(f"/v1/sessions/{session}/turns", json={"input": text})
    assert said.status_code == 200, said.text


async def recalled(http: httpx.AsyncClient) -> tuple[dict[str, tuple[bool, str]], str]:
    """The verdicts on what a new session recalls, and the artifacts that its models saw."""
    await say(http, "How many GB has the disk of db-01?", "s2")
    items = (await http.get("/v1/sessions/s2/turns/1/recall")).json()["items"]
    calls = (await http.get("/v1/sessions/s2/turns/1/requests")).json()["calls"]
    parts = [part for call in calls for part in call["parts"] if part["kind"] == "artifacts"]
    verdicts = {item["artifact_id"]: (item["ok"], item["reason"]) for item in items}
    return verdicts, "".join(part["text"] for part in parts)


async def test_a_correction_is_recalled_and_the_version_before_never_qualifies(
    http: httpx.AsyncClient,
) -> None:
    before = (await http.get(ARTIFACT)).json()
    assert SAID in before["content"]
    for _ in range(2):
        corrected = await http.put(ARTIFACT, json={"content": MEANT})
        assert corrected.status_code == 200
    now = (await http.get(ARTIFACT)).json()
    assert now == corrected.json() == {**before, "content": MEANT, "source": "turn (corrected)"}
    verdicts, shown = await recalled(http)
    assert verdicts["turn:s1:1"] == (True, "relevant")
    assert verdicts.get("superseded:turn:s1:1", (False, "stale")) == (False, "stale")
    assert "512 GB" in shown
    assert "64 GB" not in shown


async def test_the_last_turn_is_shown_to_the_next_one_as_it_was_corrected(
    http: httpx.AsyncClient,
) -> None:
    await http.put(ARTIFACT, json={"content": MEANT})
    await say(http, "And?")
    items = (await http.get("/v1/sessions/s1/turns/2/recall")).json()["items"]
    assert [i["reason"] for i in items if i["artifact_id"] == "turn:s1:1"] == ["previous_turn"]


async def test_what_is_forgotten_is_recalled_no_more_with_the_version_before(
    http: httpx.AsyncClient,
) -> None:
    await http.put(ARTIFACT, json={"content": MEANT})
    assert (await http.delete(ARTIFACT)).status_code == 200
    for path in (ARTIFACT, "/v1/memory/artifacts/superseded:turn:s1:1"):
        assert (await http.get(path)).status_code == 404
    assert (await http.delete(ARTIFACT)).status_code == 404
    verdicts, shown = await recalled(http)
    assert verdicts == {}
    assert "GB" not in shown


async def test_another_user_has_no_such_artifact(http: httpx.AsyncClient) -> None:
    path = f"{ARTIFACT}?user=eve"
    answers = [
        await http.get(path),
        await http.put(path, json={"content": MEANT}),
        await http.delete(path),
    ]
    assert [answer.status_code for answer in answers] == [404, 404, 404]
    assert SAID in (await http.get(ARTIFACT)).json()["content"]


@pytest.mark.parametrize("content", ["", " \n", "word " * 9_000])
async def test_a_correction_that_cannot_be_kept_says_why(
    http: httpx.AsyncClient, content: str
) -> None:
    refused = await http.put(ARTIFACT, json={"content": content})
    assert refused.status_code == 422
    assert refused.json()["detail"]
    assert SAID in (await http.get(ARTIFACT)).json()["content"]


async def test_an_old_version_names_the_one_to_correct(http: httpx.AsyncClient) -> None:
    await http.put(ARTIFACT, json={"content": MEANT})
    refused = await http.put("/v1/memory/artifacts/superseded:turn:s1:1", json={"content": MEANT})
    assert refused.status_code == 422
    assert "correct 'turn:s1:1'" in refused.json()["detail"]

"""Deletion follows derivation: what a user deletes comes back in no session, by no way."""

import json

import httpx
import pytest

from tests.fakes.extensions import needs

pytestmark = needs("embedded")

FACTS = [
    ("The PIN of the safe is 4711.", "What is the PIN of the safe?", "4711"),
    ("My doctor is called Meyer.", "What is my doctor called?", "Meyer"),
    ("My salary is 90000 a year.", "What is my salary?", "90000"),
    ("I live in Quellenstrasse 12 in Vienna.", "Where do I live?", "Quellenstrasse"),
    ("Our supplier for bolts is Brandt and Sons.", "Who is our supplier for bolts?", "Brandt"),
    ("The wifi password of the office is bluebird77.", "What is the wifi password?", "bluebird77"),
    ("私の給料は90000です。", "私の給料はいくらですか？", "90000"),
    ("金庫の暗証番号は4711です。", "金庫の暗証番号は何ですか？", "4711"),
    ("主治医は東雲先生です。", "主治医は誰ですか？", "東雲"),
    ("娘の誕生日は3月14日です。", "娘の誕生日はいつですか？", "3月14日"),
]


@pytest.fixture
def http(key_free: httpx.AsyncClient) -> httpx.AsyncClient:
    """The key-free server."""
    return key_free


async def say(http: httpx.AsyncClient, text: str, session: str = "a") -> str:
    said = await http.post(f"/v1/sessions/{session}/turns", json={"input": text})
    assert said.status_code == 200, said.text
    assert said.json()["warnings"] == []
    return str(said.json()["answer"])


async def delete(http: httpx.AsyncClient, artifact: str, **params: object) -> dict[str, list[str]]:
    path = f"/v1/memory/artifacts/{artifact}"
    done = await http.delete(path, params={**params})  # type: ignore[dict-item]
    assert done.status_code == 200, done.text
    erased: dict[str, list[str]] = done.json()
    return erased


async def asked(http: httpx.AsyncClient, session: str, turn: int) -> str:
    """All that the models of a turn were asked."""
    calls = (await http.get(f"/v1/sessions/{session}/turns/{turn}/requests")).json()["calls"]
    assert calls
    return "\n".join(part["text"] for call in calls for part in call["parts"])


@pytest.mark.parametrize(("fact", "question", "secret"), FACTS)
async def test_a_deleted_fact_is_in_no_answer_and_no_request_of_any_session(
    http: httpx.AsyncClient, fact: str, question: str, secret: str
) -> None:
    await say(http, fact)
    assert secret in await say(http, question)
    assert secret in await say(http, question, "b")
    erased = await delete(http, "turn:a:1")
    assert {"turn:a:1", "turn:a:2", "turn:b:1"} <= {*erased["removed"], *erased["shortened"]}
    assert {*erased["sessions"]} == {"a", "b"}
    for session, turn in (("a", 3), ("b", 2), ("c", 1)):
        assert secret not in await say(http, question, session)
        assert secret not in await asked(http, session, turn)
        assert secret not in (await http.get(f"/v1/sessions/{session}/ccs")).text


async def test_no_way_back_brings_a_deleted_fact_back(http: httpx.AsyncClient) -> None:
    fact, question, secret = FACTS[0]
    await say(http, fact)
    await say(http, question)
    await delete(http, "turn:a:1")
    for change, version in (
        ("undo", {}),
        ("rollback", {"version": 1}),
        ("undo", {}),
        ("reset", {}),
    ):
        changed = await http.post(f"/v1/sessions/a/{change}", json=version)
        assert changed.is_success, changed.text
        assert secret not in await say(http, question)
    versions = await http.get("/v1/sessions/a/ccs/history")
    assert versions.is_success
    assert secret not in versions.text


async def test_a_dry_run_lists_the_same_and_deletes_nothing(http: httpx.AsyncClient) -> None:
    fact, question, secret = FACTS[0]
    await say(http, fact)
    await say(http, question)
    listed = await delete(http, "turn:a:1", dry_run=True)
    assert secret in await say(http, question)
    done = await delete(http, "turn:a:1")
    assert {*listed["removed"]} <= {*done["removed"]}


async def test_what_only_stood_beside_it_and_the_users_own_statements_stay(
    http: httpx.AsyncClient,
) -> None:
    fact, question, secret = FACTS[0]
    await say(http, fact)
    await say(http, "The lamp in the hall is on.")
    await say(http, "Never refund more than 20 euros.")
    await say(http, "The PIN of the safe is 4711, as I said.", "b")
    erased = await delete(http, "turn:a:1")
    assert "turn:a:2" not in erased["removed"]
    assert "turn:b:1" in erased["also"]
    assert "lamp in the hall" in await say(http, "Is the lamp in the hall on?")
    rules = (await http.get("/v1/sessions/a/rules")).json()["constraints"]
    assert [rule["text"] for rule in rules] == ["Never refund more than 20 euros."]
    assert secret in await say(http, question, "b")


async def test_a_deleted_document_is_quoted_no_more(http: httpx.AsyncClient) -> None:
    path, question = "/v1/memory/documents?name=keys.md", "Where does the key of the cellar hang?"
    text = b"The key of the cellar hangs on hook nineteen."
    await http.put(path, content=text, headers={"Content-Type": "text/plain"})
    assert "nineteen" in await say(http, question)
    assert (await http.delete(path)).json() == {"removed": 1}
    for session in ("a", "b"):
        assert "nineteen" not in await say(http, question, session)


async def test_a_deleted_session_takes_along_what_others_repeat_of_it(
    http: httpx.AsyncClient,
) -> None:
    fact, question, secret = FACTS[1]
    await say(http, fact)
    assert secret in await say(http, question, "b")
    assert (await http.delete("/v1/sessions/a")).status_code == 204
    for session in ("b", "c"):
        assert secret not in await say(http, question, session)


async def test_the_artifacts_of_a_turn_name_what_it_was_shown(http: httpx.AsyncClient) -> None:
    await say(http, FACTS[0][0])
    await say(http, FACTS[0][1], "b")
    artifact = (await http.get("/v1/memory/artifacts/turn:b:1")).json()
    assert artifact["quotes"] == ["turn:a:1"]
    assert "quotes" not in json.dumps((await http.get("/v1/memory/artifacts/turn:a:1")).json())

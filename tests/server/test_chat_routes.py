"""A chat can be shown: one session, and its turns page by page."""

from collections.abc import Callable, Coroutine
from typing import Any

import httpx
import pytest

from acc_ace.container import Container
from acc_ace.core.schemas.base import SessionKey
from tests.contract.values import interaction
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.server.test_session_routes import BASE, Say, say

__all__ = ["say"]

RULE = "Never restart db-01 during business hours."
Page = Callable[..., Coroutine[Any, Any, list[list[dict[str, Any]]]]]


@pytest.fixture
def pages(http: httpx.AsyncClient) -> Page:
    """All pages of the turns of the session 'incident'."""

    async def _pages(**params: Any) -> list[list[dict[str, Any]]]:
        found: list[list[dict[str, Any]]] = []
        cursor: dict[str, str] = {}
        while True:
            response = await http.get(f"{BASE}/turns", params={**params, **cursor})
            assert response.status_code == 200, response.text
            found.append(response.json()["items"])
            if (beyond := response.json()["next_cursor"]) is None:
                return found
            cursor = {"cursor": beyond}

    return _pages


async def test_a_session_says_what_it_is_about_and_what_it_cost(
    http: httpx.AsyncClient, say: Say
) -> None:
    report = await say(f"Rule: {RULE}")
    shown = (await http.get(BASE)).json()
    assert (shown["session"], shown["app"], shown["turn"]) == ("incident", "acc_ace", 1)
    assert (shown["rules"], shown["questions"]) == (1, 0)
    assert shown["version"] == report["ccs_version"]
    assert shown["gist"] == report["ccs"]["semantic_gist"]
    assert shown["cost"]["complete"] is False
    assert shown["created_at"] <= shown["updated_at"]


@pytest.mark.parametrize("route", [BASE, f"{BASE}/turns"])
async def test_the_session_of_another_user_is_not_found(
    http: httpx.AsyncClient, say: Say, route: str
) -> None:
    await say(RULE)
    assert (await http.get(route)).status_code == 200
    other = await http.get(route, params={"user": "mallory"})
    assert (other.status_code, other.json()["code"]) == (404, "not_found")
    assert RULE not in other.text


async def test_turns_come_page_by_page_from_either_end(say: Say, pages: Page) -> None:
    for number in range(1, 6):
        await say(f"fact {number}")
    newest = await pages(limit=2)
    assert [[turn["turn"] for turn in page] for page in newest] == [[5, 4], [3, 2], [1]]
    oldest = await pages(limit=2, order="oldest")
    assert [[turn["turn"] for turn in page] for page in oldest] == [[1, 2], [3, 4], [5]]
    assert oldest[0][0]["input"] == {"text": "fact 1", "authority": "user", "attachments": []}


async def test_a_turn_is_shown_as_it_was_said(
    http: httpx.AsyncClient, pages: Page, scripted: ScriptedLlm
) -> None:
    search = call("search_evidence", query="x" * 2_000)
    answer = {"final_answer": "All right."}
    scripted.on("generator", answer, search, answer)
    scripted.on("compressor", {}, {"rule_changes": [{"sentence": 1, "kind": "restriction"}]})
    await http.post("/v1/sessions/before/turns", json={"input": "The disk is full."})
    body = {"input": RULE, "attachments": [{"text": "Deploys are banned.", "source": "mail"}]}
    await http.post(f"{BASE}/turns", json=body)
    [[turn]] = await pages()
    assert turn["outcome"] == "answered"
    assert turn["input"] == {"text": RULE, "authority": "user", "attachments": ["mail"]}
    assert turn["answer"] == "All right."
    assert turn["notes"] == [f"In force: c-0001 {RULE} (to take it back, send only: no c-0001)"]
    [tool] = turn["tools"]
    assert (tool["name"], tool["is_error"]) == ("search_evidence", False)
    assert len(tool["arguments"]) == 501
    assert '"found"' in tool["result"]
    assert turn["ccs_version"] == 1
    assert turn["models"]["generator"] == "scripted/test"
    assert turn["cost"]["tokens"]["calls"] == 5
    assert turn["cost"]["cost"] == {"usd": None, "complete": False}


async def test_undone_turns_are_shown_as_undone(
    http: httpx.AsyncClient, say: Say, pages: Page
) -> None:
    await say("fact one")
    await say("fact two")
    await http.post(f"{BASE}/undo")
    await say("fact three")
    [turns] = await pages(order="oldest")
    assert [(turn["turn"], turn["outcome"]) for turn in turns] == [
        (1, "answered"),
        (2, "undone"),
        (2, "answered"),
    ]


async def test_the_words_of_a_turn_are_cut_where_they_are_long(
    container: Container, say: Say, pages: Page
) -> None:
    await say("hello")
    key = SessionKey("acc_ace", "user", "incident")
    [kept] = await container.evidence.list(key)
    long = kept.model_copy(update={"input": interaction(1, "y" * 50_000).input})
    await container.evidence.record(key, long)
    [[turn]] = await pages()
    assert turn["input"]["text"] == "y" * 20_000 + "…"


async def test_a_cursor_of_a_deleted_session_is_not_found(
    http: httpx.AsyncClient, say: Say
) -> None:
    await say("mine")
    cursor = (await http.get(f"{BASE}/turns")).json()["items"][0]["id"]
    await http.delete(BASE)
    gone = await http.get(f"{BASE}/turns", params={"cursor": cursor})
    assert gone.status_code == 404
    await say("fresh")
    lost = await http.get(f"{BASE}/turns", params={"cursor": "e-unknown"})
    assert (lost.status_code, "no turn 'e-unknown'" in lost.json()["detail"]) == (404, True)


@pytest.mark.parametrize("params", [{"limit": 0}, {"limit": 201}, {"order": "random"}])
async def test_a_wrong_page_is_refused(
    http: httpx.AsyncClient, say: Say, params: dict[str, Any]
) -> None:
    await say("mine")
    assert (await http.get(f"{BASE}/turns", params=params)).status_code == 422

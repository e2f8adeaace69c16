"""With a CCM that is not believed, what is not kept is listed at /rules and said once a session."""

from collections.abc import AsyncIterator

import httpx
import pytest

from acc_ace import build_container
from acc_ace.turn.ports import Ccm
from config import Settings
from schemas.base import Tenant
from tests.fakes.scripted_llm import ScriptedLlm
from tests.server.asgi import client, scripted_app

MUTE: dict[str, object] = {"semantic_gist": "Work.", "rule_changes": []}
SURE = "Use metric units here."
MAYBE = (
    "Please keep the tone friendly with the customers.",
    "Refunds over 50 need a second look.",
    "私用っぽいのが混ざってたら保留にして聞いてね。",
)
ONCE = "Said once: what else is not kept for that is listed at /rules."


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    """A server whose compressor has passed over five rules of this user."""
    container = build_container(Settings(store="memory", serve_web_interface=False))
    work = container.unit_of_work()
    tenant, ccm = Tenant("acc_ace", "user"), Ccm("scripted/test")
    work.add(container.ccm_records.add_write(tenant, ccm, "SSSSS"))
    await work.commit()
    app = scripted_app(container, ScriptedLlm().on("compressor", MUTE))
    async with client(app) as opened:
        yield opened
    await app.state.acc_ace.close()


async def say(http: httpx.AsyncClient, text: str, session: str = "s") -> str:
    """The lines about rules below the answer to a message."""
    answer = await http.post(f"/v1/sessions/{session}/turns", json={"input": text})
    assert answer.status_code == 200, answer.text
    return "\n".join(answer.json()["notes"])


async def listed(http: httpx.AsyncClient, session: str = "s") -> list[tuple[str, int]]:
    rules = (await http.get(f"/v1/sessions/{session}/rules")).json()
    return [(each["text"], each["turn"]) for each in rules["not_kept"]]


async def test_it_is_said_once_with_the_reason_and_listed_from_then_on(
    http: httpx.AsyncClient,
) -> None:
    first = await say(http, MAYBE[0])
    assert f"/rule {MAYBE[0]}" in first
    assert ONCE in first
    assert [await say(http, text) for text in MAYBE[1:]] == ["", ""]
    assert await listed(http) == [(text, turn) for turn, text in enumerate(MAYBE, start=1)]
    assert ONCE in await say(http, MAYBE[1], session="another")


async def test_what_the_reader_is_sure_of_is_in_force_and_said_as_ever(
    http: httpx.AsyncClient,
) -> None:
    await say(http, MAYBE[0])
    assert f"c-0001 {SURE}" in await say(http, SURE)
    assert await listed(http) == [(MAYBE[0], 1)]


async def test_what_is_made_a_rule_leaves_the_list(http: httpx.AsyncClient) -> None:
    await say(http, MAYBE[0])
    await say(http, MAYBE[1])
    made = await http.post("/v1/sessions/s/rules", json={"text": MAYBE[0]})
    assert made.status_code == 201
    assert await listed(http) == [(MAYBE[1], 2)]
    await say(http, f"/rule {MAYBE[1]}")
    assert await listed(http) == []


async def test_the_list_is_bounded_and_said_again_words_are_listed_once(
    http: httpx.AsyncClient,
) -> None:
    for number in range(22):
        await say(http, f"Refunds over {50 + number} need a second look.")
    await say(http, "Refunds over 60 need a second look.")
    texts = [text for text, _ in await listed(http)]
    assert len(texts) == 20
    assert texts[-1] == "Refunds over 60 need a second look."
    assert texts.count(texts[-1]) == 1


async def test_an_undone_turn_leaves_nothing_in_it(http: httpx.AsyncClient) -> None:
    await say(http, MAYBE[0])
    await say(http, MAYBE[1])
    assert (await http.post("/v1/sessions/s/undo")).status_code == 200
    assert await listed(http) == [(MAYBE[0], 1)]

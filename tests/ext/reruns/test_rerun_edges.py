"""What a re-run leaves out, counts and reads, at the edges."""

import asyncio
import json

import httpx
import pytest

from tests.ext.reruns.turns import (
    Serve,
    again,
    answers,
    last,
    offer,
    path,
    refused,
    rule,
    say,
    words,
)
from tests.fakes.extensions import needs
from tests.fakes.fake_gemini import FakeGemini, says, wire_text

pytestmark = needs("reruns")

REFUNDS = "Never refund without asking Bob."


async def test_a_rule_left_out_changes_no_other_rule(
    http: httpx.AsyncClient, gemini: FakeGemini
) -> None:
    await rule(http, REFUNDS)
    await rule(http, "Never refund without asking Bob. Never ask Carol.")
    await rule(http, "a")
    await say(http, "Hello?")
    await again(http, "c-0001", "c-0003")
    sent = wire_text(last(gemini))
    assert "- [c-0002] Never refund without asking Bob. Never ask Carol.\n" in sent
    assert "[c-0001]" not in sent
    assert "[c-0003]" not in sent
    assert '<input name="state">' in sent


async def test_without_its_only_rule_a_request_says_that_there_is_none(
    http: httpx.AsyncClient, gemini: FakeGemini
) -> None:
    await rule(http, REFUNDS)
    await say(http, "Hello?")
    await again(http, "c-0001")
    assert "constraints: none\ngoal_orientation: none" in wire_text(last(gemini))


async def test_words_of_a_rule_that_stay_are_named(http: httpx.AsyncClient) -> None:
    await rule(http, REFUNDS)
    await say(http, f"You know: {REFUNDS}")
    assert "x_t" in (await again(http, "c-0001"))["still_in"]


async def test_a_rule_said_with_other_white_space_is_left_out_of_the_state_too(
    http: httpx.AsyncClient, gemini: FakeGemini
) -> None:
    await rule(http, REFUNDS)
    await say(http, "Never refund  without\tasking Bob.")
    await say(http, "Hello?")
    again_once = await again(http, "c-0001", turn=2)
    assert "asking" not in wire_text(last(gemini)).partition('<input name="state">')[2]
    assert "state" not in again_once["still_in"]


@pytest.mark.parametrize(
    "text", ['{"id": 1, "name": "Aiko"}\n{"id": 2, "name": "Bob"}', "{'name': 'x', 'args'"]
)
async def test_lines_that_look_like_calls_are_no_calls(
    http: httpx.AsyncClient, gemini: FakeGemini, text: str
) -> None:
    gemini.script("generator", answers(text), answers(text))
    await say(http, "List them.")
    assert (await offer(http))["before"]["answer"] == text
    reply = await again(http)
    assert (reply["answer"], reply["calls"]) == (text, [])


async def test_a_model_that_takes_no_schema_beside_tools_is_sent_none(
    http: httpx.AsyncClient, gemini: FakeGemini
) -> None:
    gemini.script("generator", answers("First."), says("Plain."))
    await say(http, "Hello?")
    assert (await again(http, model="gemini-2.5-pro"))["answer"] == "Plain."
    config = last(gemini)["generationConfig"]
    assert "responseSchema" not in config
    assert "responseJsonSchema" not in config


async def test_re_runs_at_once_do_not_pass_the_ceiling_together(
    gemini: FakeGemini, serve: Serve
) -> None:
    http = await serve(max_cost=0.0005)
    await say(http, "Hello?")
    body = {"model": "", "without": []}
    replies = await asyncio.gather(*(http.post(path(), json=body) for _ in range(20)))
    ended = [reply.status_code for reply in replies]
    assert set(ended) == {200, 429}
    cost = (await http.get("/v1/sessions/s/cost")).json()["cost"]
    assert cost["usd"] < 2 * 0.0005, json.dumps(cost)


async def test_what_was_masked_is_said(http: httpx.AsyncClient, gemini: FakeGemini) -> None:
    await say(http, "My card is 4111 1111 1111 1111, aiko@example.com writes it.")
    reply = await again(http)
    assert "example.com" not in words(last(gemini))
    assert any("masked" in warning for warning in reply["warnings"])


@pytest.mark.parametrize("model", ["gemini-\r", "gemini-x?y=1", "gemini-x/../../files", "x#a"])
async def test_what_is_no_name_of_a_model_is_refused(http: httpx.AsyncClient, model: str) -> None:
    await say(http, "Hello?")
    refused(await http.post(path(), json={"model": model, "without": []}), 422)

"""A turn is asked again over HTTP, of another model or without a rule, and nothing of it stays."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.ext.reruns.turns import (
    FIRST,
    OTHER,
    Serve,
    again,
    answers,
    last,
    offer,
    path,
    refused,
    rule,
    say,
    squeezed,
    stored,
    tool_names,
    words,
)
from tests.fakes.confirmed_tool import PAID
from tests.fakes.extensions import needs
from tests.fakes.fake_gemini import (
    FakeGemini,
    calls_function,
    garbage,
    http_error,
    safety_stop,
    says,
    says_json,
    wire_text,
)
from tests.fakes.loopback import HttpReply

pytestmark = needs("reruns")

LIMIT = "Never refund more than 20 euros."
PEANUTS = "Never suggest peanuts."
POINTED = {"rule_changes": [{"sentence": 1, "kind": "restriction"}]}
QUESTION = "What about order A1?"
TOKENS = {"auth_tokens": "aiko:aiko-secret,bob:bob-secret", "operators": "aiko"}
AIKO, BOB = ({"Authorization": f"Bearer {user}-secret"} for user in ("aiko", "bob"))
FIELDS = {"model", "note", "answer", "calls", "tokens", "usd", "seconds", "still_in", "warnings"}


async def test_what_may_be_asked_again_is_said_first(
    http: httpx.AsyncClient, gemini: FakeGemini
) -> None:
    gemini.script("generator", answers("It was paid back."))
    await rule(http, LIMIT)
    await say(http, QUESTION)
    count = len(gemini.requests)
    offered = await offer(http)
    assert "It was paid back." in json.dumps(offered["before"])
    assert {FIRST, OTHER} <= set(offered["models"])
    assert offered["any_model"] is True
    assert offered["rules"] == {"c-0001": LIMIT}
    assert len(gemini.requests) == count


async def test_the_model_of_the_turn_gets_the_same_words_once_more(
    http: httpx.AsyncClient, gemini: FakeGemini
) -> None:
    gemini.script("generator", answers("First."), answers("Second."))
    await rule(http, LIMIT)
    await say(http, QUESTION)
    [first] = gemini.requests_of("generator")
    reply = await again(http)
    assert [each.model for each in gemini.requests_of("generator")] == [FIRST, FIRST]
    assert words(last(gemini)) == words(first.body)
    assert tool_names(last(gemini)) == tool_names(first.body)
    assert reply.keys() >= FIELDS
    assert (reply["model"], reply["answer"]) == (FIRST, "Second.")
    assert (reply["calls"], reply["still_in"], reply["warnings"]) == ([], [], [])
    assert reply["usd"] > 0
    assert reply["seconds"] >= 0
    assert "First." in json.dumps((await offer(http))["before"])


async def test_another_model_gets_the_words_that_the_first_one_got(
    http: httpx.AsyncClient, gemini: FakeGemini
) -> None:
    await rule(http, LIMIT)
    await say(http, "My name is Aiko.")
    await say(http, QUESTION)
    first = gemini.requests_of("generator")[-1]
    reply = await again(http, turn=2, model=OTHER)
    sent = gemini.requests[-1]
    assert (sent.model, reply["model"]) == (OTHER, OTHER)
    assert "Aiko" in wire_text(sent.body)
    assert words(sent.body) == words(first.body)
    assert tool_names(sent.body) == tool_names(first.body)


async def test_a_rule_left_out_is_neither_in_force_nor_in_what_was_said_earlier(
    http: httpx.AsyncClient, gemini: FakeGemini
) -> None:
    gemini.script("compressor", says_json(POINTED), says_json({}))
    await say(http, LIMIT)
    await rule(http, PEANUTS)
    await say(http, QUESTION)
    first = words(gemini.requests_of("generator")[-1].body)
    assert first.count(squeezed(LIMIT)) >= 2
    rules = (await offer(http, turn=2))["rules"]
    assert list(rules.values()) == [LIMIT, PEANUTS]
    reply = await again(http, "c-0001", turn=2)
    sent = words(last(gemini))
    assert squeezed(LIMIT) not in sent
    assert "c-0001" not in sent
    assert squeezed(PEANUTS) in sent
    assert squeezed(QUESTION) in sent
    assert not reply["still_in"]


async def test_a_japanese_rule_is_left_out_of_a_japanese_turn(
    http: httpx.AsyncClient, gemini: FakeGemini
) -> None:
    gemini.script("generator", answers("承知しました。"), answers("返金します。"))
    limit, question = "返金は20ユーロまでにしてください。", "注文A1の返金をお願いします。"
    await rule(http, limit)
    await rule(http, "本番DBは再起動しないでください。")
    await say(http, question)
    assert (await offer(http))["rules"]["c-0001"] == limit
    reply = await again(http, "c-0001")
    sent = words(last(gemini))
    assert limit not in sent
    assert question in sent
    assert "本番DBは再起動しないでください。" in sent
    assert reply["answer"] == "返金します。"


async def test_a_tool_that_acts_is_wanted_and_does_not_run(
    http: httpx.AsyncClient, gemini: FakeGemini
) -> None:
    PAID.clear()
    gemini.script("generator", answers("No."), calls_function("refund", order="A1", amount=50))
    await say(http, QUESTION)
    count = len(gemini.requests)
    reply = await again(http)
    [wanted] = reply["calls"]
    assert "refund" in json.dumps(wanted)
    assert "A1" in json.dumps(wanted)
    assert len(gemini.requests) == count + 1
    assert PAID == []


async def test_every_table_but_those_of_money_stays_as_it_was(
    gemini: FakeGemini, serve: Serve, tmp_path: Path
) -> None:
    http = await serve(learning="inline", learn_on="every")
    gemini.script("compressor", says_json(POINTED), says_json({}))
    gemini.script(
        "generator", answers("Noted."), answers("No."), calls_function("calculate", expression="1")
    )
    await say(http, LIMIT)
    await say(http, QUESTION)
    before, count = stored(tmp_path / "data"), len(gemini.requests)
    for without, model in ((["c-0001"], ""), ([], OTHER), (["c-0001"], OTHER)):
        await again(http, *without, turn=2, model=model)
        await offer(http, turn=2)
    assert len(gemini.requests) == count + 3
    assert stored(tmp_path / "data") == before


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        (says("Plain words."), "Plain words."),
        (answers("Of the schema."), "Of the schema."),
        (says('```json\n{"final_answer": "Fenced."}\n```'), "Fenced."),
        (says_json({"final_answer": "回答", "reasoning": ["一"], "bullet_ids": []}), "回答"),
    ],
    ids=["plain", "json", "fenced", "whole"],
)
async def test_whatever_form_a_reply_has_its_answer_is_read(
    http: httpx.AsyncClient, gemini: FakeGemini, reply: HttpReply, answer: str
) -> None:
    gemini.script("generator", answers("First."), reply)
    await say(http, QUESTION)
    result = await again(http)
    assert (result["answer"], result["calls"]) == (answer, [])


@pytest.mark.parametrize("where", [path(2), path(1, "/v1/sessions/unknown")])
async def test_a_turn_that_never_was_is_not_found(
    http: httpx.AsyncClient, gemini: FakeGemini, where: str
) -> None:
    await say(http, QUESTION)
    count = len(gemini.requests)
    refused(await http.get(where), 404)
    refused(await http.post(where, json={"model": "", "without": []}), 404)
    assert len(gemini.requests) == count


async def test_where_no_requests_are_kept_none_is_asked_again(
    gemini: FakeGemini, serve: Serve
) -> None:
    http = await serve(keep_requests=False)
    await say(http, QUESTION)
    count = len(gemini.requests)
    assert "ACC_ACE_KEEP_REQUESTS" in refused(await http.get(path()), 404)
    refused(await http.post(path(), json={"model": "", "without": []}), 404)
    assert len(gemini.requests) == count


async def test_who_is_no_operator_may_ask_the_models_of_the_settings_alone(
    gemini: FakeGemini, serve: Serve
) -> None:
    http = await serve(**TOKENS)
    unnamed = "gemini-2.5-pro"
    for user, may in ((AIKO, True), (BOB, False)):
        await say(http, QUESTION, headers=user)
        offered = (await http.get(path(), headers=user)).json()
        assert (offered["any_model"], unnamed in offered["models"]) == (may, False)
        assert (await again(http, model=OTHER, headers=user))["model"] == OTHER
    sent = {"model": unnamed, "without": []}
    count = len(gemini.requests)
    refused(await http.post(path(), json=sent, headers=BOB), 403)
    assert len(gemini.requests) == count
    assert (await again(http, model=unnamed, headers=AIKO))["model"] == unnamed


async def test_nobody_asks_a_turn_of_another_user_again(gemini: FakeGemini, serve: Serve) -> None:
    http = await serve(**TOKENS)
    await say(http, "The door code is WALNUT.", headers=AIKO)
    count, sent = len(gemini.requests), {"model": "", "without": []}
    for query, statuses in (("", {404}), ("?user=aiko", {403, 404}), ("?app=desk", {404})):
        for got in (
            await http.get(path() + query, headers=BOB),
            await http.post(path() + query, json=sent, headers=BOB),
        ):
            refused(got, *statuses)
            assert "WALNUT" not in got.text
    assert len(gemini.requests) == count


@pytest.mark.parametrize(
    "body",
    [
        {"without": ["c-0042"]},
        {"without": ["c-0001", "c-0042"]},
        {"without": ["c-0001"] * 201},
        {"without": [LIMIT]},
        {"model": "mistral/none-such"},
        {"model": "g" * 129},
        {"models": OTHER},
        {"temperature": 1},
    ],
    ids=["rule", "one of two", "201 rules", "text", "extra", "129 chars", "field", "setting"],
)
async def test_what_cannot_be_asked_is_refused_before_a_model_is(
    http: httpx.AsyncClient, gemini: FakeGemini, body: dict[str, Any]
) -> None:
    await rule(http, LIMIT)
    await say(http, QUESTION)
    count = len(gemini.requests)
    refused(await http.post(path(), json={"model": "", "without": [], **body}), 422)
    assert len(gemini.requests) == count


@pytest.mark.parametrize(
    "failure",
    [http_error(503), http_error(400), garbage(), safety_stop()],
    ids=["503", "400", "no JSON", "stopped"],
)
async def test_a_model_that_fails_is_a_problem_and_the_turn_stays(
    http: httpx.AsyncClient, gemini: FakeGemini, tmp_path: Path, failure: HttpReply
) -> None:
    gemini.script("generator", answers("First."), failure)
    await say(http, QUESTION)
    before = stored(tmp_path / "data")
    refused(await http.post(path(), json={"model": "", "without": []}), 502, 503)
    assert stored(tmp_path / "data") == before
    assert "First." in json.dumps((await offer(http))["before"])


async def test_the_ceiling_of_the_day_refuses_and_is_not_asked_around(
    gemini: FakeGemini, serve: Serve
) -> None:
    http = await serve(max_cost=0.000001)
    await say(http, QUESTION)
    count = len(gemini.requests)
    for model in ("", OTHER):
        got = await http.post(path(), json={"model": model, "without": []})
        refused(got, 429)
        assert got.json()["code"] == "spending_ceiling"
        assert int(got.headers["retry-after"]) > 0
    assert len(gemini.requests) == count
    assert (await http.get(path())).status_code == 200

"""What asking a turn again promises, in other words than those of test_reruns.py (half B)."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from acc_ace.bootstrap import build_container
from acc_ace.server.app import create_app
from config import ROLES, Settings
from tests.ext.reruns.turns import (
    OTHER,
    SESSION,
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
    tool_names,
    words,
)
from tests.fakes.confirmed_tool import PAID
from tests.fakes.default_replies import prompt_text
from tests.fakes.extensions import needs
from tests.fakes.fake_gemini import (
    FakeGemini,
    calls_function,
    calls_functions,
    empty_text,
    says,
    says_json,
    wire_text,
)
from tests.fakes.fake_openai import calls_functions as openai_calls
from tests.fakes.fake_openai import fake_openai
from tests.fakes.loopback import HttpReply, Json
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.desk import KEY, Desk
from tests.server.asgi import client

pytestmark = needs("reruns")

ODD = r"Never write C:\temp\(a+)+$ or [a-z]{2}\1 to db-01."
SHRIMPS = "Never suggest shrimps."
BACKUPS = "Never delete backups."
POINTED = {"rule_changes": [{"sentence": 1, "kind": "restriction"}]}
NOTHING: Json = {"model": "", "without": []}
PRICES = """
as_of = 2026-01-31
[models."gemini-3.5*"]
input = 100000.0
output = 0
[models."*"]
input = 0
output = 0
"""
"""Each request to the Generator costs 1.1 dollars: the fake counts 11 tokens."""


async def refuses(http: httpx.AsyncClient, where: str, statuses: Iterable[int] = (404,)) -> None:
    """Neither a look nor a question is answered."""
    refused(await http.get(where), *statuses)
    refused(await http.post(where, json=NOTHING), *statuses)


def words_of_chat(body: Json) -> str:
    """The words of an OpenAI-compatible request, without white space."""
    contents = [each["content"] for each in body["messages"]]
    pieces = [[{"text": each}] if isinstance(each, str) else each for each in contents]
    return squeezed("".join(part["text"] for parts in pieces for part in parts))


async def test_a_rule_with_characters_of_patterns_is_left_out_wherever_it_is_quoted(
    http: httpx.AsyncClient, gemini: FakeGemini
) -> None:
    gemini.script("generator", answers(f"I keep to it: {ODD}"), answers("ok"))
    await rule(http, ODD)
    await rule(http, BACKUPS)
    await say(http, "How is db-01?")
    await say(http, "And db-02, is C:/temp full there?")
    assert words(last(gemini)).count(squeezed(ODD)) >= 2
    reply = await again(http, "c-0001", turn=2)
    sent = words(last(gemini))
    assert squeezed(ODD) not in sent
    assert r"(a+)+$" not in sent
    assert squeezed("And db-02, is C:/temp full there?") in sent
    assert squeezed(BACKUPS) in sent
    assert not reply["still_in"]


async def test_a_rule_of_the_user_is_left_out_and_stays_in_force(http: httpx.AsyncClient) -> None:
    assert await rule(http, SHRIMPS, "user") == "u-0001"
    await rule(http, BACKUPS)
    await say(http, "What shall I cook?")
    assert (await offer(http))["rules"] == {"u-0001": SHRIMPS, "c-0001": BACKUPS}
    before = (await http.get(f"{SESSION}/rules")).json()
    await again(http, "u-0001")
    assert (await http.get(f"{SESSION}/rules")).json() == before
    elsewhere = (await http.get("/v1/sessions/other/rules")).json()
    assert [each["text"] for each in elsewhere["constraints"]] == [SHRIMPS]


async def test_a_rule_of_the_user_that_is_left_out_reaches_no_model(
    http: httpx.AsyncClient, gemini: FakeGemini
) -> None:
    await rule(http, "エビは提案しないでください。", "user")
    await rule(http, BACKUPS)
    await say(http, "夕食は何がいいですか。")
    await again(http, "u-0001", model=OTHER)
    sent = words(last(gemini))
    assert "エビは提案しない" not in sent
    assert "夕食は何がいいですか。" in sent
    assert squeezed(BACKUPS) in sent


async def test_a_rule_that_is_named_again_and_again_is_left_out_once(
    http: httpx.AsyncClient, gemini: FakeGemini
) -> None:
    await rule(http, SHRIMPS)
    await rule(http, BACKUPS)
    await say(http, "What shall I cook?")
    await again(http, "c-0001")
    once = words(last(gemini))
    for named in (["c-0001"] * 2, ["c-0001"] * 200):
        await again(http, *named)
        assert words(last(gemini)) == once
    await again(http, "c-0002", "c-0001", "c-0002")
    assert not [text for text in (SHRIMPS, BACKUPS) if squeezed(text) in words(last(gemini))]


async def test_the_rules_are_those_that_the_turn_had(
    http: httpx.AsyncClient, gemini: FakeGemini
) -> None:
    await rule(http, SHRIMPS)
    await say(http, "What shall I cook?")
    assert (await http.delete(f"{SESSION}/rules/c-0001")).status_code == 204
    later = await rule(http, BACKUPS)
    assert (await offer(http))["rules"] == {"c-0001": SHRIMPS}
    await again(http)
    assert squeezed(SHRIMPS) in words(last(gemini))
    assert squeezed(BACKUPS) not in words(last(gemini))
    await again(http, "c-0001")
    assert squeezed(SHRIMPS) not in words(last(gemini))
    sent = {"model": "", "without": [later]}
    assert later in refused(await http.post(path(), json=sent), 422)
    rules = (await http.get(f"{SESSION}/rules")).json()["constraints"]
    assert [each["text"] for each in rules] == [BACKUPS]


async def test_a_rule_that_the_message_itself_says_is_named_as_still_there(
    http: httpx.AsyncClient, gemini: FakeGemini
) -> None:
    gemini.script("compressor", says_json(POINTED), says_json({}))
    await say(http, SHRIMPS)
    first = words(gemini.requests_of("generator")[-1].body)
    assert first.count(squeezed(SHRIMPS)) == 2
    reply = await again(http, "c-0001")
    assert words(last(gemini)).count(squeezed(SHRIMPS)) == 1
    assert reply["still_in"]


async def test_a_turn_with_tool_calls_is_asked_as_it_was_first(
    http: httpx.AsyncClient, gemini: FakeGemini
) -> None:
    call = calls_function("calculate", expression="6 * 7")
    gemini.script("generator", call, answers("It is 42."), answers("I guess 41."))
    await say(http, "What is six times seven?")
    first, second = gemini.requests_of("generator")
    assert len(second.body["contents"]) > len(first.body["contents"])
    assert "6 * 7" in json.dumps((await offer(http))["before"]["calls"])
    assert (await again(http))["answer"] == "I guess 41."
    assert words(last(gemini)) == words(first.body)
    assert "functionResponse" not in json.dumps(last(gemini))


@needs("openai_compatible")
async def test_an_operator_may_ask_any_model_which_gets_the_words_of_the_first(
    serve: Serve,
) -> None:
    PAID.clear()
    with fake_openai() as endpoint:
        where = {"openai_base_url": endpoint.base_url, "openai_tools": "with_schema"}
        http = await serve(**where, **{role: {"model": "openai/first"} for role in ROLES})
        await rule(http, SHRIMPS)
        await say(http, "Pay back order A1.")
        first = endpoint.requests[-1]
        want = openai_calls(("refund", {"order": "A1", "amount": 5}))
        endpoint.script("generator", want)
        reply = await again(http, model="openai/second")
        sent = endpoint.requests[-1]
        assert (first.model, sent.model) == ("first", "second")
        assert words_of_chat(sent.body) == words_of_chat(first.body)
        assert "refund" in json.dumps(sent.body["tools"])
        assert ["refund" in json.dumps(each) for each in reply["calls"]] == [True]
        assert PAID == []
        # Of Gemini there is no key here.
        count = len(endpoint.requests)
        refused(await http.post(path(), json={**NOTHING, "model": "gemini-3.5-flash"}), 422)
        assert len(endpoint.requests) == count


async def test_where_nobody_is_named_as_operator_nobody_asks_other_models(
    gemini: FakeGemini, serve: Serve
) -> None:
    http = await serve(auth_tokens="aiko:aiko-secret")
    http.headers["Authorization"] = "Bearer aiko-secret"
    await say(http, "Hello?")
    offered = await offer(http)
    assert offered["any_model"] is False
    count = len(gemini.requests)
    refused(await http.post(path(), json={**NOTHING, "model": "gemini-2.5-pro"}), 403)
    assert len(gemini.requests) == count
    for model in offered["models"]:
        assert (await again(http, model=model))["model"] == model


@pytest.mark.parametrize(
    ("reply", "answer", "tools"),
    [
        (says("{maintenance} starts at nine."), "{maintenance} starts at nine.", []),
        (says_json({"status": "fine"}), "fine", []),
        (says('["a list"]'), "a list", []),
        (says("42"), "42", []),
        (says('```json\n{"final_answer": "Cut'), "Cut", []),
        (calls_function("calculate", expression="1 + 1"), "", ["calculate"]),
        (
            calls_functions(("refund", {"order": "A1", "amount": 5}), ("current_time", {})),
            "",
            ["refund", "current_time"],
        ),
    ],
    ids=["braces", "shape", "list", "number", "open fence", "call", "two calls"],
)
async def test_whatever_a_model_may_reply_is_shown(
    http: httpx.AsyncClient, gemini: FakeGemini, reply: HttpReply, answer: str, tools: list[str]
) -> None:
    PAID.clear()
    gemini.script("generator", answers("First."), reply)
    await say(http, "Hello?")
    result = await again(http)
    assert answer in result["answer"]
    assert bool(result["answer"].strip()) == bool(answer)
    assert len(result["calls"]) == len(tools)
    assert [n for n, each in zip(tools, result["calls"], strict=True) if n in str(each)] == tools
    assert PAID == []


@pytest.mark.parametrize("model", ["", OTHER])
async def test_an_answer_that_comes_through_adks_tool_is_an_answer_and_no_call(
    gemini: FakeGemini, serve: Serve, model: str
) -> None:
    http = await serve(generator={"model": "gemini-2.5-flash"})
    reply = calls_function("set_model_response", final_answer="ツールの回答")
    gemini.script("generator", answers("First."), reply)
    await say(http, "Hello?")
    result = await again(http, model=model)
    assert (result["answer"], result["calls"]) == ("ツールの回答", [])
    assert tool_names(last(gemini)) == tool_names(gemini.requests_of("generator")[0].body)


async def test_a_turn_with_earlier_messages_is_not_asked_again_and_one_without_them_is(
    gemini: FakeGemini, tmp_path: Path
) -> None:
    def remember(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
        del callback_context
        earlier = types.Content(role="model", parts=[types.Part(text="Earlier words.")])
        llm_request.contents.insert(0, earlier)

    container = build_container(
        Settings(data_dir=tmp_path, serve_web_interface=False, learning="off")
    )
    app = create_app(container)
    where = path(1, f"/v1/sessions/{KEY.session}") + f"?app={KEY.app}&user={KEY.user}"
    model = ScriptedLlm()
    desk = Desk(LlmAgent(name="helper", model=model), over=container)
    await desk.ask("How is the disk?")
    async with client(app) as http:
        sent = {**NOTHING, "model": "gemini-3.5-flash"}
        result = await http.post(where, json=sent)
        assert result.status_code == 200, result.text
        assert words(last(gemini)) == squeezed(prompt_text(model.requests[-1]))
        count = len(gemini.requests)
        with_more = LlmAgent(name="helper", model=model, before_model_callback=remember)
        await Desk(with_more, over=container, sessions=desk.sessions).ask("And the other?")
        refused(await http.post(where.replace("/1/", "/2/"), json=sent), 404)
        refused(await http.get(where.replace("/1/", "/2/")), 404)
        assert len(gemini.requests) == count
    await app.state.acc_ace.close()


async def test_a_request_that_is_too_long_to_be_kept_whole_is_not_asked_again(
    http: httpx.AsyncClient, gemini: FakeGemini
) -> None:
    await say(http, "What is wrong here? " + "word " * 6_600)
    count = len(gemini.requests)
    await refuses(http, path())
    assert len(gemini.requests) == count


async def test_a_turn_of_an_erased_session_is_gone(
    http: httpx.AsyncClient, gemini: FakeGemini
) -> None:
    await rule(http, SHRIMPS)
    await say(http, "What shall I cook?")
    await again(http, "c-0001")
    assert (await http.delete(SESSION)).status_code < 300
    count = len(gemini.requests)
    await refuses(http, path())
    assert len(gemini.requests) == count


@pytest.mark.parametrize("turn", [0, -1, 2**31, 2**40, 2**70, "x", "1.5", "%00"])
async def test_no_odd_number_of_a_turn_is_an_error_of_the_server(
    http: httpx.AsyncClient, gemini: FakeGemini, turn: int | str
) -> None:
    await say(http, "Hello?")
    count = len(gemini.requests)
    await refuses(http, path(turn), (404, 422))
    assert len(gemini.requests) == count


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"7", b"null", b'"c-0001"', b'{"model": 3, "without": []}'),
        *(b'{"model": "", "without": "c-0001"}', b'{"model": "", "without": [1]}'),
        *(b'{"model": "", "without": [null]}', b'{"model": "", "without": {"c-0001": 1}}'),
        *(b'{"model": "", "without": [""]}', b'{"model": "\\u0000", "without": []}'),
        *(b'{"model": "../../x", "without": []}', b'{"model": "", "without": [], "n": 2}'),
    ],
)
async def test_no_odd_body_reaches_a_model(
    http: httpx.AsyncClient, gemini: FakeGemini, body: bytes
) -> None:
    await say(http, "Hello?")
    count = len(gemini.requests)
    kind = {"Content-Type": "application/json"}
    refused(await http.post(path(), content=body, headers=kind), 400, 422)
    assert len(gemini.requests) == count


async def test_what_is_asked_again_is_part_of_what_was_spent_today(http: httpx.AsyncClient) -> None:
    async def today() -> float:
        cost = (await http.get(f"{SESSION}/cost")).json()
        return float(cost["today"]["spent"]["usd"])

    await say(http, "Hello?")
    before = await today()
    reply = await again(http)
    other = await again(http, model=OTHER)
    assert reply["usd"] > 0
    assert await today() - before == pytest.approx(reply["usd"] + other["usd"])


async def test_what_is_asked_again_can_use_up_the_day(
    gemini: FakeGemini, serve: Serve, tmp_path: Path
) -> None:
    (tmp_path / "prices.toml").write_text(PRICES, encoding="utf-8")
    http = await serve(prices=tmp_path / "prices.toml", max_cost=1.5)
    await say(http, "Hello?")
    assert (await again(http))["usd"] == pytest.approx(1.1)
    count = len(gemini.requests)
    refused(await http.post(path(), json=NOTHING), 429)
    refused(await http.post(f"{SESSION}/turns", json={"input": "And now?"}), 429)
    assert len(gemini.requests) == count


async def test_the_next_turn_goes_on_as_if_nothing_had_been_asked(
    http: httpx.AsyncClient, gemini: FakeGemini
) -> None:
    gemini.script("generator", answers("First."), answers("ELSEWHERE."), answers("Third."))
    await rule(http, SHRIMPS)
    await say(http, "What shall I cook?")
    assert (await again(http, "c-0001"))["answer"] == "ELSEWHERE."
    report: dict[str, Any] = await say(http, "And tomorrow?")
    assert (report["turn"], report["answer"]) == (2, "Third.")
    assert report["ccs"]["constraints"] == [SHRIMPS]
    sent = wire_text(last(gemini))
    assert "First." in sent
    assert "ELSEWHERE" not in sent
    views = ("", "/ccs", "/ccs/history", "/turns", "/turns/1/requests", "/turns/1/rerun")
    adk = "/apps/acc_ace/users/user/sessions/s"
    for route in (*(f"{SESSION}{view}" for view in views), adk, "/v1/playbook"):
        result = await http.get(route)
        assert result.status_code == 200, route
        assert "ELSEWHERE" not in result.text, route


async def test_a_model_that_says_nothing_is_a_problem_as_in_a_turn(
    http: httpx.AsyncClient, gemini: FakeGemini
) -> None:
    gemini.script("generator", answers("First."), empty_text())
    await say(http, "Hello?")
    refused(await http.post(path(), json=NOTHING), 502)

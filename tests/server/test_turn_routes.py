import asyncio
import json
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from google.adk.models.llm_request import LlmRequest

from acc_ace import build_container
from acc_ace.errors import ModelRefused
from acc_ace.server.app import create_app
from config import ROLES, Settings
from schemas.limits import Limits
from schemas.report import TurnReport
from tests.fakes.default_replies import default_reply
from tests.fakes.scripted_llm import ScriptedLlm
from tests.server.asgi import client

TURNS = "/v1/sessions/incident/turns"

LOOPS = 50
"""Rounds of the event loop, after which a hung-up connection has been noticed."""


class Hold:
    """A model, the Generator if not said otherwise, that answers only when told."""

    def __init__(self, reply: dict[str, Any] | None = None) -> None:
        self._reply = {"final_answer": "at last"} if reply is None else reply
        self.asked = asyncio.Event()
        self.released = asyncio.Event()

    async def __call__(self, _request: LlmRequest) -> dict[str, Any]:
        self.asked.set()
        await self.released.wait()
        return self._reply


class Caller:
    """A client at the level of ASGI, which can hang up at any moment."""

    def __init__(self, app: FastAPI, path: str, body: dict[str, Any]) -> None:
        self.sent: list[dict[str, Any]] = []
        self._gone = asyncio.Event()
        self._requests = [{"type": "http.request", "body": json.dumps(body).encode()}]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
            "client": ("127.0.0.1", 5),
            "server": ("127.0.0.1", 8000),
        }
        if path.endswith("?stream=true"):
            scope |= {"path": path.removesuffix("?stream=true"), "query_string": b"stream=true"}
        self.call = asyncio.ensure_future(app(scope, self._receive, self._send))

    def hang_up(self) -> None:
        self._gone.set()

    async def _receive(self) -> Any:
        if self._requests:
            return self._requests.pop()
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self.sent.append(message)


async def test_turn_answers_with_its_whole_report(http: httpx.AsyncClient) -> None:
    response = await http.post(TURNS, json={"input": "db-01 is slow"})
    assert response.status_code == 200
    report = TurnReport.model_validate(response.json())
    assert (report.turn, report.session, report.answer) == (1, "incident", "ok")
    assert set(response.json()["tokens"]["generator"]) == {
        *("in", "out", "thinking", "cached", "calls", "failed", "estimated")
    }
    assert response.headers["cache-control"] == "no-store"


async def test_chat_begins_a_session_and_continues_it(http: httpx.AsyncClient) -> None:
    first = (await http.post("/v1/chat", json={"input": "hello"})).json()
    second = (
        await http.post("/v1/chat", json={"input": "again", "session": first["session"]})
    ).json()
    assert second["session"] == first["session"]
    assert second["turn"] == 2


@pytest.mark.parametrize("way", ["accept", "query"])
async def test_stream_tells_the_stages_and_the_answer_before_the_report(
    http: httpx.AsyncClient, way: str
) -> None:
    headers = {"Accept": "text/event-stream"} if way == "accept" else {}
    url = TURNS if way == "accept" else f"{TURNS}?stream=true"
    response = await http.post(url, json={"input": "hello"}, headers=headers)
    assert response.headers["content-type"].startswith("text/event-stream")
    blocks = [dict(_lines(block)) for block in response.text.strip().split("\n\n")]
    names = [block["event"] for block in blocks]
    assert names.index("answer_chunk") < names.index("answer") < names.index("turn_done")
    assert names[-1] == "turn_done"
    assert json.loads(blocks[-1]["data"])["report"]["answer"] == "ok"


def _lines(block: str) -> list[tuple[str, str]]:
    parts = [line.partition(": ") for line in block.split("\n")]
    return [(name, value) for name, _, value in parts]


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ('{"input": ""}', 422, "invalid_input"),
        ('{"input": " \\n\\u3000 "}', 422, "invalid_input"),
        (r'{"input": "a\ud800b"}', 422, "invalid_request"),
        ('{"input": 7}', 422, "invalid_request"),
        ('{"text": "x"}', 422, "invalid_request"),
        ('{"input": "x", "source": "system"}', 422, "invalid_request"),
        ('{"input": "x", "source": "agent"}', 422, "invalid_request"),
        ("{", 400, "invalid_json"),
        ("", 422, "invalid_request"),
        (json.dumps({"input": "x" * 10 * 1024 * 1024}), 413, "input_too_large"),
    ],
)
@pytest.mark.parametrize("stream", ["", "?stream=true"])
async def test_bad_input_is_a_problem_and_leaves_no_session(
    http: httpx.AsyncClient, body: str, status: int, code: str, stream: str
) -> None:
    headers = {"Content-Type": "application/json"}
    response = await http.post(TURNS + stream, content=body, headers=headers)
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert response.headers["content-type"] == "application/problem+json"
    assert "Traceback" not in response.text
    assert (await http.get("/v1/sessions/incident/ccs")).status_code == 404


@pytest.mark.parametrize("name", ["x" * 129, "a%00b", "a%0Ab"])
async def test_unusable_session_names_are_422(http: httpx.AsyncClient, name: str) -> None:
    response = await http.post(f"/v1/sessions/{name}/turns", json={"input": "x"})
    assert response.status_code == 422


async def test_words_of_tools_and_documents_set_no_rule(http: httpx.AsyncClient) -> None:
    rule = "Never restart db-01 during business hours."
    for source in ("tool", "retrieved"):
        report = (await http.post(TURNS, json={"input": rule, "source": source})).json()
        assert report["constraints"] == []


async def test_second_turn_waits_for_the_first(
    http: httpx.AsyncClient, scripted: ScriptedLlm
) -> None:
    hold = Hold()
    scripted.on("generator", hold, {"final_answer": "second"})
    first = asyncio.create_task(http.post(TURNS, json={"input": "one"}))
    await hold.asked.wait()
    second = asyncio.create_task(http.post(TURNS, json={"input": "two"}))
    other = await http.post("/v1/sessions/other/turns", json={"input": "three"})
    assert other.status_code == 200
    hold.released.set()
    assert (await first).json()["turn"] == 1
    assert (await second).json()["turn"] == 2


async def test_turn_that_waited_too_long_is_409_and_may_be_sent_again() -> None:
    settings = Settings(store="memory", serve_web_interface=False, limits=Limits(turn_wait_s=0.05))
    scripted, hold = ScriptedLlm(), Hold()
    scripted.on("generator", hold)
    app = create_app(build_container(settings), models=dict.fromkeys(ROLES, scripted))
    async with client(app) as http:
        first = asyncio.create_task(http.post(TURNS, json={"input": "one"}))
        await hold.asked.wait()
        for way in ("", "?stream=true"):
            busy = await http.post(TURNS + way, json={"input": "two"})
            assert (busy.status_code, busy.json()["code"]) == (409, "session_busy")
            assert busy.headers["retry-after"]
        hold.released.set()
        assert (await first).status_code == 200
        assert (await http.post(TURNS, json={"input": "two"})).json()["turn"] == 2
    await app.state.acc_ace.close()


async def test_turns_waiting_for_one_session_each_get_their_own_report(
    http: httpx.AsyncClient,
) -> None:
    inputs = [f"message {number}" for number in range(5)]
    answers = await asyncio.gather(*(http.post(TURNS, json={"input": text}) for text in inputs))
    assert [answer.status_code for answer in answers] == [200] * 5
    assert [answer.json()["input"] for answer in answers] == inputs
    assert sorted(answer.json()["turn"] for answer in answers) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("path", [TURNS, f"{TURNS}?stream=true"])
async def test_client_that_hangs_up_leaves_the_turn_wholly_undone(
    app: FastAPI, http: httpx.AsyncClient, scripted: ScriptedLlm, path: str
) -> None:
    await http.post(TURNS, json={"input": "Never restart db-01 by day."})
    before = (await http.get("/v1/sessions/incident/ccs")).json()
    hold = Hold()
    scripted.on("generator", hold)
    caller = Caller(app, path, {"input": "db-02 is down too"})
    await hold.asked.wait()
    caller.hang_up()
    await caller.call
    after = (await http.get("/v1/sessions/incident/ccs")).json()
    assert (after["ccs"], after["turn"]) == (before["ccs"], before["turn"])
    hold.released.set()
    again = await http.post(TURNS, json={"input": "still there?"})
    assert again.json()["turn"] == before["turn"] + 1


@pytest.mark.parametrize("path", [TURNS, f"{TURNS}?stream=true"])
async def test_turn_whose_client_hangs_up_after_the_answer_is_learned_from(
    app: FastAPI, http: httpx.AsyncClient, scripted: ScriptedLlm, path: str
) -> None:
    hold = Hold(default_reply("reflector", ""))
    scripted.on("reflector", hold)
    caller = Caller(app, path, {"input": "db-02 is down"})
    await hold.asked.wait()
    caller.hang_up()
    for _ in range(LOOPS):
        await asyncio.sleep(0)
    assert (await http.get("/v1/sessions/incident/ccs")).json()["turn"] == 1
    hold.released.set()
    await caller.call
    assert scripted.roles.count("curator") == 1
    assert (await http.post(TURNS, json={"input": "still there?"})).json()["turn"] == 2


async def test_openapi_tells_what_a_hang_up_leaves_and_how_to_find_out(
    http: httpx.AsyncClient,
) -> None:
    document = (await http.get("/openapi.json")).json()
    reported = document["paths"]["/v1/sessions/{session}/turns"]["post"]["description"]
    assert "before the answer, the turn is discarded; after it, the turn is kept" in reported
    assert "`Idempotency-Key`" in reported


@pytest.mark.parametrize("way", ["", "?stream=true"])
async def test_a_turn_that_is_sent_again_under_its_key_is_taken_once(
    http: httpx.AsyncClient, scripted: ScriptedLlm, way: str
) -> None:
    body, headers = {"input": "db-01 is down."}, {"Idempotency-Key": "a-1"}
    first = (await http.post(TURNS, json=body, headers=headers)).json()
    asked = len(scripted.requests)
    again = await http.post(TURNS + way, json=body, headers=headers)
    assert again.status_code == 200
    assert first["answer"] in again.text
    assert f'"turn":{first["turn"]}' in again.text
    assert len(scripted.requests) == asked
    other = await http.post(TURNS, json={"input": "Another."}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "invalid_input")
    assert (await http.get("/v1/sessions/incident/ccs")).json()["turn"] == 1


async def test_failed_generator_is_a_problem_and_leaves_the_turn_undone(
    http: httpx.AsyncClient, scripted: ScriptedLlm
) -> None:
    scripted.on("generator", ModelRefused("generator: the model refused"))
    response = await http.post(TURNS, json={"input": "x"})
    assert (response.status_code, response.json()["code"]) == (502, "model_refused")
    streamed = await http.post(f"{TURNS}?stream=true", json={"input": "x"})
    assert streamed.text.strip().split("\n\n")[-1].startswith("event: error\ndata: {")
    assert '"code":"model_refused"' in streamed.text
    assert (await http.get("/v1/sessions/incident/ccs")).status_code == 404


async def test_the_right_answer_travels_with_the_turn_and_the_generator_sees_none() -> None:
    lesson = "Check which server is meant before naming one."
    scripted = ScriptedLlm().on("reflector", {"key_insight": lesson})
    scripted.on("curator", {"operations": [{"type": "ADD", "section": "s", "content": lesson}]})
    settings = Settings(store="memory", learn_on="evidence", serve_web_interface=False)
    app = create_app(build_container(settings), models=dict.fromkeys(ROLES, scripted))
    async with client(app) as http:
        plain = await http.post(TURNS, json={"input": "Which server is down?"})
        judged = {"input": "And now?", "ground_truth": "It is db-77.", "reward": -1.0}
        taught = await http.post(TURNS, json={**judged, "comment": "Look at the newest log."})
        wrong = await http.post(TURNS, json={"input": "And now?", "reward": "much"})
    assert plain.json()["learning"] == {
        "evidence": [],
        "skipped": "no_evidence",
        "left": [],
        "withheld": [],
    }
    assert taught.json()["learning"]["evidence"] == ["feedback"]
    assert [delta["status"] for delta in taught.json()["deltas"]] == ["applied"]
    assert wrong.status_code == 422
    assert not any("db-77" in str(request) for request in scripted.requests_of("generator"))
    assert "db-77" in str(scripted.requests_of("reflector")[0])
    await app.state.acc_ace.close()

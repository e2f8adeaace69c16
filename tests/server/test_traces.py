"""What ADK's web UI keeps of turns is bounded, and goes with its session and its user."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest
from google.adk.cli.api_server import ApiServerSpanExporter, InMemoryExporter
from google.adk.telemetry._web_ui import COMPLETION_DETAILS_EVENT_NAME, WebUiLogExporter
from opentelemetry._logs import LogRecord
from opentelemetry.context import Context
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from config import ROLES, Settings
from core.bootstrap import build_container
from server.app import create_app
from server.traces import KEPT_TRACES, Traces
from tests.fakes.scripted_llm import ScriptedLlm
from tests.server.asgi import client

LIMIT = 3


class Kept:
    """ADK's exporters, as its server puts them together, and ours behind them."""

    def __init__(self) -> None:
        self.by_event: dict[str, dict[str, Any]] = {}
        self.by_session: dict[str, list[int]] = {}
        self.spans = InMemoryExporter(self.by_session)
        self.logs = WebUiLogExporter()
        self.traces = Traces(self.spans, self.by_event, self.logs, limit=LIMIT)
        tracing, logging = TracerProvider(), LoggerProvider()
        tracing.add_span_processor(SimpleSpanProcessor(ApiServerSpanExporter(self.by_event)))
        tracing.add_span_processor(SimpleSpanProcessor(self.spans))
        tracing.add_span_processor(self.traces)
        logging.add_log_record_processor(SimpleLogRecordProcessor(self.logs))
        self.tracer, self.logger = tracing.get_tracer("test"), logging.get_logger("test")

    def turn(self, session: str, event: str) -> None:
        with self.tracer.start_as_current_span("POST /v1"):
            self.call(session, event)

    def call(self, session: str, event: str) -> None:
        about = {"gen_ai.conversation.id": session, "gcp.vertex.agent.event_id": event}
        with self.tracer.start_as_current_span("call_llm", attributes=about):
            self.logger.emit(LogRecord(event_name=COMPLETION_DETAILS_EVENT_NAME, body=event))

    def request(self) -> None:
        with self.tracer.start_as_current_span("GET /healthz"):
            pass

    def shown(self) -> list[str]:
        """The events of every place, which must agree."""
        logged = [str(log.log_record.body) for log in self.logs.get_finished_logs()]
        spans = [
            str((span.attributes or {})["gcp.vertex.agent.event_id"])
            for session in self.by_session
            for span in self.spans.get_finished_spans(session)
            if span.name == "call_llm"
        ]
        assert sorted(spans) == sorted(self.by_event) == sorted(logged)
        return logged


def test_the_newest_traces_of_sessions_are_kept_however_many_requests_come_between() -> None:
    kept = Kept()
    for number in range(10):
        kept.turn(f"s-{number}", f"e-{number}")
        for _ in range(5):
            kept.request()
    assert kept.shown() == ["e-7", "e-8", "e-9"]
    assert sorted(kept.by_session) == ["s-7", "s-8", "s-9"]
    assert len(kept.spans._spans) == 2 * LIMIT


def test_a_turn_that_runs_keeps_its_spans_while_others_end() -> None:
    kept = Kept()
    with kept.tracer.start_as_current_span("POST /v1") as root:
        kept.call("s-0", "e-0")
        running = root.get_span_context().trace_id
        for _ in range(5):
            kept.tracer.start_span("GET /healthz", context=Context()).end()
        assert kept.shown() == ["e-0"]
    assert kept.by_session == {"s-0": [running]}


def test_the_traces_of_a_session_are_forgotten_and_no_others() -> None:
    kept = Kept()
    kept.turn("s-1", "e-1")
    kept.turn("s-2", "e-2")
    kept.turn("s-1", "e-3")
    kept.traces.forget("s-1")
    kept.traces.forget("unknown")
    assert kept.shown() == ["e-2"]
    kept.turn("s-1", "e-4")
    assert kept.shown() == ["e-2", "e-4"]
    kept.traces.forget_all()
    assert kept.shown() == []
    assert kept.spans._spans == []


@pytest.fixture
async def http(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    chosen = Settings(store="sqlite", data_dir=tmp_path, learning="off", serve_web_interface=True)
    app = create_app(build_container(chosen), models=dict.fromkeys(ROLES, ScriptedLlm()))
    async with client(app) as opened:
        yield opened
    await app.state.acc_ace.close()


async def say(http: httpx.AsyncClient, session: str, user: str = "aiko") -> None:
    body = {"input": "The code word is walnut."}
    answer = await http.post(f"/v1/sessions/{session}/turns", json=body, headers={"X-User": user})
    assert answer.status_code == 200


async def spans(http: httpx.AsyncClient, session: str) -> list[Any]:
    shown = (await http.get(f"/dev/apps/acc_ace/debug/trace/session/{session}")).json()
    assert isinstance(shown, list)
    return shown


async def test_the_web_ui_shows_no_more_than_the_newest_turns(http: httpx.AsyncClient) -> None:
    await say(http, "s-1")
    first = await spans(http, "s-1")
    assert first
    for number in range(KEPT_TRACES):
        await say(http, f"other-{number % 7}")
    assert await spans(http, "s-1") == []
    assert await spans(http, "other-0")


async def test_a_deleted_session_and_an_erased_user_are_no_longer_shown(
    http: httpx.AsyncClient,
) -> None:
    for session in ("s-1", "s-2", "s-3"):
        await say(http, session)
    await say(http, "s-4", user="ben")
    await http.delete("/v1/sessions/unknown", headers={"X-User": "aiko"})
    deleted = await http.delete("/v1/sessions/s-1", headers={"X-User": "aiko"})
    assert deleted.status_code < 300
    deleted = await http.delete("/apps/acc_ace/users/aiko/sessions/s-2")
    assert deleted.status_code < 300
    assert [bool(await spans(http, f"s-{n}")) for n in range(1, 5)] == [False, False, True, True]
    erased = await http.delete("/v1/users/aiko")
    assert erased.status_code == 200
    assert await spans(http, "s-3") == []


@pytest.mark.parametrize(
    ("called", "deleted"), [("s-1", "%20s-1%20"), ("%20s-1", "s-1"), ("s-1%09", "s-1%20")]
)
async def test_blanks_around_the_id_of_a_session_leave_none_of_its_traces(
    http: httpx.AsyncClient, called: str, deleted: str
) -> None:
    sessions = "/apps/acc_ace/users/aiko/sessions"
    assert (await http.post(sessions, json={"sessionId": unquote(called)})).status_code == 200
    run = {"appName": "acc_ace", "userId": "aiko", "sessionId": unquote(called)}
    message = {"role": "user", "parts": [{"text": "The code word is walnut."}]}
    assert (await http.post("/run", json={**run, "newMessage": message})).status_code == 200
    assert await spans(http, "s-1")
    assert (await http.delete(f"{sessions}/{deleted}")).status_code == 200
    assert (await http.get(f"{sessions}/s-1")).status_code == 404
    assert await spans(http, "s-1") == await spans(http, called) == []

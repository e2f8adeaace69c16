"""What operators read of a server: spans and measures that name no words, Prometheus, JSON logs."""

import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.e2e.processes import ProcessError, our_server
from tests.fakes.extensions import needs

pytestmark = needs("embedded")

SAID = "Never restart the payments database."
TOKENS = "ops:operator-token-123456,you:a-users-token-123456"


class Collector:
    """An OTLP collector on a free port, which holds what it was sent."""

    def __init__(self) -> None:
        bodies = self.bodies = list[tuple[str, bytes]]()

        class Taking(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                bodies.append((self.path, body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Taking)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def spans(self) -> set[str]:
        sent = [ExportTraceServiceRequest.FromString(b) for p, b in self.bodies if "traces" in p]
        scopes = [scope for each in sent for of in each.resource_spans for scope in of.scope_spans]
        return {span.name for scope in scopes for span in scope.spans}


@pytest.fixture
def collector() -> Iterator[Collector]:
    found = Collector()
    thread = threading.Thread(target=found.server.serve_forever)
    thread.start()
    yield found
    found.server.shutdown()
    thread.join()
    found.server.server_close()


def say(url: str, user: str = "you") -> None:
    response = httpx.post(f"{url}/v1/chat", headers=bearer(user), json={"input": SAID}, timeout=60)
    assert response.status_code == 200


def bearer(user: str) -> dict[str, str]:
    tokens = dict(pair.split(":") for pair in TOKENS.split(","))
    return {"Authorization": f"Bearer {tokens[user]}"}


def test_an_endpoint_of_opentelemetry_gets_the_stages_and_calls_and_nothing_that_was_said(
    tmp_path: Path, collector: Collector
) -> None:
    endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
    with our_server(tmp_path, ACC_ACE_AUTH_TOKENS=TOKENS, **endpoint) as server:
        say(server.url)
        server.terminate()
        server.wait()
        log = server.output()
    stages = {f"stage {each}" for each in ("initializer", "recaller", "compressor", "generator")}
    assert stages <= collector.spans()
    assert {"generate_content embedded/rules", "invoke_agent generator"} <= collector.spans()
    everything = b"".join(body for _, body in collector.bodies)
    assert b"payments database" not in everything
    assert "payments database" not in log
    assert "Overriding" not in log


def test_what_was_said_is_exported_where_the_operator_asks_for_it(
    tmp_path: Path, collector: Collector
) -> None:
    asked = {"OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "ACC_ACE_LOG_CONTENT": "true"}
    with our_server(tmp_path, ACC_ACE_AUTH_TOKENS=TOKENS, **asked) as server:
        say(server.url)
        server.terminate()
        server.wait()
    assert b"payments database" in b"".join(body for _, body in collector.bodies)


def test_prometheus_measures_are_for_operators_and_a_log_is_lines_of_json(tmp_path: Path) -> None:
    settings = {
        "ACC_ACE_PROMETHEUS": "true",
        "ACC_ACE_OPERATORS": "ops",
        "ACC_ACE_LOG_FORMAT": "json",
        "ACC_ACE_ACCESS_LOG": "true",
    }
    with our_server(tmp_path, ACC_ACE_AUTH_TOKENS=TOKENS, **settings) as server:
        say(server.url)
        path = f"{server.url}/v1/operations/metrics"
        assert httpx.get(path).status_code == 401
        refused = httpx.get(path, headers=bearer("you"))
        assert refused.status_code == 403
        assert "ACC_ACE_OPERATORS" in refused.json()["detail"]
        measures = httpx.get(path, headers=bearer("ops"))
        assert measures.headers["content-type"].startswith("text/plain")
        lines = [line for line in measures.text.splitlines() if not line.startswith("#")]
        log = server.output()
    assert any(line.startswith("acc_ace_turns_total{") for line in lines)
    assert any("acc_ace_stage_duration_seconds_count{" in line for line in lines)
    assert any('http_route="/v1/chat"' in line for line in lines)
    assert "payments" not in measures.text
    entries = [json.loads(line) for line in log.splitlines() if line.startswith("{")]
    chats = [entry for entry in entries if entry.get("path") == "/v1/chat"]
    assert [(entry["method"], entry["status"], entry["level"]) for entry in chats] == [
        ("POST", 200, "INFO")
    ]


def test_a_collector_that_is_not_there_stops_no_turn(tmp_path: Path) -> None:
    endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    with our_server(tmp_path, ACC_ACE_AUTH_TOKENS=TOKENS, **endpoint) as server:
        say(server.url)


def test_an_export_without_its_packages_is_refused_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(
        "import sys\nsys.modules['opentelemetry.exporter'] = None\n", encoding="utf-8"
    )
    monkeypatch.setenv("PYTHONPATH", str(hidden), prepend=":")
    server = our_server(tmp_path, ACC_ACE_PROMETHEUS="true")
    with pytest.raises(ProcessError, match="ACC_ACE_PROMETHEUS needs the extra 'otel'"), server:
        pass

"""`python main.py` as a process: what it prints, what it refuses, and how it stops."""

import contextlib
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.processes import ROOT, START_S, environment, our_server
from tests.fakes.extensions import needs
from tests.fakes.fake_gemini import FakeGemini, fake_gemini, says

ANSWER = json.dumps({"reasoning": [], "bullet_ids": [], "final_answer": "at last"})
RULE = "Never restart db-01 during business hours."
TURNS = "/v1/sessions/s/turns"
WAIT_S = 90.0


def _wait(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


class Call(threading.Thread):
    """A request that runs beside the test."""

    def __init__(self, url: str, text: str) -> None:
        super().__init__(daemon=True)
        self._url, self._text = url, text
        self.response: httpx.Response | None = None
        self.start()

    def run(self) -> None:
        # A server that is killed answers nobody; `result` then has nothing to give.
        with contextlib.suppress(httpx.TransportError):
            self.response = httpx.post(self._url, json={"input": self._text}, timeout=WAIT_S)

    def result(self) -> httpx.Response:
        self.join(WAIT_S)
        assert self.response is not None
        return self.response


@pytest.fixture
def gemini() -> Iterator[FakeGemini]:
    with fake_gemini() as fake:
        yield fake


@needs("embedded")
def test_server_says_what_to_open_and_who_answers_and_remembers_after_a_restart(
    tmp_path: Path,
) -> None:
    with our_server(tmp_path) as server:
        printed = server.output()
        assert printed.startswith(f"ACC×ACE: open {server.url}/ui/")
        assert "/dev-ui/?app=acc_ace" in printed
        assert "/docs" in printed
        for agent in ("qualifier", "compressor", "generator", "reflector", "curator"):
            assert any(
                line.split()[:2] == [agent, "embedded/rules"] and "not an LLM" in line
                for line in printed.splitlines()
            )
        report = httpx.post(server.url + TURNS, json={"input": RULE}, timeout=WAIT_S).json()
        assert report["ccs"]["constraints"] == [RULE]
        assert httpx.get(f"{server.url}/dev-ui/", timeout=START_S).status_code == 200
        server.terminate()
        assert server.wait() == -signal.SIGTERM
        assert "Traceback" not in server.output()
    with our_server(tmp_path) as server:
        state = httpx.get(f"{server.url}/v1/sessions/s/ccs", timeout=START_S).json()
        assert state["ccs"]["constraints"] == [RULE]


@pytest.mark.soak
def test_address_of_another_machine_ends_with_two_and_one_clear_line(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "main.py"],
        cwd=ROOT,
        env=environment(
            tmp_path / "data",
            ACC_ACE_HOST="240.0.0.1",
            ACC_ACE_AUTH_TOKENS="alice:a-long-secret-of-hers",
        ),
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert ended.returncode == 2
    assert "ACC_ACE_HOST=240.0.0.1" in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1


def test_arguments_of_the_server_are_refused_with_the_settings_that_hold(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "main.py", "--port", "9000"],
        cwd=ROOT,
        env=environment(tmp_path / "data"),
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert ended.returncode == 2
    assert "'--port'" in ended.stderr
    assert "ACC_ACE_PORT" in ended.stderr


@needs("embedded")
def test_sigterm_lets_the_running_turn_finish_and_refuses_new_ones(
    tmp_path: Path, gemini: FakeGemini
) -> None:
    gemini.script("generator", says(ANSWER, delay_s=3.0))
    with our_server(tmp_path, **_gemini_settings(gemini, grace_s=30.0)) as server:
        running = Call(server.url + TURNS, RULE)
        _wait(lambda: gemini.requests_of("generator"))
        with httpx.Client(base_url=server.url, timeout=START_S) as probe:
            assert probe.get("/readyz").status_code == 200
            server.terminate()
            _wait(lambda: probe.get("/readyz").status_code == 503)
            assert probe.get("/healthz").status_code == 200
            refused = probe.post("/v1/sessions/other/turns", json={"input": "x"})
            assert (refused.status_code, refused.json()["code"]) == (503, "shutting_down")
        answered = running.result()
        assert answered.status_code == 200
        assert answered.json()["answer"].startswith("at last\n\nIn force: c-0001 ")
        server.wait()
    _assert_state(tmp_path, constraints=[RULE], turn=1)


@pytest.mark.soak
def test_sigterm_beyond_the_grace_leaves_the_turn_wholly_undone(
    tmp_path: Path, gemini: FakeGemini
) -> None:
    gemini.script("generator", says(ANSWER), says(ANSWER, delay_s=WAIT_S))
    with our_server(tmp_path, **_gemini_settings(gemini, grace_s=0.2)) as server:
        httpx.post(server.url + TURNS, json={"input": RULE}, timeout=WAIT_S)
        running = Call(server.url + TURNS, "Also never restart db-02 during business hours.")
        _wait(lambda: len(gemini.requests_of("generator")) == 2)
        server.terminate()
        cut = running.result()
        assert (cut.status_code, cut.json()["code"]) == (503, "shutting_down")
        server.wait()
        assert "Traceback" not in server.output()
    _assert_state(tmp_path, constraints=[RULE], turn=1)


@pytest.mark.soak
def test_killed_server_opens_at_a_whole_state(tmp_path: Path, gemini: FakeGemini) -> None:
    gemini.script("generator", says(ANSWER), says(ANSWER, delay_s=WAIT_S))
    with our_server(tmp_path, **_gemini_settings(gemini, grace_s=30.0)) as server:
        httpx.post(server.url + TURNS, json={"input": RULE}, timeout=WAIT_S)
        Call(server.url + TURNS, "Second turn, cut in the middle.")
        _wait(lambda: len(gemini.requests_of("generator")) == 2)
        server.process.kill()
        server.wait()
    with our_server(tmp_path, ACC_ACE_SERVE_WEB_INTERFACE="false") as again:
        state = httpx.get(f"{again.url}/v1/sessions/s/ccs", timeout=START_S).json()
        assert state["ccs"]["constraints"] == [RULE]
        report = httpx.post(again.url + TURNS, json={"input": "hello"}, timeout=WAIT_S)
        assert report.status_code == 200


def _gemini_settings(gemini: FakeGemini, *, grace_s: float) -> dict[str, str]:
    return {
        "GOOGLE_API_KEY": "not-a-key",
        "GOOGLE_GEMINI_BASE_URL": gemini.base_url,
        "ACC_ACE_LEARNING": "off",
        "ACC_ACE_SERVE_WEB_INTERFACE": "false",
        "ACC_ACE_LIMITS__SHUTDOWN_GRACE_S": str(grace_s),
    }


def _assert_state(tmp_path: Path, *, constraints: list[str], turn: int) -> None:
    with our_server(tmp_path, ACC_ACE_SERVE_WEB_INTERFACE="false") as server:
        state = httpx.get(f"{server.url}/v1/sessions/s/ccs", timeout=START_S).json()
    assert (state["ccs"]["constraints"], state["turn"]) == (constraints, turn)


@pytest.mark.soak
def test_a_client_that_sends_no_headers_is_cut_after_the_configured_time(tmp_path: Path) -> None:
    with our_server(tmp_path, ACC_ACE_LIMITS__RECEIVE_S="1") as server:
        where = httpx.URL(server.url)
        with socket.create_connection((where.host, where.port or 80), timeout=WAIT_S) as silent:
            assert silent.recv(64).startswith(b"HTTP/1.1 408 ")

"""`acc-ace chat` on a real terminal: the prompt, Ctrl-C, Ctrl-D and what is on the screen."""

import codecs
import json
import os
import pty
import re
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from tests.fakes.extensions import needs, require
from tests.fakes.fake_openai import calls_functions, fake_openai, says

_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_TRIES = 6
_PATIENCE_S = 60.0
"""How long to wait for a text before the test fails; never a measure."""


_IN_ITS_OWN_TERMINAL = """
import fcntl, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # So that Ctrl-C becomes a signal.
from acc_ace.cli.app import main
main()
"""


class Terminal:
    """`acc-ace` with arguments, in a pseudo terminal of 80 columns."""

    def __init__(self, *args: str, environment: dict[str, str]) -> None:
        self._master, child = pty.openpty()
        self._process = subprocess.Popen(  # noqa: S603 — our own command
            [sys.executable, "-c", _IN_ITS_OWN_TERMINAL, *args],
            stdin=child,
            stdout=child,
            stderr=child,
            start_new_session=True,
            env={**os.environ, **environment, "TERM": "xterm", "COLUMNS": "80"},
        )
        os.close(child)
        # A character or an escape sequence may arrive in pieces, so neither is read by the chunk.
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._read_to = 0
        self.screen = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._master)

    def send(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    def press_until(self, keys: str, text: str) -> None:
        """Press keys until a text comes: a signal that arrives while Python is on its way into
        reading a line is seen by Python with the next one only."""
        for _ in range(_TRIES):
            self.send(keys)
            deadline = time.monotonic() + _PATIENCE_S / _TRIES
            while time.monotonic() < deadline:
                ready, _, _ = select.select([self._master], [], [], 0.1)
                if ready:
                    self.screen += self._decode(os.read(self._master, 65_536))
                if self._shown().find(text, self._read_to) >= 0:
                    self.expect(text)
                    return
        raise AssertionError(f"{text!r} did not come; the terminal shows: {self.screen!r}")

    def expect(self, text: str) -> str:
        """Wait for a text after what was expected before; what was printed up to it."""
        while (found := self._shown().find(text, self._read_to)) < 0:
            ready, _, _ = select.select([self._master], [], [], _PATIENCE_S)
            assert ready, f"{text!r} did not come; the terminal shows: {self.screen!r}"
            self.screen += self._decode(os.read(self._master, 65_536))
        before = self._shown()[self._read_to : found]
        self._read_to = found + len(text)
        return before

    def _shown(self) -> str:
        """All that was printed, without escape sequences."""
        return _ESCAPE.sub("", self.screen)

    def ended(self) -> int:
        """Wait for the end; the exit code."""
        return self._process.wait(_PATIENCE_S)


@pytest.fixture
def silent_model() -> Iterator[socket.socket]:
    """A server that takes connections and never answers."""
    require("openai_compatible")
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.settimeout(_PATIENCE_S)
        yield server


def _silent(tmp_path: Path, server: socket.socket) -> dict[str, str]:
    """Settings under which the Generator waits for the silent model."""
    return {
        "ACC_ACE_DATA_DIR": str(tmp_path / "data"),
        "ACC_ACE_GENERATOR__MODEL": "openai/silent",
        "ACC_ACE_OPENAI_BASE_URL": f"http://127.0.0.1:{server.getsockname()[1]}/v1",
    }


@needs("embedded")
def test_talk_leave_and_find_the_session_and_the_line_history_again(tmp_path: Path) -> None:
    environment = {"ACC_ACE_DATA_DIR": str(tmp_path / "data")}
    with Terminal("chat", "--session", "inc", environment=environment) as terminal:
        terminal.expect("extractive, not an LLM")
        terminal.expect("resume: acc-ace chat --session inc")
        terminal.expect("> ")
        terminal.send("営業時間内は再起動禁止です。\n")
        terminal.expect("+ c-0001 · ")
        terminal.expect("> ")
        terminal.send("/quit\n")
        assert terminal.ended() == 0
        assert "final_answer" not in terminal.screen
    with Terminal("chat", "--session", "inc", environment=environment) as terminal:
        terminal.expect("resumed after turn 1")
        terminal.expect("> ")
        terminal.send("\x10\x10")  # Ctrl-P twice: the line before /quit.
        terminal.expect("営業時間内は再起動禁止です。")
        terminal.send("\x15/ccs\n")
        terminal.expect("[c-0001] 営業時間内は再起動禁止です。")
        terminal.expect("> ")
        terminal.send("\x04")
        assert terminal.ended() == 0


@needs("embedded")
def test_ctrl_c_undoes_the_running_turn_and_the_prompt_comes_back(
    tmp_path: Path, silent_model: socket.socket
) -> None:
    environment = _silent(tmp_path, silent_model)
    with Terminal("chat", "--session", "inc", environment=environment) as terminal:
        terminal.expect("> ")
        terminal.send("Never restart db-01 during business hours.\n")
        connection, _ = silent_model.accept()
        with closing(connection):
            terminal.send("\x03")
            terminal.expect("cancelled; the turn was undone")
        terminal.expect("> ")
        terminal.send("/ccs\n")
        assert "c-0001" not in terminal.expect("> ")
        terminal.press_until("\x03", "> ")
        terminal.send("\x04")
        assert terminal.ended() == 0
        assert "Traceback" not in terminal.screen


@pytest.mark.soak
def test_ctrl_c_in_a_script_undoes_the_turn_and_exits_with_130(
    tmp_path: Path, silent_model: socket.socket
) -> None:
    script = tmp_path / "script.txt"
    script.write_text("hello\n", encoding="utf-8")
    environment = _silent(tmp_path, silent_model)
    with Terminal("chat", "--script", str(script), environment=environment) as terminal:
        connection, _ = silent_model.accept()
        with closing(connection):
            terminal.send("\x03")
            terminal.expect("interrupted; the running turn was cancelled")
            assert terminal.ended() == 130


@needs("guard", "openai_compatible")
@pytest.mark.parametrize(("word", "told"), [("yes", "refunded"), ("no", "the user refused it")])
def test_a_call_against_a_rule_is_asked_about_at_the_prompt(
    tmp_path: Path, word: str, told: str
) -> None:
    with fake_openai() as endpoint:
        endpoint.script(
            "generator",
            calls_functions(("refund", {"order": "A1", "amount": 50})),
            says('{"final_answer": "It is settled."}'),
        )
        environment = {
            "ACC_ACE_DATA_DIR": str(tmp_path / "data"),
            "ACC_ACE_GENERATOR__MODEL": "openai/fake",
            "ACC_ACE_OPENAI_BASE_URL": endpoint.base_url,
            "ACC_ACE_TOOLS": "tests.fakes.confirmed_tool:refund",
        }
        with Terminal("chat", environment=environment) as terminal:
            terminal.expect("Ctrl-D exits")
            terminal.send("/rule Never refund more than 20 euros.\n")
            terminal.expect("c-0001")
            terminal.send("Refund A1.\n")
            asked = terminal.expect("(yes / no)")
            assert "Never refund more than 20 euros." in " ".join(asked.split())
            terminal.send(f"{word}\n")
            terminal.expect("It is settled.")
        assert told in json.dumps(endpoint.requests[-1].body)

"""A chat over a fake conversation: commands, scripts, errors and Ctrl-C."""

import asyncio
import io
import json
import os
import signal
from collections.abc import Iterable

import pytest
from rich.console import Console

from acc_ace.cli.chat import Chat, converse, play
from acc_ace.cli.output import ExitCode
from acc_ace.cli.screen import JsonScreen, Screen
from acc_ace.cli.script import Script, ScriptedTurn
from acc_ace.cli.terminal import TerminalScreen
from acc_ace.errors import AccAceError, InputError, ModelUnavailable, StoreError
from schemas.base import Authority, SessionKey
from schemas.reflection import Judgement
from schemas.report import TokenUse
from tests.fakes.fake_turn_api import FakeTurnApi

KEY = SessionKey("acc_ace", "user", "s-1")


class Terminal:
    """A screen for people, or for programs, whose output can be read."""

    def __init__(self, *, width: int = 80) -> None:
        self.out = io.StringIO()
        self.err = io.StringIO()
        self.people = TerminalScreen(Console(file=self.out, width=width))
        self.programs = JsonScreen(self.out, Console(file=self.err, width=width))

    @property
    def lines(self) -> list[dict[str, object]]:
        """The JSON objects on stdout."""
        return [json.loads(line) for line in self.out.getvalue().splitlines()]


def _play(
    turns: FakeTurnApi, screen: Screen, inputs: Iterable[str], *, keep_going: bool = False
) -> ExitCode:
    script = Script(turns=[ScriptedTurn(text) for text in inputs])
    with asyncio.Runner() as runner:
        return play(Chat(turns, KEY, screen), script, runner, keep_going=keep_going)


def _converse(turns: FakeTurnApi, terminal: Terminal, inputs: Iterable[str]) -> ExitCode:
    lines = iter(inputs)
    with asyncio.Runner() as runner:
        chat = Chat(turns, KEY, terminal.people)
        return converse(chat, lambda: next(lines, None), runner, terminal.people)


def test_answer_and_memory_line_are_shown_for_each_turn() -> None:
    terminal = Terminal()
    assert _converse(FakeTurnApi(), terminal, ["hello", "", "  bye "]) is ExitCode.OK
    line = "CCS 412/1024 tokens · 42 tokens, 1 call"
    assert terminal.out.getvalue() == f"echo: hello\n{line}\necho: bye\n{line}\n"


def test_json_prints_the_contract_keys_first_and_nothing_else() -> None:
    terminal = Terminal()
    assert _play(FakeTurnApi(), terminal.programs, ["hello", "/ccs", "こんにちは"]) is ExitCode.OK
    first, second = terminal.lines
    assert list(first)[:15] == [
        *("turn", "input", "answer", "ccs", "ccs_diff", "constraints", "recalled", "qualified"),
        *("bullet_ids", "deltas", "playbook_version", "tokens", "ms", "model", "warnings"),
    ]
    assert first["tokens"] == {"generator": TokenUse(input=30, output=12, calls=1).model_dump()}
    assert (second["turn"], second["answer"]) == (2, "echo: こんにちは")
    assert "episodic_trace" in terminal.err.getvalue()


def test_json_stays_on_one_line_whatever_the_input() -> None:
    terminal = Terminal()
    _play(FakeTurnApi(), terminal.programs, ["a\u2028b\x85c\nd"])
    assert terminal.lines[0]["input"] == "a\u2028b\x85c\nd"


def test_script_stops_at_the_first_error_with_its_exit_code() -> None:
    terminal = Terminal()
    turns = FakeTurnApi({"bad": InputError("too strange")})
    assert _play(turns, terminal.programs, ["ok", "bad", "never"]) is ExitCode.BAD_INPUT
    assert terminal.lines[1] == {
        "turn": 2,
        "input": "bad",
        "error": {"code": "invalid_input", "message": "too strange"},
    }
    assert turns.said == [("ok", Authority.USER)]
    assert "error (invalid_input): too strange" in terminal.err.getvalue()


def test_keep_going_plays_on_and_keeps_the_first_exit_code() -> None:
    turns = FakeTurnApi({"down": ModelUnavailable("fake is down"), "bad": InputError("no")})
    terminal = Terminal()
    code = _play(turns, terminal.programs, ["down", "bad", "ok"], keep_going=True)
    assert code is ExitCode.FAILED
    assert [line["turn"] for line in terminal.lines] == [1, 1, 1]
    assert turns.said == [("ok", Authority.USER)]


@pytest.mark.parametrize(
    ("error", "code"),
    [(ModelUnavailable("m"), ExitCode.FAILED), (StoreError("s"), ExitCode.BAD_INPUT)],
)
def test_exit_code_tells_models_from_what_the_user_can_mend(
    error: AccAceError, code: ExitCode
) -> None:
    assert _play(FakeTurnApi({"x": error}), Terminal().programs, ["x"]) is code


def test_script_without_inputs_is_refused() -> None:
    with pytest.raises(InputError, match="has no inputs"):
        _play(FakeTurnApi(), Terminal().programs, [])


def test_authority_of_a_scripted_turn_reaches_the_conversation() -> None:
    turns = FakeTurnApi()
    script = Script(turns=[ScriptedTurn("disk full", Authority.TOOL)])
    with asyncio.Runner() as runner:
        play(Chat(turns, KEY, Terminal().people), script, runner, keep_going=False)
    assert turns.said == [("disk full", Authority.TOOL)]


def test_an_error_at_the_prompt_is_one_line_and_the_prompt_comes_back() -> None:
    terminal = Terminal()
    turns = FakeTurnApi({"bad": StoreError("memory.db is locked;\nstop the other program")})
    assert _converse(turns, terminal, ["bad", "ok"]) is ExitCode.OK
    assert (
        "error (store_error): memory.db is locked; stop the other program\necho: ok"
        in terminal.out.getvalue()
    )


def test_undo_and_reset_change_the_session() -> None:
    turns, terminal = FakeTurnApi(), Terminal()
    _converse(turns, terminal, ["one", "two", "/undo", "/reset", "/undo"])
    shown = terminal.out.getvalue()
    assert "undone; the state is back at turn 1" in shown
    assert "the state was cleared" in shown
    assert "error (not_found): nothing to undo" in shown
    assert turns.journal == {}


def test_views_show_what_is_stored_as_it_is() -> None:
    terminal = Terminal()
    _converse(FakeTurnApi(), terminal, ["/ccs", "/diff", "a [red]b[/red]", "/ccs", "/playbook"])
    shown = terminal.out.getvalue()
    assert "no state yet: it is empty before the first turn" in shown
    assert "a [red]b[/red]" in shown
    assert "Check [disk] first." in shown
    assert "helpful 0 · harmful 0 · neutral 0" in shown


def test_good_and_bad_judge_the_last_answer_with_the_words_that_follow() -> None:
    turns, terminal = FakeTurnApi(), Terminal(width=200)
    inputs = [
        "/good",
        "hello",
        "again",
        "/bad it was db-02",
        "/good",
        "/good",
        "/bad " + "x" * 8_001,
    ]
    assert _converse(turns, terminal, inputs) is ExitCode.OK
    assert turns.judged[0] == (2, Judgement(thumbs="down", comment="it was db-02"))
    assert turns.judged[1:] == [(2, Judgement(thumbs="up"))] * 2
    reported = terminal.out.getvalue()
    assert "no answer to rate yet" in reported
    assert "saved with turn 2; changes to the playbook: 0" in reported
    assert "turn 2 already has this feedback" in reported
    assert "a comment has at most 8,000 characters" in reported


def test_unknown_command_gets_a_hint_and_is_not_sent() -> None:
    turns, terminal = FakeTurnApi(), Terminal()
    _converse(turns, terminal, ["/csc", "/ccs now", "/zzz"])
    shown = terminal.out.getvalue()
    assert "/csc is not a command; did you mean /ccs?" in shown
    assert "/ccs takes no argument" in shown
    assert "/zzz is not a command; /help lists the commands." in shown
    assert turns.said == []


def test_unknown_command_in_a_script_is_bad_input() -> None:
    assert _play(FakeTurnApi(), Terminal().programs, ["/csc"]) is ExitCode.BAD_INPUT


def test_paths_and_doubled_slashes_are_text() -> None:
    turns = FakeTurnApi()
    _converse(turns, Terminal(), ["/etc/hosts is gone", "//ccs what is it?"])
    assert [text for text, _ in turns.said] == ["/etc/hosts is gone", "/ccs what is it?"]


@pytest.mark.parametrize("leave", ["/quit", "/QUIT"])
def test_quit_leaves_at_once(leave: str) -> None:
    turns = FakeTurnApi()
    _converse(turns, Terminal(), [leave, "never"])
    _play(turns, Terminal().programs, [leave, "never"])
    assert turns.said == []


def test_help_lists_every_command() -> None:
    terminal = Terminal()
    _converse(FakeTurnApi(), terminal, ["/help"])
    for name in ("ccs", "diff", "playbook", "undo", "reset", "help", "quit"):
        assert f"/{name} " in terminal.out.getvalue()


def test_ctrl_c_cancels_the_turn_and_returns_to_the_prompt() -> None:
    turns, terminal = FakeTurnApi(), Terminal()

    class Interrupting(TerminalScreen):
        """Presses Ctrl-C when the first stage starts."""

        def event(self, event: object) -> None:
            if not turns.said:
                os.kill(os.getpid(), signal.SIGINT)

    screen = Interrupting(Console(file=terminal.out, width=80))
    lines = iter(["hang", "/undo"])
    with asyncio.Runner() as runner:
        code = converse(Chat(turns, KEY, screen), lambda: next(lines, None), runner, screen)
    assert code is ExitCode.OK
    assert "cancelled; the turn was undone" in terminal.out.getvalue()
    assert "nothing to undo" in terminal.out.getvalue()

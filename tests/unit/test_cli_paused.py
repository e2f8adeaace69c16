"""What the command line shows of a turn that waits for a person."""

import asyncio
import io
import json
from collections.abc import Sequence

from rich.console import Console

from acc_ace.cli.chat import Chat, converse, play
from acc_ace.cli.screen import JsonScreen, Screen
from acc_ace.cli.script import Script, ScriptedTurn
from acc_ace.cli.terminal import TerminalScreen
from schemas.base import SessionKey
from schemas.report import AnswerChunk, StageStarted, TurnPaused, WaitingCall
from tests.fakes.fake_turn_api import FakeTurnApi

PAUSED = TurnPaused(
    session="incident", calls=[WaitingCall(id="adk-7", name="approve", args={"what": "restart"})]
)


def show(screen: Screen) -> None:
    screen.begin("Restart db-01.")
    screen.event(StageStarted(stage="generator"))
    screen.event(AnswerChunk(text="Let me ask"))
    screen.event(PAUSED)
    screen.end()


def test_the_terminal_names_the_calls_that_wait_and_how_to_answer_them() -> None:
    out = io.StringIO()
    show(TerminalScreen(Console(file=out, width=80)))
    assert out.getvalue().splitlines() == [
        "Let me ask",
        "approve (adk-7) waits for a person's answer",
        PAUSED.detail,
    ]


def test_json_lines_have_an_object_for_a_turn_that_waits() -> None:
    out = io.StringIO()
    show(JsonScreen(out, Console(file=io.StringIO())))
    [line] = out.getvalue().splitlines()
    assert TurnPaused.model_validate(json.loads(line)) == PAUSED


KEY = SessionKey("acc_ace", "user", "s-1")


def typed(turns: FakeTurnApi, lines: Sequence[str]) -> str:
    """What a person who types these lines sees."""
    out, left = io.StringIO(), iter(lines)
    screen = TerminalScreen(Console(file=out, width=80))
    with asyncio.Runner() as runner:
        converse(Chat(turns, KEY, screen, asks=True), lambda: next(left, None), runner, screen)
    return out.getvalue()


def test_the_prompt_asks_about_each_call_and_hands_the_answers_over_together() -> None:
    turns = FakeTurnApi()
    seen = typed(turns, ["pay A B", "yes", "いいえ"])
    assert turns.confirmed == [{"call-A": True, "call-B": False}]
    assert seen.splitlines() == [
        "? Pay A? (yes / no)",
        "? Pay B? (yes / no)",
        "confirmed: 1",
    ]
    assert turns.said[1:] == []


def test_a_command_leaves_the_question_open() -> None:
    turns = FakeTurnApi()
    typed(turns, ["pay A", "/rules", "no"])
    assert turns.confirmed == [{"call-A": False}]


def test_other_words_are_a_turn_and_confirm_nothing() -> None:
    turns = FakeTurnApi()
    seen = typed(turns, ["pay A", "yes, and pay B as well", "yes"])
    assert turns.confirmed == []
    assert [text for text, _ in turns.said] == ["pay A", "yes, and pay B as well", "yes"]
    assert "the call was not run; it can still be answered in the web UI" in seen


def test_a_script_says_how_to_answer_and_takes_no_line_for_an_answer() -> None:
    turns, out = FakeTurnApi(), io.StringIO()
    screen = TerminalScreen(Console(file=out, width=80))
    with asyncio.Runner() as runner:
        script = Script(turns=[ScriptedTurn("pay A"), ScriptedTurn("yes")])
        play(Chat(turns, KEY, screen), script, runner, keep_going=False)
    assert turns.confirmed == []
    assert PAUSED.detail in out.getvalue()

"""What the command line shows of a turn that waits for a person."""

import io
import json

from rich.console import Console

from acc_ace.cli.screen import JsonScreen, Screen
from acc_ace.cli.terminal import TerminalScreen
from acc_ace.schemas.report import AnswerChunk, StageStarted, TurnPaused, WaitingCall

PAUSED = TurnPaused(
    session="incident", calls=[WaitingCall(id="adk-7", name="approve", args={"what": "restart"})]
)


def play(screen: Screen) -> None:
    screen.begin("Restart db-01.")
    screen.event(StageStarted(stage="generator"))
    screen.event(AnswerChunk(text="Let me ask"))
    screen.event(PAUSED)
    screen.end()


def test_the_terminal_names_the_calls_that_wait_and_how_to_answer_them() -> None:
    out = io.StringIO()
    play(TerminalScreen(Console(file=out, width=80)))
    assert out.getvalue().splitlines() == [
        "Let me ask",
        "approve (adk-7) waits for a person's answer",
        PAUSED.detail,
    ]


def test_json_lines_have_an_object_for_a_turn_that_waits() -> None:
    out = io.StringIO()
    play(JsonScreen(out, Console(file=io.StringIO())))
    [line] = out.getvalue().splitlines()
    assert TurnPaused.model_validate(json.loads(line)) == PAUSED

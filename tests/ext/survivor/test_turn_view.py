"""A tick on the terminal: map, plan and measures, and no escape sequence of a world or a model."""

import io

import pytest
from rich.console import Console

from acc_ace.ext.survivor.cli.turn_view import TurnScreen, turn_line
from acc_ace.ext.survivor.survival import Alert, LoopSnapshot, Plan, PlaybookChange
from tests.ext.survivor.survivor_run import step, tick


def shown(*ticks: LoopSnapshot, terminal: bool) -> str:
    out = io.StringIO()
    screen = TurnScreen(Console(file=out, force_terminal=terminal, width=90, color_system=None))
    for each in ticks:
        screen.show(each)
    screen.close()
    screen.close()
    return out.getvalue()


def test_a_terminal_shows_the_map_beside_the_plan() -> None:
    text = shown(
        tick(
            plan=Plan(objective="reach the water", reflection="The cone hurt.", actions=()),
            steps=(step(), step("use torus", status="blocked", done="")),
            alerts=(Alert(kind="rule_violation", text="use torus breaks c-0002"),),
            playbook=(PlaybookChange(type="ADD", outcome="applied"),),
            is_night=True,
        ),
        terminal=True,
    )
    for expected in (
        "episode 1, tick 1 (step 1): life 10/10, food 10/10, water 10/10, reward +1.00",
        "fear 0.10, curiosity 0.00 bits",
        ".#.   aim: reach the water",
        ".@c   steps: move north, use torus (blocked)",
        "...   thought: The cone hurt.",
        "alerts: use torus breaks c-0002",
        "playbook: ADD applied",
        "fear: 0.10, threshold 0.60, night, season 0",
        "@ you, # rock, c cone",
    ):
        assert expected in text


def test_elsewhere_there_is_a_line_every_ten_ticks_and_at_the_end() -> None:
    lived = [tick(number) for number in range(1, 25)]
    text = shown(*lived, tick(25, over=True, died_of="wolf"), terminal=False)
    assert [line.split(" (")[0] for line in text.splitlines()] == [
        "episode 1, tick 1",
        "episode 1, tick 11",
        "episode 1, tick 21",
        "episode 1, tick 25",
    ]
    assert text.endswith("died of wolf\n")


@pytest.mark.parametrize("terminal", [True, False])
def test_hostile_words_stay_words(terminal: bool) -> None:
    hostile = "\x1b]0;x\x07[red]\x9b31m\u202eno"
    text = shown(
        tick(
            plan=Plan(objective=hostile, reflection=hostile, actions=()),
            steps=(step(hostile, status="failed"),),
            view=(hostile,),
            legend={hostile: hostile},
            died_of=hostile,
            over=True,
        ),
        terminal=terminal,
    )
    for bad in ("\x1b]", "\x07", "\x9b", "\u202e"):
        assert bad not in text
    assert "[red]" in text


def test_a_line_says_what_ended_the_life() -> None:
    assert "died of" not in turn_line(tick())
    assert turn_line(tick(died_of="wolf")).endswith(", died of wolf")

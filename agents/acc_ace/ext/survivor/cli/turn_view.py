"""A tick on the terminal: in place where there is one, else a line every few ticks."""

from collections.abc import Iterable
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table

from acc_ace.cli.output import Paragraphs, printable
from acc_ace.ext.survivor.snapshots import body_in_words
from acc_ace.ext.survivor.survival import LoopSnapshot, StepRecord

_EVERY: Final = 10
"""Ticks between lines when the output is no terminal."""


class TurnScreen:
    """Shows ticks as they are lived; `close` leaves the last view standing."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None

    def show(self, tick: LoopSnapshot) -> None:
        """Show a tick."""
        if self._live is not None:
            self._live.start()
            self._live.update(turn_view(tick), refresh=True)
        elif tick.over or tick.tick % _EVERY == 1:
            self._console.print(printable(turn_line(tick)), markup=False, soft_wrap=True)

    def close(self) -> None:
        """Stop; safe to call twice."""
        if self._live is not None:
            self._live.stop()


def turn_line(tick: LoopSnapshot) -> str:
    """A tick in one line."""
    end = f", died of {tick.died_of}" if tick.died_of else ""
    return (
        f"episode {tick.episode}, tick {tick.tick} (step {tick.step}): {body_in_words(tick.body)}, "
        f"reward {tick.scoreboard.total:+.2f}, score {tick.scoreboard.score:.1f}, "
        f"fear {tick.fear:.2f}, curiosity {tick.curiosity:.2f} bits{end}"
    )


def words_of(tick: LoopSnapshot) -> list[tuple[str, str]]:
    """The plan, its steps, and what came of them, by name; what there is none of is left out."""
    light = "night" if tick.is_night else "day"
    times = f"{light}, season {tick.season}{', safe area' if tick.is_safe else ''}"
    told = [
        ("aim", tick.plan.objective),
        ("steps", _steps(tick.steps)),
        ("thought", tick.plan.reflection),
        ("alerts", "; ".join(alert.text for alert in tick.alerts)),
        ("playbook", "; ".join(f"{one.type} {one.outcome}" for one in tick.playbook)),
        ("fear", f"{tick.fear:.2f}, threshold {tick.threshold:.2f}, {times}"),
    ]
    return [(name, text) for name, text in told if text]


def turn_view(tick: LoopSnapshot) -> RenderableType:
    """A tick: the map with its legend beside the plan, its steps, and what came of them."""
    grid = Table.grid(padding=(0, 3, 0, 0))
    grid.add_row(
        Paragraphs(*((row, "") for row in tick.view)),
        Paragraphs(*((f"{name}: {text}", "") for name, text in words_of(tick))),
    )
    legend = ", ".join(f"{symbol} {name}" for symbol, name in tick.legend.items())
    return Group(Paragraphs((turn_line(tick), "bold")), grid, Paragraphs((legend, "dim")))


def _steps(steps: Iterable[StepRecord]) -> str:
    return ", ".join(
        step.wanted if step.status == "done" else f"{step.wanted} ({step.status})" for step in steps
    )

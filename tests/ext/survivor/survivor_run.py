"""Snapshots of a survivor's run, made up tick by tick."""

from pathlib import Path
from typing import Any

from acc_ace.ext.survivor.survival import (
    Action,
    Body,
    LoopSnapshot,
    Plan,
    Scoreboard,
    StepRecord,
)

WHOLE = Body(life=10, food=10, water=10, most_life=10, most_food=10, most_water=10)


def step(wanted: str = "move north", **changed: Any) -> StepRecord:
    """A step that was done as wanted, with some values changed."""
    return StepRecord(**{"wanted": wanted, "done": wanted, "status": "done", **changed})


def tick(number: int = 1, *, episode: int = 1, **changed: Any) -> LoopSnapshot:
    """A tick of one step, with some values changed."""
    usual: dict[str, Any] = {
        "run": "run-1",
        "seed": 7,
        "episode": episode,
        "tick": number,
        "step": number,
        "at": "2026-11-25T12:00:00+00:00",
        "place": (3, 4),
        "side": 9,
        "view": (".#.", ".@c", "..."),
        "legend": {"@": "you", "#": "rock", "c": "cone"},
        "path": ((3, 4),),
        "body": WHOLE,
        "danger": 0.1,
        "unknown": 0.2,
        "fear": 0.1,
        "curiosity": 0.0,
        "threshold": 0.6,
        "exploration": 0.5,
        "plan": Plan(objective="drink", actions=(Action(type="move", target="north"),)),
        "steps": (step(),),
        "scoreboard": Scoreboard(total=1.0, score=float(number)),
        "model": "embedded/policy",
        "calls": 2,
        "tokens": 3_000,
    }
    return LoopSnapshot(**{**usual, **changed})


def save_run(file: Path, *ticks: LoopSnapshot) -> Path:
    """Write a run file."""
    file.write_text("".join(f"{each.model_dump_json()}\n" for each in ticks), encoding="utf-8")
    return file

"""Snapshots of a survivor's run, made up tick by tick."""

from pathlib import Path
from typing import Any

from acc_ace.ext.survivor.survival import Body, LoopSnapshot, StepRecord
from tests.fakes import run_files

WHOLE = Body(life=10, food=10, water=10, most_life=10, most_food=10, most_water=10)


def step(wanted: str = "move north", **changed: Any) -> StepRecord:
    """A step that was done as wanted, with some values changed."""
    return StepRecord(**{"wanted": wanted, "done": wanted, "status": "done", **changed})


def tick(number: int = 1, *, episode: int = 1, **changed: Any) -> LoopSnapshot:
    """A tick of one step, with some values changed."""
    usual = LoopSnapshot.model_validate(run_files.tick(number))
    return usual.model_copy(update={"episode": episode, **changed})


def save_run(file: Path, *ticks: LoopSnapshot) -> Path:
    """Write a run file."""
    file.write_text("".join(f"{each.model_dump_json()}\n" for each in ticks), encoding="utf-8")
    return file

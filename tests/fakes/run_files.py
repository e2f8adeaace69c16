"""Files of a survivor's run, made up tick by tick, as the server and the page read them."""

import json
from pathlib import Path
from typing import Any, Final

TICK: Final[dict[str, Any]] = json.loads(
    Path(__file__).parents[1].joinpath("data/run_tick.json").read_text("utf-8")
)
"""A tick of one step, with every field of a snapshot."""


def tick(number: int = 1, **changed: Any) -> dict[str, Any]:
    """A tick of one step, with some values changed."""
    scoreboard = {**TICK["scoreboard"], "score": float(number)}
    return {**TICK, "tick": number, "step": number, "scoreboard": scoreboard, **changed}


def step(wanted: str, **changed: Any) -> dict[str, Any]:
    """A step that was done as wanted, with some values changed."""
    return {**TICK["steps"][0], "wanted": wanted, "done": wanted, **changed}


def plan(*actions: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """A plan of these actions."""
    return {**TICK["plan"], "actions": actions, **changed}


def save_run(file: Path, *ticks: dict[str, Any]) -> Path:
    """Write a run file."""
    file.write_text("".join(f"{json.dumps(each)}\n" for each in ticks), encoding="utf-8")
    return file

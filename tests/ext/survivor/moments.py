"""Moments and steps for tests: a calm one, changed where a test says so."""

from typing import Any

from acc_ace.ext.survivor.exploration import Outlook
from acc_ace.ext.survivor.survival import Body, StepRecord

Step = StepRecord
WELL = Body(life=12, food=40, water=30, most_life=12, most_food=40, most_water=30)


def moment(**changes: Any) -> Outlook:
    """A day on a plain with nothing in sight, in full health."""
    fields: dict[str, Any] = {
        "body": WELL,
        "is_night": False,
        "light_left": 30,
        "is_safe": False,
        "sight": 1,
        "terrain": {(row, column): "plain" for row in (-1, 0, 1) for column in (-1, 0, 1)},
        "things": {},
        "creatures": {},
        "approaching": frozenset(),
        "places": {},
        "safe": None,
        "frontier": None,
        "danger": 0.0,
        "threshold": 0.6,
        "exploration": 0.5,
    }
    return Outlook(**{**fields, **changes})


def made(step: str, **changes: Any) -> StepRecord:
    """A step that was made, and what it led to."""
    return StepRecord(**{"wanted": step, "done": step, "status": "done", **changes})

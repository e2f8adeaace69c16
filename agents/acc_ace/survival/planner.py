"""Plan the next steps from what is known of a moment: the one planning code of all survivors.

Pure and deterministic. It knows the laws of the world (distances, reach of a hunter, what a step
costs), but of natures nothing beyond the beliefs that it is given.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from acc_ace.schemas.survival import MOST_STEPS, Body, Cell
from acc_ace.survival.world_rules import Nature


@dataclass(frozen=True)
class Outlook:
    """All that is known of a moment. Cells are steps south and east of the body."""

    body: Body
    is_night: bool
    light_left: int
    is_safe: bool
    sight: int
    terrain: Mapping[Cell, str]
    things: Mapping[Cell, str]
    creatures: Mapping[Cell, str]
    approaching: frozenset[Cell]
    places: Mapping[str, tuple[Cell, ...]]
    safe: Cell | None
    frontier: Cell | None
    danger: float
    threshold: float
    exploration: float
    unknown: float = 0.0


class Belief(NamedTuple):
    """What a kind of thing or creature is held to be; None where nothing is known."""

    nature: Nature | Literal["hunter", "harmless"] | None
    weight: float = 1.0


Beliefs = Mapping[str, Belief]
"""Beliefs by kind of thing or creature; a missing one is unknown."""


class PlannedSteps(NamedTuple):
    """Steps such as 'move north', 'use cone' or 'wait', and what they are for."""

    steps: tuple[str, ...]
    objective: str
    risk: float
    watch: str


def plan_steps(
    outlook: Outlook, beliefs: Beliefs, *, most: int = MOST_STEPS, boldness: float = 0.5
) -> PlannedSteps:
    """At least one step, at most `most`.

    `boldness` 0 to 1: how early an unknown thing is tried and an unknown creature suffered.
    """
    raise NotImplementedError

"""What the survivor knows of a moment: its body and the things in sight, as values and as text."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from acc_ace.survival.world import FIRST_KIND, WALL, Cell, Observation, Touch
from acc_ace.survival.world_rules import KINDS, Sizes


class Stance(StrEnum):
    """What to do about a kind of thing."""

    TRY = "try"
    EAT = "eat"
    DRINK = "drink"
    HEAL = "heal"
    AVOID = "avoid"


@dataclass(frozen=True)
class Moment:
    """A tick as the survivor sees it. Cells are steps south and east of its position."""

    health: int
    energy: int
    water: int
    sizes: Sizes
    things: Mapping[Cell, str]
    walls: frozenset[Cell]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds in sight, the nearest first."""
        return tuple(dict.fromkeys(kind for _, kind in self._by_distance()))

    def reported(self) -> str:
        """The moment in a few lines."""
        seen = "; ".join(f"{kind} {_where(cell)}" for cell, kind in self._by_distance())
        return (
            f"Body: health {self.health}/{self.sizes.health}, "
            f"energy {self.energy}/{self.sizes.energy}, water {self.water}/{self.sizes.water}.\n"
            f"In sight: {seen or 'nothing'}."
        )

    def _by_distance(self) -> list[tuple[Cell, str]]:
        return sorted(self.things.items(), key=lambda item: (distance(item[0]), item[0]))


def sensed(observation: Observation, sizes: Sizes) -> Moment:
    """The moment that an observation of the world shows."""
    health, energy, water = (int(points) for points in observation["body"])
    view = observation["view"]
    cells = {
        (row - sizes.sight, column - sizes.sight): int(code)
        for (row, column), code in zip(
            ((r, c) for r in range(view.shape[0]) for c in range(view.shape[1])),
            view.flat,
            strict=True,
        )
    }
    return Moment(
        health=health,
        energy=energy,
        water=water,
        sizes=sizes,
        things={
            cell: KINDS[code - FIRST_KIND] for cell, code in cells.items() if code >= FIRST_KIND
        },
        walls=frozenset(cell for cell, code in cells.items() if code == WALL),
    )


def felt(touch: Touch) -> str:
    """What a touch did, in words: 'touched cone: health -4'."""
    points = {"health": touch.health, "energy": touch.energy, "water": touch.water}
    changes = ", ".join(f"{name} {change:+d}" for name, change in points.items() if change)
    return f"touched {touch.kind}: {changes or 'nothing changed'}"


def hindsight(touch: Touch) -> Stance | None:
    """What would have been right to do, by what was felt; None where nothing changed.

    A full body feels no gain, so a first touch is not always informative.
    """
    if touch.health < 0:
        return Stance.AVOID
    gains = ((touch.energy, Stance.EAT), (touch.water, Stance.DRINK), (touch.health, Stance.HEAL))
    return next((stance for points, stance in gains if points > 0), None)


def distance(cell: Cell) -> int:
    """Steps to a cell with nothing in the way."""
    return abs(cell[0]) + abs(cell[1])


def _where(cell: Cell) -> str:
    down, right = cell
    parts = [
        f"{abs(steps)} {names[steps > 0]}"
        for steps, names in ((down, ("north", "south")), (right, ("west", "east")))
        if steps
    ]
    return " ".join(parts)

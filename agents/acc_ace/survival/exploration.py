"""Remember the ground of a life: cells seen, places of things, safe cells, the frontier."""

from acc_ace.schemas.survival import Cell
from acc_ace.survival.planner import Outlook
from acc_ace.survival.world import Observation
from acc_ace.survival.world_rules import Sizes


class ExplorationMap:
    """What observations showed of the ground. Knows the sizes of the world, not its layout."""

    place: Cell

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes

    def observe(self, observation: Observation) -> int:
        """Take an observation in, one for each step; returns how many cells are new."""
        raise NotImplementedError

    @property
    def cells_seen(self) -> int:
        """Cells of the world seen so far."""
        raise NotImplementedError

    @property
    def kinds_seen(self) -> frozenset[str]:
        """Kinds of things seen so far."""
        raise NotImplementedError

    def frontier(self) -> Cell | None:
        """The nearest known walkable cell beside unseen ground, absolute."""
        raise NotImplementedError

    def safe(self) -> Cell | None:
        """The nearest known safe cell, absolute."""
        raise NotImplementedError

    def places(self, kind: str) -> tuple[Cell, ...]:
        """Remembered places of a kind that are ripe when reached, absolute, nearest first."""
        raise NotImplementedError


def outlook(
    observation: Observation,
    ground: ExplorationMap,
    *,
    threshold: float = 0.6,
    exploration: float = 0.5,
    danger: float | None = None,
) -> Outlook:
    """The moment of an observation that `ground` has taken in.

    `danger` defaults to the observation's own crude estimate.
    """
    raise NotImplementedError

"""How a bullet did so far, with the doubt that few turns leave."""

import math
from typing import NamedTuple

from acc_ace.schemas.bullet import Bullet

SURE = 1.645
"""Standard deviations that leave one chance in twenty of being wrong, to one side."""


class Share(NamedTuple):
    """Mean and standard deviation of a share, 0 to 1."""

    mean: float
    spread: float


def helpful_share(bullet: Bullet) -> Share:
    """Helpful turns among those that were judged helpful or harmful: Beta(1, 1) prior."""
    judged = bullet.helpful + bullet.harmful + 2
    mean = (bullet.helpful + 1) / judged
    return Share(mean, math.sqrt(mean * (1 - mean) / (judged + 1)))


def is_judged(bullet: Bullet) -> bool:
    """Whether the bullet was tagged at all."""
    return bool(bullet.helpful or bullet.harmful or bullet.neutral)


def is_proven(bullet: Bullet) -> bool:
    """Whether it helps more often than not, one standard deviation down."""
    share = helpful_share(bullet)
    return share.mean - share.spread > 0.5


def is_net_harmful(bullet: Bullet) -> bool:
    """Whether it harms more often than not, and chance is no good excuse: 3 to 0, 5 to 1."""
    share = helpful_share(bullet)
    return share.mean + SURE * share.spread < 0.5

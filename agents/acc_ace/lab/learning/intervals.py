"""Bootstrap intervals of means (Efron 1979, percentile method)."""

import random
from collections.abc import Sequence
from typing import NamedTuple

RESAMPLES = 2_000


class Interval(NamedTuple):
    """A mean with the bounds that 95 % of the resampled means lie between."""

    mean: float
    low: float
    high: float


def interval(values: Sequence[float], *, seed: int = 0) -> Interval:
    """The mean of `values` with its 95 % interval; the same seed gives the same one.

    Raises ValueError when there are no values.
    """
    if not values:
        raise ValueError("no values to average")
    draw = random.Random(seed)  # noqa: S311 (a resample, no secret)
    count = len(values)
    means = sorted(sum(draw.choices(values, k=count)) / count for _ in range(RESAMPLES))
    tail = RESAMPLES // 40
    return Interval(sum(values) / count, means[tail], means[-tail - 1])

"""Token budget of background learning, over a sliding hour."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from acc_ace.core.schemas.learning_job import Attempt

HOUR = timedelta(hours=1)


@dataclass
class Meter:
    """Tokens of the model calls so far, failed ones included."""

    tokens: int = 0


def budget_wait_s(attempts: Iterable[Attempt], now: datetime, *, tokens_per_hour: int) -> float:
    """Seconds until another job may start; 0 while the hour's tokens are not used up.

    A job may start while any tokens are left, so the last one may exceed the budget by its cost;
    the excess counts against the jobs after it. `tokens_per_hour` 0 means no limit.
    """
    if tokens_per_hour == 0:
        return 0.0
    recent = sorted((a for a in attempts if now - HOUR < a.at and a.tokens), key=lambda a: a.at)
    left = sum(attempt.tokens for attempt in recent)
    if left < tokens_per_hour:
        return 0.0
    for attempt in recent:
        left -= attempt.tokens
        if left < tokens_per_hour:
            # An attempt stamped by a clock ahead of ours must not stop learning for over an hour.
            return min((attempt.at + HOUR - now).total_seconds(), HOUR.total_seconds())
    return 0.0

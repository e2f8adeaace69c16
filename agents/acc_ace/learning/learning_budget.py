"""What learning may cost: so many tokens in any hour."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from acc_ace.schemas.learning_job import Attempt

HOUR = timedelta(hours=1)


@dataclass
class Meter:
    """Tokens of the model calls so far, also of those that came to nothing."""

    tokens: int = 0


def budget_wait_s(attempts: Iterable[Attempt], now: datetime, *, tokens_per_hour: int) -> float:
    """Seconds until another job may begin; 0 while the hour's tokens are not used up.

    A job may begin while anything is left, so the last one may go beyond the budget by what it
    costs; what it went beyond counts for the jobs after it. `tokens_per_hour` 0 sets no bound.
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
            # An attempt of a clock that ran ahead must not stop learning for more than an hour.
            return min((attempt.at + HOUR - now).total_seconds(), HOUR.total_seconds())
    return 0.0

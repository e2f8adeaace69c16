"""A circuit breaker for each model, shared by all roles, turns and sessions of the process."""

from datetime import datetime, timedelta

from acc_ace.clock import Clock, SystemClock
from acc_ace.models.failures import MAX_WAIT_S, Failure

MAX_PAUSE_S = 86_400.0
"""Longest pause, also when the server asks for more: a quota of a day comes back within one."""


class Breaker:
    """Keeps a model that cannot answer from being asked, for a time.

    It opens when the server asks for a wait of more than MAX_WAIT_S seconds, for that time, and
    after `failures` tries in a row that found the model unavailable, for `pause_s` seconds. When
    the time is over the next try is made; if it fails too, the breaker opens again.
    """

    def __init__(
        self, clock: Clock | None = None, *, failures: int = 5, pause_s: float = 30.0
    ) -> None:
        self._clock = clock or SystemClock()
        self._limit, self._pause_s = failures, pause_s
        self._failures = 0
        self._until: datetime | None = None
        self._reason = ""

    def objection(self) -> str | None:
        """Why the model may not be asked now, and until when; None when it may."""
        if self._until is None or self._clock.now() >= self._until:
            return None
        return f"is not asked before {self._until:%Y-%m-%d %H:%M:%S} UTC: it {self._reason}"

    def succeed(self) -> None:
        """Count a reply."""
        self._failures, self._until = 0, None

    def fail(self, failure: Failure) -> None:
        """Count a try that found the model unavailable."""
        self._failures += 1
        wait = failure.retry_after_s or 0.0
        if wait > MAX_WAIT_S or self._failures >= self._limit:
            pause = min(max(wait, self._pause_s), MAX_PAUSE_S)
            self._until = self._clock.now() + timedelta(seconds=pause)
            self._reason = failure.reason

"""A circuit breaker for each model, shared by all roles, turns and sessions of the process."""

from datetime import datetime, timedelta

from acc_ace.clock import Clock, SystemClock
from acc_ace.models.failures import MAX_WAIT_S, Failure, asks

MAX_PAUSE_S = 86_400.0
"""Longest pause, also when the server asks for more: a quota of a day comes back within one."""

FIRST_PAUSE_S = 60.0
"""First pause when a server asks for longer: one reply does not close a model for an hour."""


class Breaker:
    """Keeps a model that cannot answer from being asked, for a time.

    It opens after `failures` tries in a row that found the model unavailable, for `pause_s`
    seconds, and when the server asks for a wait of more than MAX_WAIT_S seconds: for FIRST_PAUSE_S
    (or `pause_s`) at first, and twice as long whenever it fails again, up to what the server asks
    for. After a pause one try at a time is let through: a reply closes the breaker, a failure opens
    it again.
    """

    def __init__(
        self, clock: Clock | None = None, *, failures: int = 5, pause_s: float = 30.0
    ) -> None:
        self._clock = clock or SystemClock()
        self._limit, self._pause_s = failures, pause_s
        self._failures = self._pauses = 0
        self._until: datetime | None = None
        self._probe: object = None
        self._reason = ""

    def objection(self) -> str | None:
        """Why the model may not be asked now, and until when; None when it may."""
        if self._is_paused:
            return f"is not asked before {self._until:%Y-%m-%d %H:%M:%S} UTC: it {self._reason}"
        if self._probe is not None:
            return f"is not asked while one call tries whether it answers: it {self._reason}"
        return None

    def admit(self, caller: object) -> str | None:
        """The same; after a pause the caller is the one that tries, until it leaves."""
        objection = self.objection()
        if objection is None and self._until is not None:
            self._probe = caller
        return objection

    def leave(self, caller: object) -> None:
        """Let another one try, if it is the caller that does."""
        if self._probe is caller:
            self._probe = None

    def succeed(self) -> None:
        """Count a reply."""
        self._failures = self._pauses = 0
        self._until = self._probe = None

    def fail(self, failure: Failure) -> None:
        """Count a try that found the model unavailable."""
        self._failures += 1
        wait = failure.retry_after_s or 0.0
        opens = wait > MAX_WAIT_S or self._failures >= self._limit or self._until is not None
        if self._is_paused or not opens:
            return  # Of calls that fail together the first one has opened it.
        pause = self._pause_s
        if wait > MAX_WAIT_S:
            longest = min(max(wait, pause), MAX_PAUSE_S)
            pause = min(max(FIRST_PAUSE_S, pause) * 2.0**self._pauses, longest)
            # Twelve doublings of a minute are more than a day.
            self._pauses = min(self._pauses + 1, 12)
        self._until = self._clock.now() + timedelta(seconds=pause)
        self._reason = f"{failure.reason}{asks(wait)}"

    @property
    def _is_paused(self) -> bool:
        return self._until is not None and self._clock.now() < self._until

"""Time as a dependency, and the time that the models of a turn may take."""

import math
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable


@runtime_checkable
class Clock(Protocol):
    """A clock."""

    def now(self) -> datetime:
        """Return the current time in UTC, timezone-aware."""
        ...


class SystemClock:
    """Clock of the machine."""

    def now(self) -> datetime:
        """The current time, timezone-aware, UTC."""
        return datetime.now(UTC)


class TimeBudget:
    """Seconds that the models of one turn may take together; who waits for them spends it."""

    def __init__(
        self, seconds: float = math.inf, *, within: "TimeBudget | None" = None, stage: str = ""
    ) -> None:
        """What is spent of it is spent of the budget that it is `within` too."""
        self.seconds = self._left_s = seconds
        self._within, self._stage, self._is_over = within, stage, False

    @property
    def left_s(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, min(self._left_s, self._within.left_s if self._within else math.inf))

    @property
    def bound(self) -> str:
        """What bounds it, with the setting, to be read behind "models may take"."""
        if self._within is not None and (not self._stage or self._within.left_s <= 0):
            return self._within.bound
        what = f"in the {self._stage}, a third of a turn's" if self._stage else "in a turn"
        return f"{self.seconds:g} s {what} (ACC_ACE_LIMITS__TURN_MODEL_S)"

    def spend(self, seconds: float) -> None:
        """Count time that was waited."""
        self._left_s -= seconds
        if self._within is not None:
            self._within.spend(seconds)

    def grant(self, seconds: float) -> None:
        """Let at least so many seconds be left."""
        self._left_s = max(self._left_s, seconds)
        if self._within is not None:
            self._within.grant(seconds)

    def begin(self) -> None:
        """Be the budget of what the current task does from here on.

        A turn calls it whenever it is about to ask a model: whoever reads its events may do so in
        one task after the other.
        """
        _current.set(self)

    def end(self) -> None:
        """Bound nothing any more: what the task does after its turn is no part of it."""
        self._is_over = True

    @classmethod
    def current(cls) -> "TimeBudget":
        """The budget of the running turn; one without a bound outside of a turn."""
        budget = _current.get()
        return TimeBudget() if budget is None or budget._has_ended else budget

    @property
    def _has_ended(self) -> bool:
        return self._is_over or (self._within is not None and self._within._has_ended)


_current: ContextVar[TimeBudget | None] = ContextVar("time_budget", default=None)

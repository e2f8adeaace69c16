"""A clock that stands still until it is told to move, and one on which it is always Wednesday."""

from datetime import UTC, datetime, timedelta

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


class FixedClock:
    """A Clock for tests."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start

    def now(self) -> datetime:
        return self._now

    def advance(self, **by: float) -> datetime:
        """Move on, e.g. `advance(seconds=30)`; the new time."""
        self._now += timedelta(**by)
        return self._now


class WednesdayClock:
    """The machine's clock, moved back to its last Wednesday: rules of other days do not hold."""

    def now(self) -> datetime:
        real = datetime.now(UTC)
        return real - timedelta(days=(real.weekday() - _WEDNESDAY) % 7)


_WEDNESDAY = 2

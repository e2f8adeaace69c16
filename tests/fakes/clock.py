"""A clock that stands still until it is told to move."""

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

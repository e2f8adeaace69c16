"""Time as a dependency."""

from datetime import UTC, datetime
from typing import Protocol


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

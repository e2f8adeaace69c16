"""The real time."""

from datetime import UTC, datetime


class SystemClock:
    """Clock of the machine."""

    def now(self) -> datetime:
        """The current time, timezone-aware, UTC."""
        return datetime.now(UTC)

"""Time as a dependency."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """The current time, timezone-aware, UTC."""
        ...

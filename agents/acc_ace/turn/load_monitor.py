"""How busy the models are with answering: learning steps back for answers."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta


class Pressure:
    """What answers ask of the models in this process. Safe to use from any thread."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._turns = 0
        self._limited_at: datetime | None = None

    @property
    def turns(self) -> int:
        """Turns that are running."""
        return self._turns

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Count a turn while the context is open."""
        with self._mutex:
            self._turns += 1
        try:
            yield
        finally:
            with self._mutex:
                self._turns -= 1

    def rate_limited(self, at: datetime) -> None:
        """A model said that a turn asks it too often."""
        with self._mutex:
            self._limited_at = at

    def wait_s(self, now: datetime, *, most_turns: int, quiet_s: float) -> float:
        """Seconds to keep away from the models; 0 when there is room.

        While more than `most_turns` turns run, it cannot be known for how long: then one second.
        """
        with self._mutex:
            limited_at, turns = self._limited_at, self._turns
        if limited_at is not None:
            left = (limited_at + timedelta(seconds=quiet_s) - now).total_seconds()
            if left > 0:
                return min(left, quiet_s)
        return 1.0 if turns > most_turns else 0.0

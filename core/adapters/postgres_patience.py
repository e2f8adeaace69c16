"""How long work waits for a server that is away.

Work that waited for a thread while the server was away has waited for the server too: it does not
begin anew, or a queue of it would take its number of waits.
"""

import time

from core.errors import StoreError


class Patience:
    """Until when to try again. Threads may share one; the last word of any of them counts."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._failure: tuple[float, StoreError] | None = None

    def deadline(self, asked_at: float) -> float:
        """When work that was asked for then is given up. Raises StoreError when that is over.

        The time is counted from its begin, or, when the server was found away since it was asked
        for, from then.
        """
        now, failure = time.monotonic(), self._failure
        if failure is None or failure[0] < asked_at:
            return now + self.seconds
        if asked_at + self.seconds <= now:
            raise StoreError(str(failure[1])) from failure[1]
        return asked_at + self.seconds

    def answered(self) -> None:
        """The server is there."""
        self._failure = None

    def given_up(self, error: StoreError) -> None:
        """The server stayed away for all of the time."""
        self._failure = (time.monotonic(), error)

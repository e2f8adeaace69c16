"""One turn of a session at a time."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from schemas.tenancy import SessionKey


class SessionLock(Protocol):
    """Mutual exclusion by session."""

    def hold(self, key: SessionKey, *, wait_s: float) -> AbstractAsyncContextManager[None]:
        """Hold the session while the context is open.

        Waits at most `wait_s` seconds, then raises SessionBusyError.
        """
        ...

"""Locks that serialise the turns of a session."""

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from acc_ace.schemas.tenancy import SessionKey


class SessionLock(Protocol):
    """Mutual exclusion per session."""

    def hold(self, key: SessionKey, *, wait_s: float) -> AbstractAsyncContextManager[None]:
        """Hold the session lock while the context is open.

        Waits at most `wait_s` seconds, then raises SessionBusyError.
        """
        ...

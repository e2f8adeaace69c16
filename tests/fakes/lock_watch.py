"""Notice that something asks for a session, where a test would otherwise sleep and hope."""

import asyncio
from contextlib import AbstractAsyncContextManager

import pytest

from acc_ace.core.schemas.base import SessionKey
from acc_ace.turn.ports import SessionLock


def asked_for(lock: SessionLock, patch: pytest.MonkeyPatch) -> asyncio.Event:
    """An event that is set when the lock is next asked to hold any session."""
    asked, hold = asyncio.Event(), lock.hold

    def noting(key: SessionKey, *, wait_s: float) -> AbstractAsyncContextManager[None]:
        asked.set()
        return hold(key, wait_s=wait_s)

    patch.setattr(lock, "hold", noting)
    return asked

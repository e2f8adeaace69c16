"""Hold the session of a turn that comes by ADK's routes before ADK writes anything of it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from acc_ace.conversation import APP_NAME
from core.errors import AccAceError
from core.ports.session_lock import SessionLock
from schemas.tenancy import SessionKey
from server.access import json_object
from server.problems import problem_of, problem_response

_RUN: Final = frozenset({"/run", "/run_sse"})


class _Held:
    """A session that is held ahead of a turn, until the first one that asks takes it over."""

    def __init__(self, lock: "HandedOverLock", key: SessionKey, hold: AsyncExitStack) -> None:
        self._of = (lock, key)
        self._hold: AsyncExitStack | None = hold

    def take(self, lock: "HandedOverLock", key: SessionKey) -> AsyncExitStack | None:
        """The hold, which is then the taker's to give back; None if it is not to be had."""
        if self._of != (lock, key) or self._hold is None:
            return None
        taken, self._hold = self._hold.pop_all(), None
        return taken

    def end(self) -> None:
        """It is given back, so nobody can take it."""
        self._hold = None


_AHEAD: ContextVar[_Held | None] = ContextVar("session_held_ahead", default=None)


class HandedOverLock:
    """A SessionLock whose hold can be taken ahead of a turn, which then does not wait again."""

    def __init__(self, inner: SessionLock) -> None:
        self._inner = inner

    @asynccontextmanager
    async def hold(self, key: SessionKey, *, wait_s: float) -> AsyncIterator[None]:
        """Hold the session while the context is open; SessionBusyError after `wait_s` seconds."""
        held = _AHEAD.get()
        taken = held.take(self, key) if held is not None else None
        async with taken or self._inner.hold(key, wait_s=wait_s):
            yield

    @asynccontextmanager
    async def ahead(self, key: SessionKey, *, wait_s: float) -> AsyncIterator[None]:
        """Hold the session for the first `hold` of it inside of the context, which takes it over.

        Given back at the end of the context if nobody did. Raises SessionBusyError.
        """
        async with AsyncExitStack() as hold:
            await hold.enter_async_context(self._inner.hold(key, wait_s=wait_s))
            held = _Held(self, key, hold)
            before = _AHEAD.set(held)
            try:
                yield
            finally:
                held.end()
                _AHEAD.reset(before)


class SessionHold:
    """ASGI middleware: a turn of our app by `/run` or `/run_sse` has its session, or gets 409.

    ADK writes what the user said before the agent waits for the session, so that a turn which is
    refused later would leave it there, and `/run_sse` has answered 200 by then.
    """

    def __init__(
        self, app: ASGIApp, *, lock: HandedOverLock, wait_s: float, data_dir: Path
    ) -> None:
        self._app = app
        self._lock = lock
        self._wait_s = wait_s
        self._data_dir = data_dir

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI asks."""
        key = _session_of(scope)
        async with AsyncExitStack() as stack:
            if key is not None:
                try:
                    await stack.enter_async_context(self._lock.ahead(key, wait_s=self._wait_s))
                except AccAceError as error:
                    refusal = problem_of(error, instance=scope["path"], data_dir=self._data_dir)
                    await problem_response(refusal)(scope, receive, send)
                    return
            await self._app(scope, receive, send)


def _session_of(scope: Scope) -> SessionKey | None:
    """The session of our app that the request runs a turn of, or None."""
    if scope["type"] != "http" or scope["method"] != "POST" or scope["path"] not in _RUN:
        return None
    fields = json_object(scope)
    # Without a name ADK takes the app it is told to by default, which may be ours.
    app = fields.get("appName") or fields.get("app_name") or APP_NAME
    user = fields.get("userId", fields.get("user_id"))
    session = fields.get("sessionId", fields.get("session_id"))
    if app != APP_NAME or not isinstance(user, str) or not isinstance(session, str):
        return None
    return SessionKey(APP_NAME, user, session.strip())

"""What one user may ask for: requests in a minute, and streams at a time; 429 beyond either."""

import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from acc_ace.errors import InputError
from acc_ace.server.identity import DEFAULT_USER, PUBLIC, Identities, header, users_named
from acc_ace.server.problems import problem, problem_response

_MINUTE_S: Final = 60.0
_MOST_NAMES: Final = 10_000
_RETRY_STREAM_S: Final = 5
_TRY_AGAIN_LATER: Final = 1013
_FILES: Final = ("/ui/", "/dev-ui/", "/docs/assets/")
"""Files of pages: they cost little, and a page asks for many at once."""

_STREAMS: Final = frozenset({"/sse/timeline", "/run_sse", "/run_live"})
_SSE: Final = "text/event-stream"


class Allowance:
    """So many a minute for each name, all at once or evenly; it forgets who asked longest ago."""

    def __init__(
        self, per_minute: int, *, most: int = _MOST_NAMES, clock: Callable[[], float] | None = None
    ) -> None:
        """At most `most` names are remembered; `clock` gives seconds that never go back."""
        self._step = _MINUTE_S / per_minute
        self._most = most
        self._clock = clock or time.monotonic
        self._spent_until: OrderedDict[str, float] = OrderedDict()
        """When each name will have its whole minute again."""

    def wait_s(self, name: str) -> int:
        """Whole seconds until the name may take one; 0 for now."""
        spent = self._spent_until.get(name, 0.0) - self._clock()
        return max(0, math.ceil(round(spent + self._step - _MINUTE_S, 6)))

    def take(self, name: str) -> None:
        """Take one."""
        begin = max(self._spent_until.get(name, 0.0), self._clock())
        self._spent_until[name] = begin + self._step
        self._spent_until.move_to_end(name)
        if len(self._spent_until) > self._most:
            self._spent_until.popitem(last=False)


class UserLimits:
    """ASGI middleware: 429 for a user who asks too often, or has too many streams open.

    A user is whom the token names; without tokens, whom the request names, as everywhere.
    """

    def __init__(
        self, app: ASGIApp, *, identities: Identities, requests_per_minute: int, streams: int
    ) -> None:
        self._app, self._identities = app, identities
        self._most = requests_per_minute
        self._requests = Allowance(requests_per_minute)
        self._streams = streams
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI asks."""
        user = self._user_of(scope) if _counts(scope) else None
        if user is None:  # Nobody: the guard of tokens refuses, or the path is free.
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(user, scope)
        if refusal is None:
            self._requests.take(user)
            await self._serve(user, scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _TRY_AGAIN_LATER, "reason": "limit"})
        else:
            await refusal(scope, receive, send)

    def _user_of(self, scope: Scope) -> str | None:
        if self._identities.required:
            return self._identities.of_request(scope)
        try:
            return next(users_named(scope), DEFAULT_USER)
        except InputError:  # Its route says so.
            return DEFAULT_USER

    def _refusal(self, user: str, scope: Scope) -> Response | None:
        if wait := self._requests.wait_s(user):
            what = f"more than {self._most} requests in a minute; wait, or raise "
            return too_many(scope, f"{what}ACC_ACE_LIMITS__REQUESTS_PER_MINUTE", wait)
        if _is_stream(scope) and self._open[user] >= self._streams:
            what = f"{self._streams} streams of this user are open; close one, or raise "
            return too_many(scope, f"{what}ACC_ACE_LIMITS__STREAMS", _RETRY_STREAM_S)
        return None

    async def _serve(self, user: str, scope: Scope, receive: Receive, send: Send) -> None:
        if not _is_stream(scope):
            await self._app(scope, receive, send)
            return
        self._open[user] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._open[user] -= 1
            if not self._open[user]:
                del self._open[user]


def too_many(scope: Scope, detail: str, wait_s: int) -> Response:
    """The 429 that says when to come back."""
    value = problem(429, "too_many_requests", detail, instance=scope["path"])
    return problem_response(value, headers={"Retry-After": str(wait_s)})


def _counts(scope: Scope) -> bool:
    path = scope.get("path", "")
    return (
        scope["type"] in {"http", "websocket"}
        and path not in PUBLIC
        and not path.startswith(_FILES)
    )


def _is_stream(scope: Scope) -> bool:
    """Whether the answer stays open: one that is asked for as events."""
    query: bytes = scope.get("query_string", b"")
    is_wanted = _SSE in (header(scope, b"accept") or "") or b"stream=" in query
    return scope["path"] in _STREAMS or is_wanted

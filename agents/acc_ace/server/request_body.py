"""Read a request's body once, bounded in size and time, before anything parses it.

Text must be valid Unicode, whatever JSON escapes allow: it has to be stored and answered.
"""

import asyncio
from typing import Annotated, Final, NamedTuple

from pydantic import AfterValidator
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acc_ace.server.problems import Problem, problem, problem_response

BODY: Final = "acc_ace.body"
"""Key of the request scope under which the guards find the whole body (bytes); not of uploads."""

_BODILESS: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


class Upload(NamedTuple):
    """A path whose bodies have a limit of their own, in bytes, and the setting that raises it."""

    path: str
    limit: int
    setting: str


class BodyLimit:
    """ASGI middleware: 413 for a body over the limit, 408 for one that does not arrive.

    And 400 where two headers say differently how long it is.
    """

    def __init__(
        self, app: ASGIApp, *, limit: int, seconds: float, upload: Upload | None = None
    ) -> None:
        """Bodies have at most `limit` bytes, those of uploads what `upload` allows.

        Each has `seconds` to arrive.
        """
        self._app = app
        self._seconds = seconds
        self._limit = limit
        self._upload = upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI asks."""
        if scope["type"] == "http" and _is_ambiguous(scope):
            # A proxy before us may have taken the other for the body's end (RFC 9112, 6.3).
            both = "send Content-Length or Transfer-Encoding, not both"
            await _refuse(
                problem(400, "bad_request", both, instance=scope["path"]), scope, receive, send
            )
            return
        if scope["type"] != "http" or scope["method"] in _BODILESS:
            await self._app(scope, receive, send)
            return
        limit, setting = self._bound(scope)
        try:
            async with asyncio.timeout(self._seconds):
                body = await _read(scope, receive, limit)
        except TimeoutError:
            late = problem(
                408,
                "body_timeout",
                f"the body did not arrive within {self._seconds:g} seconds; send it faster, "
                "or raise ACC_ACE_LIMITS__RECEIVE_S",
                instance=scope["path"],
            )
            await _refuse(late, scope, receive, send)
            return
        if body is None:
            await _refuse(_too_large(scope, limit, setting), scope, receive, send)
            return
        # What is uploaded is a document: what it says is no field of the request.
        fields = b"" if self._is_upload(scope) else body
        await self._app({**scope, BODY: fields}, replay(body, receive), send)

    def _bound(self, scope: Scope) -> tuple[int, str]:
        """The limit of a request's body, and the setting that raises it."""
        if self._upload is not None and self._is_upload(scope):
            return self._upload.limit, self._upload.setting
        return self._limit, "ACC_ACE_LIMITS__INPUT_TOKENS"

    def _is_upload(self, scope: Scope) -> bool:
        return self._upload is not None and scope["path"] == self._upload.path


def _is_ambiguous(scope: Scope) -> bool:
    names = {name for name, _ in scope["headers"]}
    return {b"content-length", b"transfer-encoding"} <= names


async def _read(scope: Scope, receive: Receive, limit: int) -> bytes | None:
    """The body, or None when it is over the limit."""
    if _declared_length(scope) > limit:
        return None
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            break
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size > limit:
            return None
        chunks.append(chunk)
        if not message.get("more_body", False):
            break
    return b"".join(chunks)


def _too_large(scope: Scope, limit: int, setting: str) -> Problem:
    return problem(
        413,
        "input_too_large",
        f"the body is over {limit} bytes; send less, or raise {setting}",
        instance=scope["path"],
    )


def _declared_length(scope: Scope) -> int:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return 0


def replay(body: bytes, receive: Receive) -> Receive:
    """Give the body once, then whatever the client does next (that is, its disconnect)."""
    given = False

    async def replayed() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


async def _refuse(value: Problem, scope: Scope, receive: Receive, send: Send) -> None:
    # The rest of the body is never read, so the connection cannot be used again.
    response = problem_response(value, headers={"Connection": "close"})
    await response(scope, receive, send)


def is_unicode(text: str) -> bool:
    """Whether the text has no half of a surrogate pair, which UTF-8 cannot write."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _valid(text: str) -> str:
    if not is_unicode(text):
        raise ValueError("not valid Unicode: it contains half of a surrogate pair")
    return text


Text = Annotated[str, AfterValidator(_valid)]

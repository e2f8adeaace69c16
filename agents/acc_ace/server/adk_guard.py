"""Check requests to ADK's routes before ADK fails in the middle of a turn or in a store.

The path of the data directory is kept out of the errors that ADK writes into its streams.
"""

import json
from collections.abc import Iterable, Iterator
from math import isfinite
from pathlib import Path
from typing import Any, Final, NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from acc_ace.adk.sessions.json_safe import MOST_DEEP
from acc_ace.adk.user_content import role_authority
from acc_ace.core.schemas import state as keys
from acc_ace.core.schemas.base import Authority
from acc_ace.server.identity import is_too_deep, json_object
from acc_ace.server.problems import Problem, problem, problem_response
from acc_ace.server.request_body import BODY, is_unicode, replay

_SHOWN_LEVELS: Final = 4
"""Levels of a name that an error shows of a value nested too deeply to be stored."""

_NAMED_BY: Final = {"apps": "app_name", "users": "user_id", "sessions": "session_id"}
"""What the segment after one of these is, in a path of ADK's."""

_NUL: Final = "holds a NUL character"
_TOO_DEEP: Final = f"is nested more than {MOST_DEEP} levels deep"
_NO_NUMBER: Final = "is no finite number"
_SURROGATE: Final = "is not valid Unicode: it holds half of a surrogate pair"


class _Fault(NamedTuple):
    where: tuple[str, ...]
    what: str


def check_names(scope: Scope) -> Problem | None:
    """The problem that names the first field that cannot be stored, or None."""
    fault = next(_faults(scope), None)
    if fault is None:
        return None
    field = ".".join(fault.where[1:])
    return problem(
        422,
        "invalid_request",
        f"{field} {fault.what}; leave it out",
        instance=_shown(scope["path"]),
        errors=[{"loc": list(fault.where), "msg": fault.what, "type": "value_error"}],
    )


def _faults(scope: Scope) -> Iterator[_Fault]:
    before = ""
    for segment in scope["path"].split("/"):
        if "\0" in segment:
            yield _Fault(("path", _NAMED_BY.get(before, "path")), _NUL)
        before = segment
    if is_too_deep(scope):
        yield _Fault(("body", "body"), _TOO_DEEP)
    yield from _faults_within(("body",), json_object(scope))


def _faults_within(where: tuple[str, ...], value: object) -> Iterator[_Fault]:
    """Faults of keys, ids and texts, to the depth that is kept.

    A path is built for lists, objects and faults only: a body may hold a million numbers.
    """
    if len(where) > MOST_DEEP:
        yield _Fault(where[:_SHOWN_LEVELS], _TOO_DEEP)
        return
    if isinstance(value, dict):
        for key in value:
            yield from _faults_of_key(where, key)
    for name, part in _named(value):
        if isinstance(part, dict | list):
            yield from _faults_within((*where, str(name)), part)
        elif isinstance(part, str):
            if not is_unicode(part):
                yield _Fault((*where, str(name)), _SURROGATE)
            if "\0" in part and _is_id(str(name)):
                yield _Fault((*where, str(name)), _NUL)
        elif isinstance(part, float) and not isfinite(part):
            yield _Fault((*where, str(name)), _NO_NUMBER)


def _named(value: object) -> Iterable[tuple[str | int, object]]:
    if isinstance(value, dict):
        return value.items()
    return enumerate(value) if isinstance(value, list) else ()


def _faults_of_key(where: tuple[str, ...], key: str) -> Iterator[_Fault]:
    if not is_unicode(key):
        yield _Fault((*where, _shown(key)), f"has a name that {_SURROGATE}")
    if "\0" in key:
        yield _Fault((*where, _shown(key)), f"has a name that {_NUL}")


def _is_id(name: str) -> bool:
    return name == "id" or name.endswith(("_id", "Id"))


def _shown(text: str) -> str:
    """The text as an answer can say it."""
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()


_RUN: Final = frozenset({"/run", "/run_sse"})
_APPS: Final = "/apps/"
_INLINE: Final = ("inlineData", "inline_data")
_ELSEWHERE: Final = ("fileData", "file_data")
_STATE: Final = ("stateDelta", "state_delta")
_REPLY: Final = ("functionResponse", "function_response")


class AdkInputGuard:
    """ASGI middleware: refuses what ADK's routes take and cannot keep.

    Binary parts and empty text on `/run` and `/run_sse`; names and text that no store
    holds there and under `/apps/`. A message of another role than the user's gets no more than
    the authority of that role.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI asks."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = None
        if scope["method"] == "POST" and scope["path"] in _RUN:
            refusal = _check(scope) or check_names(scope)
        elif scope["path"].startswith(_APPS):
            refusal = check_names(scope)
        if refusal is not None:
            await problem_response(refusal)(scope, receive, send)
            return
        if scope["path"] in _RUN and (body := _with_authority(json_object(scope))) is not None:
            scope, receive = _with_body(scope, receive, body)
        await self._app(scope, receive, send)


def _with_authority(fields: dict[str, object]) -> bytes | None:
    """The body with the authority of its message's role; None where the user speaks.

    ADK's Runner makes every role a user's before any of its hooks sees the message.
    """
    messages = [fields.get("newMessage"), fields.get("new_message")]
    roles = [message.get("role") for message in messages if isinstance(message, dict)]
    others = [str(role) for role in roles if role and role != Authority.USER]
    given = [fields.get(name) or {} for name in _STATE]
    if not others or not all(isinstance(delta, dict) for delta in given):
        return None
    state: dict[str, object] = {}
    for delta in given:
        state.update(delta if isinstance(delta, dict) else {})
    state[keys.INPUT_AUTHORITY] = role_authority(others[0]).value
    rest = {name: value for name, value in fields.items() if name not in _STATE}
    return json.dumps({**rest, _STATE[0]: state}).encode()


def _with_body(scope: Scope, receive: Receive, body: bytes) -> tuple[Scope, Receive]:
    headers = [(name, value) for name, value in scope["headers"] if name != b"content-length"]
    headers.append((b"content-length", str(len(body)).encode()))
    return {**scope, "headers": headers, BODY: body}, replay(body, receive)


def _check(scope: Scope) -> Problem | None:
    fields = json_object(scope)
    message = fields.get("newMessage", fields.get("new_message"))
    path = scope["path"]
    if (
        message is None
        and fields
        and not (fields.get("invocationId") or fields.get("invocation_id"))
    ):
        return problem(
            422,
            "invalid_request",
            "newMessage is missing: there is nothing to answer",
            instance=path,
        )
    if not isinstance(message, dict):
        # No message resumes a paused run; anything else is for ADK's own validation.
        return None
    parts = list(_parts(message))
    if any(_is_binary(part) for part in parts):
        return problem(
            415,
            "binary_input",
            "only text and text files are taken; send the text of the file",
            instance=path,
        )
    if any(name in part for part in parts for name in _REPLY):
        return None
    text = "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    return _check_text(text, path)


def _is_binary(part: dict[str, Any]) -> bool:
    """Whether a part is a file that is no text, or is somewhere else."""
    files = [part[name] for name in _INLINE if name in part]
    kinds = [
        str(file.get("mimeType") or file.get("mime_type")) if isinstance(file, dict) else ""
        for file in files
    ]
    elsewhere = any(name in part for name in _ELSEWHERE)
    return elsewhere or not all(kind.startswith("text/") for kind in kinds)


def _check_text(text: str, path: str) -> Problem | None:
    if not text.strip():
        return problem(422, "invalid_input", "the input is empty", instance=path)
    if not is_unicode(text):
        return problem(422, "invalid_input", "the input is not valid Unicode", instance=path)
    return None


def _parts(message: dict[str, object]) -> Iterator[dict[str, Any]]:
    parts = message.get("parts")
    if isinstance(parts, list):
        yield from (part for part in parts if isinstance(part, dict))


_SETTING: Final = b"ACC_ACE_DATA_DIR"


class PathRedaction:
    """ASGI middleware: `/run_sse` names the setting where a message names the directory.

    Our own routes answer with problems, which do so by themselves. ADK sends each event whole,
    so a path is never split between two messages.
    """

    def __init__(self, app: ASGIApp, *, data_dir: Path) -> None:
        self._app = app
        self._path = str(data_dir.absolute()).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI asks."""
        if scope["type"] != "http" or scope["path"] != "/run_sse":
            await self._app(scope, receive, send)
            return

        async def send_redacted(message: Message) -> None:
            if message["type"] == "http.response.body":
                message = {**message, "body": self._redacted(message.get("body", b""))}
            await send(message)

        await self._app(scope, receive, send_redacted)

    def _redacted(self, body: bytes) -> bytes:
        return body.replace(self._path, _SETTING) if b'"error"' in body else body

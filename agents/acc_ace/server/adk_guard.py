"""Check what ADK's own routes would only find out in the middle of a turn, or in a store."""

from collections.abc import Iterator
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from acc_ace.schemas.limits import Limits
from acc_ace.server.access import json_object
from acc_ace.server.adk_names import check_names
from acc_ace.server.problems import Problem, problem, problem_response
from acc_ace.server.valid_text import is_unicode
from acc_ace.text.tokens import estimate_tokens

_RUN: Final = frozenset({"/run", "/run_sse"})
_APPS: Final = "/apps/"
_BINARY: Final = ("inlineData", "inline_data", "fileData", "file_data")
_REPLY: Final = ("functionResponse", "function_response")


class AdkInputGuard:
    """ASGI middleware: refuses what ADK's routes take and cannot keep.

    Binary parts, empty and oversized text on `/run` and `/run_sse`; names and text that no store
    holds there and under `/apps/`.
    """

    def __init__(self, app: ASGIApp, *, limits: Limits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI asks."""
        refusal = None
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"] in _RUN:
            refusal = _check(scope, self._limits) or check_names(scope)
        elif scope["type"] == "http" and scope["path"].startswith(_APPS):
            refusal = check_names(scope)
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await problem_response(refusal)(scope, receive, send)


def _check(scope: Scope, limits: Limits) -> Problem | None:
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
    if any(name in part for part in parts for name in _BINARY):
        return problem(
            415, "binary_input", "only text is taken; send the text of the file", instance=path
        )
    if any(name in part for part in parts for name in _REPLY):
        return None
    text = "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    return _check_text(text, limits, path)


def _check_text(text: str, limits: Limits, path: str) -> Problem | None:
    if not text.strip():
        return problem(422, "invalid_input", "the input is empty", instance=path)
    if not is_unicode(text):
        return problem(422, "invalid_input", "the input is not valid Unicode", instance=path)
    if (tokens := estimate_tokens(text)) <= limits.input_tokens:
        return None
    return problem(
        413,
        "input_too_large",
        f"the input has {tokens} tokens, at most {limits.input_tokens} are taken; shorten it, "
        "or raise ACC_ACE_LIMITS__INPUT_TOKENS",
        instance=path,
    )


def _parts(message: dict[str, object]) -> Iterator[dict[str, str]]:
    parts = message.get("parts")
    if isinstance(parts, list):
        yield from (part for part in parts if isinstance(part, dict))

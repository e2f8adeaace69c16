"""Errors as RFC 9457 `application/problem+json`; never a stack trace, never a server path."""

import logging
import math
import traceback
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final, cast

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from google.adk.errors.input_validation_error import InputValidationError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import Response

from acc_ace.errors import (
    AccAceError,
    AuthError,
    CommitRejected,
    ConfigError,
    ConflictError,
    ForbiddenError,
    InputError,
    InputTooLargeError,
    MemoryBypassedError,
    ModelError,
    ModelUnavailable,
    NotFoundError,
    PlaybookError,
    SessionBusyError,
    SpendingCeilingError,
    StoreError,
)

logger = logging.getLogger(__name__)

MEDIA_TYPE: Final = "application/problem+json"

_STATUS: Final[tuple[tuple[type[AccAceError], int], ...]] = (
    (InputTooLargeError, 413),
    (InputError, 422),
    (NotFoundError, 404),
    (SessionBusyError, 409),
    (SpendingCeilingError, 429),
    (AuthError, 401),
    (ForbiddenError, 403),
    (CommitRejected, 422),
    (PlaybookError, 422),
    (ConflictError, 409),
    (StoreError, 503),
    (ModelUnavailable, 503),
    (ModelError, 502),
    (ConfigError, 500),
    # Nothing a client could fix: the app puts agents where memory cannot bound them.
    (MemoryBypassedError, 500),
)
"""The first matching class wins, so subclasses come before their bases."""

_RETRY_AFTER_S: Final = {503: "5", 409: "1"}


class Problem(BaseModel):
    """Problem details (RFC 9457) with our stable `code`."""

    type: str = Field(description="URN of the kind of problem.", examples=["urn:acc-ace:not_found"])
    title: str = Field(description="Name of the HTTP status.", examples=["Not Found"])
    status: int = Field(description="HTTP status.", examples=[404])
    detail: str = Field(description="What happened and what to do.")
    code: str = Field(description="Stable code for programs.", examples=["not_found"])
    instance: str = Field(description="Path of the request.", examples=["/v1/sessions/s/ccs"])
    errors: list[dict[str, Any]] | None = Field(
        default=None, description="Fields of the request that are wrong."
    )


def problem(
    status: int,
    code: str,
    detail: str,
    *,
    instance: str,
    errors: list[dict[str, Any]] | None = None,
) -> Problem:
    """Build a problem; its title and type follow from status and code."""
    return Problem(
        type=f"urn:acc-ace:{code}",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        code=code,
        instance=instance,
        errors=errors,
    )


def problem_response(value: Problem, *, headers: Mapping[str, str] | None = None) -> Response:
    """The response that carries a problem."""
    extra = dict(headers or {})
    if value.status in _RETRY_AFTER_S:
        extra.setdefault("Retry-After", _RETRY_AFTER_S[value.status])
    return Response(
        value.model_dump_json(exclude_none=True),
        status_code=value.status,
        headers=extra,
        media_type=MEDIA_TYPE,
    )


def problem_of(error: BaseException, *, instance: str, data_dir: Path) -> Problem:
    """Translate any error; one that is not ours becomes a 500 without details."""
    if isinstance(error, RuntimeError) and isinstance(error.__cause__, AccAceError):
        # ADK wraps what a plugin raises.
        error = error.__cause__
    if isinstance(error, SessionNotFoundError):
        return problem(
            404,
            NotFoundError.code,
            "the session does not exist or was deleted; start a new one",
            instance=instance,
        )
    if isinstance(error, InputValidationError):
        # ADK's, above all for names of artifacts that would leave their directory.
        return problem(400, "bad_request", _without_paths(str(error), data_dir), instance=instance)
    if isinstance(error, AccAceError):
        return problem(
            status_of(error), error.code, _without_paths(str(error), data_dir), instance=instance
        )
    return problem(500, "internal", "the server failed; its log has the reason", instance=instance)


def status_of(error: AccAceError) -> int:
    """The HTTP status of one of our errors; 500 for a kind that has none of its own."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def install_problem_handlers(app: FastAPI, *, data_dir: Path) -> None:
    """Make every route of the app, ADK's included, answer errors with problems."""

    async def ours(request: Request, error: Exception) -> Response:
        value = problem_of(error, instance=request.url.path, data_dir=data_dir)
        if value.status >= 500:
            logger.error("request_failed path=%s code=%s: %s", value.instance, value.code, error)
        return problem_response(value, headers=_retry_header(error))

    async def unexpected(request: Request, error: Exception) -> Response:
        value = problem_of(error, instance=request.url.path, data_dir=data_dir)
        return problem_response(value)

    async def http_error(request: Request, error: Exception) -> Response:
        known = cast(StarletteHTTPException, error)
        return problem_response(_of_http(known, request.url.path), headers=known.headers)

    async def invalid(request: Request, error: Exception) -> Response:
        known = cast(RequestValidationError, error)
        is_json = "json" in request.headers.get("content-type", "")
        return problem_response(_of_validation(known, request.url.path, is_json=is_json))

    async def wrapped(request: Request, error: Exception) -> Response:
        """What a plugin raises ADK wraps in RuntimeError."""
        if isinstance(error.__cause__, AccAceError):
            return await ours(request, error.__cause__)
        raise error

    async def misread(request: Request, error: Exception) -> Response:
        """What google-genai raises at a value that is no text where a name is asked for."""
        frames = traceback.extract_tb(error.__traceback__)
        if not frames or frames[-1].name != "_missing_":
            raise error
        detail = "a field that takes one of several names has a value that is no text"
        return problem_response(problem(422, "invalid_request", detail, instance=request.url.path))

    app.add_exception_handler(AccAceError, ours)
    app.add_exception_handler(AttributeError, misread)
    app.add_exception_handler(RuntimeError, wrapped)
    app.add_exception_handler(SessionNotFoundError, ours)
    app.add_exception_handler(InputValidationError, ours)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(StarletteHTTPException, http_error)
    app.add_exception_handler(HTTPException, http_error)
    app.add_exception_handler(Exception, unexpected)


def _retry_header(error: Exception) -> dict[str, str]:
    """When to come back, where the error knows it; other statuses have a time of their own."""
    if not isinstance(error, SpendingCeilingError) or not error.wait_s:
        return {}
    return {"Retry-After": str(math.ceil(error.wait_s))}


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """OpenAPI `responses` for the statuses of a route."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {MEDIA_TYPE: {"schema": schema}},
        }
        for status in statuses
    }


def _of_http(error: StarletteHTTPException, path: str) -> Problem:
    code = HTTPStatus(error.status_code).name.lower()
    # ADK puts the text of unexpected exceptions into its 500s; it stays in the log.
    detail = "the server failed; its log has the reason"
    if error.status_code < 500:
        detail = str(error.detail)
    elif error.status_code > 500:
        detail = HTTPStatus(error.status_code).description or code
    return problem(error.status_code, code, detail, instance=path)


def _of_validation(error: RequestValidationError, path: str, *, is_json: bool) -> Problem:
    errors = [
        {"loc": [str(part) for part in item["loc"]], "msg": item["msg"], "type": item["type"]}
        for item in error.errors()
    ]
    if any(item["type"] == "json_invalid" for item in errors):
        return problem(400, "invalid_json", "the body is not JSON", instance=path, errors=errors)
    detail = "; ".join(f"{'.'.join(item['loc'])}: {item['msg']}" for item in errors)
    if not is_json and any(item["loc"] == ["body"] for item in errors):
        # FastAPI leaves such a body as it is; curl's -d calls it a form.
        detail = (
            f"send the body as JSON, with the header 'Content-Type: application/json' ({detail})"
        )
    return problem(422, "invalid_request", detail, instance=path, errors=errors)


def _without_paths(text: str, data_dir: Path) -> str:
    """Replace the data directory by its setting in a message."""
    for shown in (str(data_dir.resolve()), str(data_dir.absolute())):
        text = text.replace(shown, "ACC_ACE_DATA_DIR")
    return text

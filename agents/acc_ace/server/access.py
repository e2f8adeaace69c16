"""Which routes a token opens, and whose data a request names."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final
from urllib.parse import parse_qsl

from starlette.types import Scope

from acc_ace.server.identity import user_named
from acc_ace.server.request_body import BODY

PUBLIC: Final = frozenset({"/healthz", "/readyz", "/login"})
"""Routes that need no token: probes, and the page that asks for one."""

_OPEN_TO_TOKENS: Final = re.compile(
    r"/$|/v1/|/apps/(?!__)[^/]+/(users/|app-info$)|/(run|run_sse|run_live)$"
    r"|/(list-apps|health|version|openapi\.json|redoc)$|/docs(/oauth2-redirect|/assets/[a-z.-]+)?$"
    r"|/dev-ui(/|$)"
)
"""Everything else is closed while there are tokens.

Above all ADK's `/dev/...`: it shows the traces of every user and writes agent code to disk.
Apps whose name starts with two underscores are ADK's own helpers, the builder among them.
"""

_USER_FIELDS: Final = ("user_id", "userId")


def is_open_to_tokens(scope: Scope) -> bool:
    """Whether a user with a token may call the route at all."""
    return _OPEN_TO_TOKENS.match(scope["path"]) is not None and not _names_internal_app(scope)


def users_named(scope: Scope) -> Iterator[str]:
    """Every user that the request names: in path, query, header and body.

    Raises InputError when a name cannot be read.
    """
    segments = scope["path"].split("/")
    yield from (user for word, user in pairwise(segments) if word == "users")
    for name, value in _query(scope):
        if name in {"user", *_USER_FIELDS}:
            yield value
    if (named := user_named(scope)) is not None:
        yield named
    fields = json_object(scope)
    yield from (str(fields[name]) for name in _USER_FIELDS if name in fields)


def json_object(scope: Scope) -> dict[str, object]:
    """The request's body when it is a JSON object, else an empty one."""
    body = scope.get(BODY, b"")
    if not body:
        return {}
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def is_too_deep(scope: Scope) -> bool:
    """Whether the request's body is JSON that nests without bound."""
    try:
        json.loads(scope.get(BODY, b"") or b"null")
    except RecursionError:
        return True
    except ValueError:
        return False
    return False


def _names_internal_app(scope: Scope) -> bool:
    fields = json_object(scope)
    named = [fields.get("app_name"), fields.get("appName")]
    named += [value for name, value in _query(scope) if name == "app_name"]
    return any(isinstance(app, str) and app.startswith("__") for app in named)


def _query(scope: Scope) -> list[tuple[str, str]]:
    query: bytes = scope.get("query_string", b"")
    return parse_qsl(query.decode("latin-1"), keep_blank_values=True)

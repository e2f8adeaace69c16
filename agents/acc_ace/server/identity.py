"""Who is asking, and whose data a request names.

Bearer tokens and the cookie of the browser are each bound to one user, and open some routes.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Iterator, Mapping
from http.cookies import CookieError, SimpleCookie
from itertools import pairwise
from typing import Final
from urllib.parse import parse_qsl

from pydantic import SecretStr
from starlette.types import Scope

from acc_ace.errors import InputError
from acc_ace.server.request_body import BODY

USER: Final = "acc_ace.user"
"""Key of the request scope under which the user that a token proves is found (str)."""

COOKIE: Final = "acc_ace_login"

DEFAULT_USER: Final = "user"
"""The default user; ADK's web UI calls itself the same."""


class Identities:
    """The users with a token. Comparisons take the same time for every wrong token."""

    def __init__(self, tokens: Mapping[str, SecretStr]) -> None:
        secrets = {user: token.get_secret_value() for user, token in tokens.items()}
        self._tokens = {user: _digest(token) for user, token in secrets.items()}
        self._cookies = {user: _cookie_for(token) for user, token in secrets.items()}

    @property
    def required(self) -> bool:
        """Whether requests need a token at all."""
        return bool(self._tokens)

    def of_token(self, token: str) -> str | None:
        """The user of a bearer token, or None."""
        offered = _digest(token)
        owner = None
        for user, known in self._tokens.items():
            if hmac.compare_digest(offered, known):
                owner = user
        return owner

    def of_request(self, scope: Scope) -> str | None:
        """The user of a request: its bearer token if it has one, else its cookie."""
        authorization = header(scope, b"authorization")
        if authorization is not None:
            scheme, _, token = authorization.partition(" ")
            return self.of_token(token.strip()) if scheme.lower() == "bearer" else None
        return self._of_cookie(header(scope, b"cookie") or "")

    def cookie(self, user: str) -> str:
        """The cookie value of a user; it proves the token without containing it."""
        return self._cookies[user]

    def _of_cookie(self, cookies: str) -> str | None:
        try:
            morsel = SimpleCookie(cookies).get(COOKIE)
        except CookieError:
            return None
        offered = morsel.value.encode() if morsel else b""
        owner = None
        for user, known in self._cookies.items():
            if hmac.compare_digest(offered, known.encode()):
                owner = user
        return owner


def header(scope: Scope, name: bytes) -> str | None:
    """The first header of that (lower-case) name: UTF-8, as curl sends it, else Latin-1."""
    value = _raw(scope, name)
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def user_named(scope: Scope) -> str | None:
    """The user that the header X-User names. Raises InputError when it is not UTF-8."""
    value = _raw(scope, b"x-user")
    return None if value is None else name_of(value)


def name_of(value: bytes) -> str:
    """The name that a header holds.

    Raises InputError when it is not UTF-8: read as anything else, it might be another's name.
    """
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            "the header X-User is not UTF-8; send the name as UTF-8, or leave the header out and "
            "name the user in the query, percent-encoded: ?user=Jos%C3%A9"
        ) from error


def _raw(scope: Scope, name: bytes) -> bytes | None:
    return next((bytes(value) for each, value in scope["headers"] if each == name), None)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def _cookie_for(token: str) -> str:
    return hmac.new(token.encode(), b"acc_ace browser login", hashlib.sha256).hexdigest()


PUBLIC: Final = frozenset({"/healthz", "/readyz", "/login"})
"""Routes that need no token: probes, and the page that asks for one."""

_OPEN_TO_TOKENS: Final = re.compile(
    r"/$|/v1/|/apps/(?!__)[^/]+/(users/|app-info$)|/(run|run_sse|run_live)$"
    r"|/(list-apps|health|version|openapi\.json|redoc)$|/docs(/oauth2-redirect|/assets/[a-z.-]+)?$"
    r"|/dev-ui(/|$)|/(ui|sse|events|snapshots|metrics|survivor|demo|mcp)(/|$)"
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

"""Guard every route with bearer tokens, each bound to one user, when there are any."""

from html import escape
from typing import Final
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from acc_ace.errors import InputError
from acc_ace.server.identity import (
    COOKIE,
    PUBLIC,
    USER,
    Identities,
    header,
    is_open_to_tokens,
    users_named,
)
from acc_ace.server.problems import problem, problem_response
from acc_ace.server.rate_limits import Allowance
from acc_ace.server.request_body import BODY

_POLICY_VIOLATION: Final = 1008
_UI: Final = "/dev-ui/"
_COCKPIT: Final = "/ui/"
_AFTER_SIGN_IN: Final = (_UI, _COCKPIT)
"""Pages to go to after signing in: nothing else, or a link could lead elsewhere."""

_ADDRESSES: Final = 10
"""All addresses together have the tries of so many."""

_READS: Final = frozenset({"GET", "HEAD", "OPTIONS"})

_PAGE: Final = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>ACC×ACE</title>
<style>body{{font:16px system-ui;margin:15vh auto;max-width:24rem;padding:0 1rem}}
input,button{{font:inherit;padding:.5rem;width:100%;box-sizing:border-box;margin-top:.5rem}}
</style><h1>ACC×ACE</h1><form method="post" action="/login">
<input type="hidden" name="back" value="{back}">
<label>Access token <input type="password" name="token" required autofocus
autocomplete="current-password"></label><button>Sign in</button><p>{message}</p></form></html>"""


class TokenGuard:
    """ASGI middleware: 401 without a valid token, 403 for another user's data.

    403 also for what another site's page sends with the cookie of this one. Without tokens it
    lets everything pass. With them, a request that passes carries its user in the scope, under
    `identity.USER`.
    """

    def __init__(self, app: ASGIApp, *, identities: Identities) -> None:
        self._app = app
        self._identities = identities

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI asks."""
        guarded = scope["type"] in {"http", "websocket"} and scope["path"] not in PUBLIC
        if not self._identities.required or not guarded:
            await self._app(scope, receive, send)
            return
        user = self._identities.of_request(scope)
        refusal = _unauthorized(scope) if user is None else _detour(scope, user)
        if refusal is None:
            await self._app({**scope, USER: user}, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": "token"})
        else:
            await refusal(scope, receive, send)


def login_router(identities: Identities, *, tries_per_minute: int) -> APIRouter:
    """The page that takes a token once and leaves an HttpOnly, same-site cookie.

    Beyond `tries_per_minute` wrong tokens of an address, and ten times as many of all addresses,
    no token is looked at: 429.
    """
    router = APIRouter(include_in_schema=False)
    of_address, of_all = Allowance(tries_per_minute), Allowance(_ADDRESSES * tries_per_minute)

    @router.get("/login")
    async def page() -> Response:
        return _page("", 200)

    @router.post("/login")
    async def login(request: Request) -> Response:
        body: bytes = request.scope.get(BODY, b"")
        form = parse_qs(body.decode("utf-8", "replace"), max_num_fields=8)
        back = form.get("back", [""])[0]
        back = back if back in _AFTER_SIGN_IN else _COCKPIT
        address = request.client.host if request.client else ""
        if wait := max(of_address.wait_s(address), of_all.wait_s("")):
            refused = _page(f"Too many wrong tokens; try again in {wait} seconds.", 429, back)
            refused.headers["Retry-After"] = str(wait)
            return refused
        user = identities.of_token(form.get("token", [""])[0].strip())
        if user is None:
            of_address.take(address)
            of_all.take("")
            return _page("This token is not known.", 401, back)
        response = RedirectResponse(back, status_code=303)
        response.set_cookie(
            COOKIE,
            identities.cookie(user),
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
            path="/",
        )
        return response

    return router


def _unauthorized(scope: Scope) -> Response:
    if scope["type"] == "http" and scope["method"] == "GET" and _is_browser(scope):
        return _page("", 401, _UI if scope["path"].startswith(_UI) else _COCKPIT)
    value = problem(
        401,
        "unauthorized",
        "send 'Authorization: Bearer <token>' with a token of ACC_ACE_AUTH_TOKENS; "
        "browsers sign in at /login",
        instance=scope["path"],
    )
    return problem_response(value, headers={"WWW-Authenticate": "Bearer"})


def _detour(scope: Scope, user: str) -> Response | None:
    try:
        return _forbidden(scope, user) or _as_user(scope, user)
    except InputError as error:
        return problem_response(problem(422, error.code, str(error), instance=scope["path"]))


def _forbidden(scope: Scope, user: str) -> Response | None:
    """The refusal of a known user, or None when the request is their own, about their own data."""
    if _is_forged(scope):
        detail = (
            "what changes something must come from a page of this server when a cookie signs it; "
            "programs send 'Authorization: Bearer <token>'"
        )
    elif not is_open_to_tokens(scope):
        detail = "this route is closed while ACC_ACE_AUTH_TOKENS is set"
    elif any(named != user for named in users_named(scope)):
        detail = "the token belongs to another user than the request names"
    else:
        return None
    return problem_response(problem(403, "forbidden", detail, instance=scope["path"]))


def _is_forged(scope: Scope) -> bool:
    """Whether another site's page may have sent what may change something, by its cookie alone.

    Browsers send one of the two headers with such requests, and no page can choose their values.
    """
    if header(scope, b"authorization") is not None or scope.get("method") in _READS:
        return False
    site = header(scope, b"sec-fetch-site")
    if site is not None:
        return site != "same-origin"
    origin = header(scope, b"origin") or ""
    return origin.partition("://")[2] != header(scope, b"host")


def _as_user(scope: Scope, user: str) -> Response | None:
    """Open ADK's web UI as the user of the token; by default it calls every user 'user'."""
    query: bytes = scope.get("query_string", b"")
    if scope["path"] != _UI or b"userId=" in query:
        return None
    query_text = f"{query.decode('latin-1')}&" if query else "app=acc_ace&"
    return RedirectResponse(f"{_UI}?{query_text}userId={quote(user, safe='')}", status_code=303)


def _is_browser(scope: Scope) -> bool:
    return "text/html" in (header(scope, b"accept") or "")


def _page(message: str, status: int, back: str = _COCKPIT) -> Response:
    return HTMLResponse(
        _PAGE.format(message=escape(message), back=back),
        status_code=status,
        headers={
            "Cache-Control": "no-store",
            "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; "
            "form-action 'self'; frame-ancestors 'none'",
        },
    )

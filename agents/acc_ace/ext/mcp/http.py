"""Streamable HTTP behind the guards of the server: hosts, origins, sizes, tokens, rates."""

from typing import Final
from urllib.parse import urlsplit

import uvicorn
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from acc_ace.config import Settings
from acc_ace.core.text.input_checks import most_bytes
from acc_ace.ext.mcp.http_sessions import IDLE_S, HttpSessions
from acc_ace.ext.mcp.lazy_memory import LazyMemory
from acc_ace.server import process
from acc_ace.server.auth import TokenGuard
from acc_ace.server.http_guards import HostNames, TrustedHosts
from acc_ace.server.identity import USER, Identities, header
from acc_ace.server.log_redaction import hide_credentials
from acc_ace.server.logs import log_config
from acc_ace.server.problems import problem, problem_response
from acc_ace.server.rate_limits import UserLimits
from acc_ace.server.request_body import BodyLimit

PATH: Final = "/mcp"


def serve_http(server: MCPServer[LazyMemory], settings: Settings, *, port: int) -> None:
    """Serve until a signal. Raises ConfigError for an address that is taken, or too open."""
    process.check_exposure(settings)
    with process.open_socket(settings.host, port, option="--port") as listener:
        hide_credentials()
        config = process.config_of(http_app(server, settings), settings, log_config(settings))
        access = "with bearer tokens" if settings.auth_tokens else "without authentication"
        print(f"ACC×ACE serves MCP on {process.url_of(listener)}{PATH}, {access}", flush=True)
        uvicorn.Server(config).run(sockets=[listener])


def http_app(server: MCPServer[LazyMemory], settings: Settings) -> Starlette:
    """The ASGI app of a server; each request passes the guards that `acc-ace serve` has."""
    limits, identities = settings.limits, Identities(settings.auth_tokens)
    most = most_bytes(limits)
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=most,
        session_idle_timeout=IDLE_S,
        max_sessions=None,  # `HttpSessions` bounds those of each user.
        # Our own guards know the settings; those of the SDK would refuse names that are trusted.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    # What is added last is asked first.
    app.add_middleware(AuthContextMiddleware)
    app.add_middleware(HttpSessions)
    app.add_middleware(McpDoor, settings=settings)
    app.add_middleware(TokenGuard, identities=identities)
    rates = {"requests_per_minute": limits.requests_per_minute, "streams": limits.streams}
    app.add_middleware(UserLimits, identities=identities, **rates)
    app.add_middleware(BodyLimit, limit=most, seconds=limits.receive_s)
    app.add_middleware(TrustedHosts, trusted=settings.trusted_hosts, bind_host=settings.host)
    return app


class McpDoor:
    """ASGI middleware: 403 for a page of another site; a session is its user's alone.

    A browser names the site in `Origin`; whose a session is, the SDK asks of the scope.
    """

    def __init__(self, app: ASGIApp, *, settings: Settings) -> None:
        self._app, self._allowed = app, frozenset(settings.allow_origins)
        self._names = HostNames(trusted=settings.trusted_hosts, bind_host=settings.host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection, as ASGI asks."""
        origin = header(scope, b"origin") if scope["type"] == "http" else None
        if origin is not None and origin not in self._allowed and not self._is_own(origin):
            detail = "this Origin is not allowed; add it to ACC_ACE_ALLOW_ORIGINS"
            value = problem(403, "forbidden", detail, instance=scope["path"])
            await problem_response(value)(scope, receive, send)
            return
        if user := scope.get(USER):
            token = AccessToken(token="", client_id=user, scopes=[])
            scope = {**scope, "user": AuthenticatedUser(token)}
        await self._app(scope, receive, send)

    def _is_own(self, origin: str) -> bool:
        try:
            return self._names.accepts(urlsplit(origin).hostname or "")
        except ValueError:  # No origin that a browser sends.
            return False

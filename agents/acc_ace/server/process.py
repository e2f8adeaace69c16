"""Run the server as a process: its address, its banner, and its end.

It serves until a signal, then lets the running turns finish. The banner says what to open, and who
answers.
"""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp
from uvicorn.config import LOGGING_CONFIG

from acc_ace.config import Settings
from acc_ace.errors import ConfigError
from acc_ace.models.factory import ModelInfo
from acc_ace.server.http_guards import HostNames, header_timeout, is_loopback
from acc_ace.server.logs import log_config
from acc_ace.server.routes.status_routes import ask_stores
from acc_ace.server.server_context import ServerContext

logger = logging.getLogger(__name__)

_POLL_S = 0.1

_LINGER_S = 5
"""Seconds for finished responses to leave after the turns have ended."""


class DrainingServer(uvicorn.Server):
    """uvicorn, but a signal first closes the turn gate while the port still answers.

    While running turns finish, `/readyz` and new turns get 503, so that a load balancer and
    clients know; after `limits.shutdown_grace_s` the rest are cancelled, which undoes them.
    """

    def __init__(
        self, config: uvicorn.Config, context: ServerContext, *, on_ready: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._context = context
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say so; raises StoreError before listening when a store cannot answer."""
        await ask_stores(self._context)
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Drain, then close; a second Ctrl-C does not wait."""
        gate = self._context.gate
        limits = self._context.container.settings.limits
        logger.info("draining turns=%d", gate.running)
        draining = asyncio.ensure_future(gate.drain(limits.shutdown_grace_s))
        while not draining.done() and not self.force_exit:
            await asyncio.wait({draining}, timeout=_POLL_S)
        if self.force_exit:
            await gate.drain(0)
        logger.info("drained cancelled=%d", await draining)
        await super().shutdown(sockets)


def serve(app: FastAPI, listener: socket.socket, *, on_ready: Callable[[], None]) -> None:
    """Serve on an open socket until SIGINT or SIGTERM; this process logs as the settings say."""
    context: ServerContext = app.state.acc_ace
    log = log_config(context.container.settings)
    server_of(app, on_ready=on_ready, log=log).run(sockets=[listener])


def server_of(
    app: FastAPI, *, on_ready: Callable[[], None], log: dict[str, Any] = LOGGING_CONFIG
) -> DrainingServer:
    """The server of an app; in a thread it heeds no signal, and ends by its `should_exit`.

    `log` configures logging; by default that of uvicorn alone.
    """
    context: ServerContext = app.state.acc_ace
    config = config_of(app, context.container.settings, log)
    return DrainingServer(config, context, on_ready=on_ready)


def config_of(
    app: ASGIApp, settings: Settings, log: dict[str, Any] = LOGGING_CONFIG
) -> uvicorn.Config:
    """How uvicorn serves an app: what it logs, and how long it waits for clients."""
    is_logged = settings.access_log
    if is_logged is None:
        is_logged = settings.log_level in {"DEBUG", "INFO"}
    return uvicorn.Config(
        app,
        log_config=log,
        log_level=settings.log_level.lower() if log is LOGGING_CONFIG else None,
        access_log=is_logged,
        http=header_timeout(settings.limits.receive_s),
        timeout_graceful_shutdown=_LINGER_S,
        server_header=False,
        # A lifespan that fails ends the server; by default uvicorn goes on without one.
        lifespan="on",
    )


_BACKLOG = 2_048
_TOKEN_LENGTH = 16
"""Least characters of a token where others reach the server."""


def check_exposure(settings: Settings) -> None:
    """Raise ConfigError when others could reach a server without authentication."""
    if (
        not is_loopback(settings.host)
        and not settings.auth_tokens
        and not settings.allow_remote_without_tokens
    ):
        raise ConfigError(
            f"ACC_ACE_HOST={settings.host} would let anyone who reaches this machine read and "
            "delete every conversation. Set ACC_ACE_AUTH_TOKENS=user:token,…, or bind 127.0.0.1, "
            "or, if something in front of the server checks users, set "
            "ACC_ACE_ALLOW_REMOTE_WITHOUT_TOKENS=true"
        )
    tokens = settings.auth_tokens.items()
    short = [user for user, token in tokens if len(token.get_secret_value()) < _TOKEN_LENGTH]
    if short and not is_loopback(settings.host):
        raise ConfigError(
            f"ACC_ACE_AUTH_TOKENS: the token of '{short[0]}' has fewer than {_TOKEN_LENGTH} "
            "characters, which others can guess; make one with: openssl rand -hex 32"
        )


def open_socket(host: str, port: int, *, option: str = "ACC_ACE_PORT") -> socket.socket:
    """Bind and listen; port 0 takes a free one.

    Raises ConfigError when it cannot; `option` is where the port was chosen.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise ConfigError(
            f"ACC_ACE_HOST={host} is not an address of this machine ({error.strerror}); "
            "127.0.0.1 always is"
        ) from error
    # With the protocol named, asyncio sends without delay: else each answer waits some 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise ConfigError(_cannot_bind(error, host, port, option)) from error
    return listener


def url_of(listener: socket.socket) -> str:
    """The URL that a browser on this machine opens."""
    host, port = listener.getsockname()[:2]
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _cannot_bind(error: OSError, host: str, port: int, option: str) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} of {host} is in use; set {option} to another one (0 = a free one)"
    if error.errno == errno.EACCES:
        return f"port {port} needs more rights; set {option} to one above 1023"
    if error.errno == errno.EADDRNOTAVAIL:
        return f"ACC_ACE_HOST={host} is not an address of this machine; 127.0.0.1 always is"
    return f"cannot bind {host}:{port} ({error.strerror}); set ACC_ACE_HOST and {option}"


def startup_banner(url: str, settings: Settings, models: Sequence[ModelInfo]) -> str:
    """The lines to print; they name no secret."""
    return "\n".join(_lines(url, settings, models))


def _lines(url: str, settings: Settings, models: Sequence[ModelInfo]) -> Iterator[str]:
    names = HostNames(trusted=settings.trusted_hosts, bind_host=settings.host)
    if names.accepts(urlsplit(url).hostname or ""):
        generator = next(info for info in models if info.role == "generator")
        yield f"ACC×ACE: open {url}/ui/ - {generator.name} answers ({generator.note})"
    else:
        # The address itself would be refused, and a proxy's scheme and port are not known.
        port, reported = urlsplit(url).port, ", ".join(names.patterns)
        yield f"ACC×ACE serves on port {port}, under these names only: {reported}"
        yield "  cockpit   /ui/"
    if settings.serve_web_interface:
        yield "  ADK       /dev-ui/?app=acc_ace"
    yield "  API       /docs"
    yield f"  data      {_data(settings)}"
    yield f"  access    {_access(settings)}"
    yield "Models"
    width = max(len(info.name) for info in models)
    for info in models:
        note = f"  ({info.note})" if info.note else ""
        yield f"  {info.role:<11} {info.name:<{width}}{note}"
    if all(info.kind == "embedded" for info in models):
        yield "Set GOOGLE_API_KEY to let Gemini answer. Press Ctrl-C to stop."
    else:
        yield "Press Ctrl-C to stop."


def _data(settings: Settings) -> str:
    if settings.store == "memory":
        return "in memory, forgotten at exit"
    if settings.store == "postgres":
        return "in PostgreSQL (ACC_ACE_DATABASE_URL)"
    return str(settings.data_dir)


def _access(settings: Settings) -> str:
    if settings.auth_tokens:
        return f"bearer tokens ({len(settings.auth_tokens)} set); browsers sign in at /login"
    return "no authentication: anyone who can reach this address has access"

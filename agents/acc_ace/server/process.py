"""Run the server as a process: serve until a signal, then let the running turns finish."""

import asyncio
import logging
import socket
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from acc_ace.server.header_timeout import header_timeout
from acc_ace.server.health import ask_stores
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
    """Serve on an open socket until SIGINT or SIGTERM."""
    context: ServerContext = app.state.acc_ace
    settings = context.container.settings
    config = uvicorn.Config(
        app,
        log_level=settings.log_level.lower(),
        access_log=settings.log_level in {"DEBUG", "INFO"},
        http=header_timeout(settings.limits.receive_s),
        timeout_graceful_shutdown=_LINGER_S,
        server_header=False,
    )
    DrainingServer(config, context, on_ready=on_ready).run(sockets=[listener])

"""Put the server together: ADK's routes and ours, behind the same guards."""

import warnings
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Final

from fastapi import FastAPI
from google.adk.cli.fast_api import get_fast_api_app
from google.adk.cli.utils.base_agent_loader import BaseAgentLoader
from google.adk.models.base_llm import BaseLlm
from starlette.middleware import Middleware
from starlette.responses import RedirectResponse
from starlette.types import Lifespan

from acc_ace.config import ROLES, Role, Settings, disable_unexported_telemetry
from acc_ace.container import Container
from acc_ace.conversation import Conversation
from acc_ace.models.factory import describe
from acc_ace.pipeline import build_app
from acc_ace.server import (
    document_routes,
    feedback_routes,
    health,
    job_routes,
    memory_routes,
    model_routes,
    playbook_changes,
    session_routes,
    turn_routes,
)
from acc_ace.server.adk_guard import AdkInputGuard
from acc_ace.server.adk_services import artifact_uri, memory_uri
from acc_ace.server.agent_loader import agent_loader, agents_dir
from acc_ace.server.api_docs import serve_docs
from acc_ace.server.auth import TokenGuard, login_router
from acc_ace.server.headers import SecurityHeaders
from acc_ace.server.hosts import TrustedHosts
from acc_ace.server.identity import Identities
from acc_ace.server.openapi import describe_problems
from acc_ace.server.path_redaction import PathRedaction
from acc_ace.server.problems import install_problem_handlers
from acc_ace.server.request_body import BodyLimit, Upload, body_limit
from acc_ace.server.served_sessions import open_session_service, uri_of
from acc_ace.server.server_context import ServerContext
from acc_ace.server.turn_gate import TurnGate, TurnGuard

_ROUTERS: Final = (
    turn_routes.router,
    feedback_routes.router,
    session_routes.router,
    playbook_changes.router,
    job_routes.router,
    memory_routes.router,
    document_routes.router,
    model_routes.router,
    health.router,
)


def create_app(container: Container, *, models: Mapping[Role, BaseLlm] | None = None) -> FastAPI:
    """Build the server over a process's stores; `models` replaces models in tests.

    Raises ConfigError for an unknown model name or a missing directory of agents.
    """
    settings = container.settings
    for role in ROLES:
        describe(role, settings)
    built = build_app(container, models)
    service = open_session_service(container)
    conversation = Conversation(container, app=built, session_service=service, models=models)
    context = ServerContext(container, conversation, service, TurnGate())
    identities = Identities(settings.auth_tokens)
    app = _adk_app(settings, context, agent_loader(settings, built))
    _close_trace_view(app)
    app.title, app.version = "ACC×ACE", version("acc-ace")
    app.description = "Bounded memory (ACC) and a self-improving playbook (ACE), by turn."
    app.state.acc_ace = context
    serve_docs(app)
    for router in (*_ROUTERS, login_router(identities)):
        app.include_router(router)
    if not settings.serve_web_interface:
        app.add_api_route("/", _to_docs, include_in_schema=False)
    _guard(app, container, identities, context.gate)
    install_problem_handlers(app, data_dir=settings.data_dir)
    describe_problems(app)
    return app


def _adk_app(settings: Settings, context: ServerContext, loader: BaseAgentLoader) -> FastAPI:
    disable_unexported_telemetry()
    with warnings.catch_warnings():
        # ADK calls its own credential service experimental; it holds nothing of ours.
        warnings.filterwarnings("ignore", r"\[EXPERIMENTAL\]", UserWarning)
        return get_fast_api_app(
            agents_dir=str(agents_dir(settings)),
            agent_loader=loader,
            session_service_uri=uri_of(context.session_service),
            artifact_service_uri=artifact_uri(context.container),
            memory_service_uri=memory_uri(context.container),
            allow_origins=_origins(settings) or None,
            web=settings.serve_web_interface,
            # Without a known bind ADK keeps its code-writing agent builder closed, which is
            # what a server with tokens wants; our own guard checks the Host either way.
            bind_host=None if settings.auth_tokens else settings.host,
            port=settings.port,
            reload_agents=settings.reload_agents and settings.agent_dir is not None,
            lifespan=_lifespan(context),
        )


def _close_trace_view(app: FastAPI) -> None:
    """Remove the routes that serve what ADK traced, of whichever user."""
    app.router.routes[:] = [
        route for route in app.router.routes if "/debug/trace" not in getattr(route, "path", "")
    ]


def _lifespan(context: ServerContext) -> Lifespan[FastAPI]:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with context.conversation.keeping_house():
            yield
        await context.close()

    return lifespan


def _guard(app: FastAPI, container: Container, identities: Identities, gate: TurnGate) -> None:
    """Wrap the routes. The first guard of the list is asked first."""
    settings = container.settings
    # Inside ADK's CORS and origin checks, so that preflights need no token and refusals can be
    # read by the page that caused them.
    app.user_middleware.extend(
        [
            Middleware(
                BodyLimit,
                limit=body_limit(settings.limits),
                seconds=settings.limits.receive_s,
                upload=Upload(
                    document_routes.PREFIX,
                    settings.limits.upload_bytes,
                    "ACC_ACE_LIMITS__UPLOAD_BYTES",
                ),
            ),
            Middleware(TokenGuard, identities=identities),
            Middleware(AdkInputGuard, limits=settings.limits),
            Middleware(PathRedaction, data_dir=settings.data_dir),
            Middleware(TurnGuard, gate=gate),
        ]
    )
    app.add_middleware(TrustedHosts, trusted=settings.trusted_hosts, bind_host=settings.host)
    app.add_middleware(SecurityHeaders)


def _origins(settings: Settings) -> list[str]:
    """CORS origins: those allowed, and our own names, which ADK would not know behind a proxy."""
    own = [
        f"{scheme}://{host}"
        for host in settings.trusted_hosts
        if "*" not in host
        for scheme in ("http", "https")
    ]
    return [*settings.allow_origins, *own]


async def _to_docs() -> RedirectResponse:
    return RedirectResponse("/docs")

"""Put the server together: ADK's routes and ours, behind the same guards.

The OpenAPI document lists the errors of each route; `/docs` and `/redoc` need no network.
"""

import asyncio
import logging
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from importlib.resources import files
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.openapi.docs import get_redoc_html, get_swagger_ui_html
from fastapi.routing import APIRoute
from google.adk.cli.fast_api import get_fast_api_app
from google.adk.cli.utils.base_agent_loader import BaseAgentLoader
from google.adk.models.base_llm import BaseLlm
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.routing import BaseRoute
from starlette.staticfiles import StaticFiles
from starlette.types import Lifespan

from acc_ace.adk.sessions.create_session_service import open_session_service
from acc_ace.cockpit import overview, pages, stream_routes
from acc_ace.cockpit.timeline import Timeline
from acc_ace.config import ROLES, Role, Settings
from acc_ace.container import Container
from acc_ace.conversation import Conversation
from acc_ace.core.text.input_checks import most_bytes
from acc_ace.hooks import ROUTERS, offering
from acc_ace.models.factory import describe
from acc_ace.pipeline import build_app
from acc_ace.server.adk_guard import AdkInputGuard, PathRedaction
from acc_ace.server.adk_services import (
    agent_loader,
    agents_dir,
    apps_beside,
    artifact_uri,
    memory_uri,
    uri_of,
)
from acc_ace.server.auth import TokenGuard, login_router
from acc_ace.server.content_policy import DEV_UI, dev_ui
from acc_ace.server.exporters import flush_exporters, open_exporters, watch
from acc_ace.server.http_guards import SecurityHeaders, TrustedHosts
from acc_ace.server.identity import PUBLIC, Identities
from acc_ace.server.log_redaction import hide_credentials
from acc_ace.server.methods import Methods
from acc_ace.server.problems import (
    Problem,
    documented,
    install_problem_handlers,
)
from acc_ace.server.rate_limits import UserLimits
from acc_ace.server.request_body import BodyLimit, Upload
from acc_ace.server.routes import (
    artifact_routes,
    chat_routes,
    memory_routes,
    playbook_changes,
    rule_routes,
    session_routes,
    status_routes,
    trace_routes,
    turn_routes,
)
from acc_ace.server.server_context import HostedApps, ServerContext
from acc_ace.server.turn_gate import TurnGate, TurnGuard

logger = logging.getLogger(__name__)

_DOCS: Final = "/docs"
_REDOC: Final = "/redoc"
_ASSETS: Final = "/docs/assets"
_REPLACED: Final = {_DOCS, _REDOC, "/"}


def serve_docs(app: FastAPI) -> None:
    """Replace FastAPI's pages and ADK's, which ask other hosts, and ADK's root by the cockpit."""
    app.router.routes[:] = [
        route for route in app.router.routes if getattr(route, "path", "") not in _REPLACED
    ]
    assets = files("fastapi_offline") / "static"
    app.mount(_ASSETS, StaticFiles(directory=str(assets)), name="docs-assets")

    async def swagger_ui(request: Request) -> HTMLResponse:
        root = request.scope.get("root_path", "")
        return get_swagger_ui_html(
            openapi_url=f"{root}{app.openapi_url}",
            title=f"{app.title}: API",
            oauth2_redirect_url=f"{root}{app.swagger_ui_oauth2_redirect_url}",
            swagger_js_url=f"{root}{_ASSETS}/swagger-ui-bundle.js",
            swagger_css_url=f"{root}{_ASSETS}/swagger-ui.css",
            swagger_favicon_url=f"{root}{_ASSETS}/favicon.png",
        )

    async def redoc(request: Request) -> HTMLResponse:
        root = request.scope.get("root_path", "")
        return get_redoc_html(
            openapi_url=f"{root}{app.openapi_url}",
            title=f"{app.title}: API",
            redoc_js_url=f"{root}{_ASSETS}/redoc.standalone.js",
            redoc_favicon_url=f"{root}{_ASSETS}/favicon.png",
            with_google_fonts=False,
        )

    if any(getattr(route, "path", "") == DEV_UI.rstrip("/") for route in app.router.routes):
        # Before ADK's mount, which would serve the file as it is.
        page = APIRoute(DEV_UI, dev_ui, include_in_schema=False)
        app.router.routes.insert(0, page)
    app.add_api_route("/", _to_cockpit, include_in_schema=False)
    app.add_api_route(_DOCS, swagger_ui, include_in_schema=False)
    app.add_api_route(_REDOC, redoc, include_in_schema=False)


def describe_problems(app: FastAPI) -> None:
    """Add the Problem schema and the problems of every route, FastAPI's validation errors too."""
    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            _name_apart(app.routes)
            document = generate()
            schemas = document.setdefault("components", {}).setdefault("schemas", {})
            schemas["Problem"] = Problem.model_json_schema()
            for path, operations in document["paths"].items():
                for method, operation in operations.items():
                    possible = documented(*_possible(path, method, operation))
                    added = {str(status): each for status, each in possible.items()}
                    operation["responses"] = added | operation["responses"]
                    _replace_validation_error(operation)
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend it


def _possible(path: str, method: str, operation: dict[str, Any]) -> Iterator[int]:
    """The problems of the guards and of what every route does, beside those that it names."""
    yield 400
    if path in PUBLIC:
        return
    yield from (401, 403, 429, 503)
    if operation.get("parameters") or "requestBody" in operation:
        yield from (404, 422)
    if method in {"post", "put", "patch", "delete"}:
        yield from (408, 409, 413, 415)


def _name_apart(routes: Iterable[BaseRoute]) -> None:
    """Number ADK's operations that share an id: it serves one under two spellings of a path.

    Ours are left as they are, so that FastAPI still warns of a clash under /v1.
    """
    taken: dict[str, int] = {}
    for route in routes:
        if not isinstance(route, APIRoute) or route.path.startswith("/v1/"):
            continue
        name = route.operation_id or route.unique_id
        taken[name] = taken.get(name, 0) + 1
        if taken[name] > 1:
            route.operation_id = f"{name}_{taken[name]}"


def _replace_validation_error(operation: dict[str, Any]) -> None:
    response = operation.get("responses", {}).get("422")
    if response is not None:
        response |= documented(422)[422]


_ROUTERS: Final = (
    turn_routes.router,
    turn_routes.feedback_router,
    session_routes.router,
    chat_routes.router,
    trace_routes.router,
    chat_routes.apps_router,
    rule_routes.router,
    playbook_changes.router,
    memory_routes.router,
    artifact_routes.router,
    status_routes.models_router,
    status_routes.operations_router,
    status_routes.health_router,
    overview.router,
    pages.router,
    stream_routes.router,
)


Beside = Callable[[ServerContext], Coroutine[Any, Any, None]]
"""Work that runs while the server does, and is cancelled at its end."""


def create_app(
    container: Container,
    *,
    models: Mapping[Role, BaseLlm] | None = None,
    beside: Beside | None = None,
) -> FastAPI:
    """Build the server over a process's stores; `models` replaces models in tests.

    `beside` runs while the server does: a demo that plays, a loop that is shown.

    Raises ConfigError for an unknown model name or a missing directory of agents.
    """
    hide_credentials()
    settings = container.settings
    for role in ROLES:
        describe(role, settings)
    built = build_app(container, models)
    service = open_session_service(container, forgets=True)
    conversation = Conversation(container, app=built, session_service=service, models=models)
    loader = agent_loader(settings, built, apps_beside(container))
    hosted = HostedApps(conversation, loader, service)
    context = ServerContext(container, conversation, hosted, service, TurnGate())
    identities = Identities(settings.auth_tokens)
    timeline = Timeline()
    if open_exporters(settings):
        watch(context.gate, timeline)
    app = _adk_app(settings, context, loader, _lifespan(context, beside))
    _close_trace_view(app)
    app.title, app.version = "ACC×ACE", version("acc-ace")
    app.description = "Bounded memory (ACC) and a self-improving playbook (ACE), by turn."
    app.state.acc_ace = context
    app.state.acc_ace_timeline = timeline
    serve_docs(app)
    added = (router for entry in offering(ROUTERS) for router in entry.routers())
    login = login_router(identities, tries_per_minute=settings.limits.login_tries)
    for router in (*_ROUTERS, *added, login):
        app.include_router(router)
    _guard(app, container, identities, context.gate)
    install_problem_handlers(app, data_dir=settings.data_dir)
    describe_problems(app)
    return app


def _adk_app(
    settings: Settings, context: ServerContext, loader: BaseAgentLoader, lifespan: Lifespan[FastAPI]
) -> FastAPI:
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
            lifespan=lifespan,
        )


def _close_trace_view(app: FastAPI) -> None:
    """Remove the routes that serve what ADK traced, of whichever user."""
    app.router.routes[:] = [
        route for route in app.router.routes if "/debug/trace" not in getattr(route, "path", "")
    ]


def _lifespan(context: ServerContext, beside: Beside | None) -> Lifespan[FastAPI]:
    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        async with context.conversation.keeping_house(), _running(beside, context):
            yield
        await context.close()
        await flush_exporters()

    return lifespan


@asynccontextmanager
async def _running(beside: Beside | None, context: ServerContext) -> AsyncIterator[None]:
    if beside is None:
        yield
        return
    task = asyncio.create_task(beside(context))
    task.add_done_callback(_log_failure)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


def _log_failure(task: "asyncio.Task[None]") -> None:
    """The server goes on without it; nobody awaits the task before the end."""
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.error("beside_failed", exc_info=error)


def _guard(app: FastAPI, container: Container, identities: Identities, gate: TurnGate) -> None:
    """Wrap the routes. The first guard of the list is asked first."""
    settings = container.settings
    # Inside ADK's CORS and origin checks, so that preflights need no token and refusals can be
    # read by the page that caused them.
    app.user_middleware.extend(
        [
            Middleware(
                BodyLimit,
                limit=most_bytes(settings.limits),
                seconds=settings.limits.receive_s,
                upload=Upload(
                    memory_routes.PREFIX,
                    settings.limits.upload_bytes,
                    "ACC_ACE_LIMITS__UPLOAD_BYTES",
                ),
            ),
            Middleware(
                UserLimits,
                identities=identities,
                requests_per_minute=settings.limits.requests_per_minute,
                streams=settings.limits.streams,
            ),
            Middleware(TokenGuard, identities=identities),
            Middleware(AdkInputGuard),
            Middleware(PathRedaction, data_dir=settings.data_dir),
            Middleware(TurnGuard, gate=gate),
            Middleware(Methods, routes=app.routes),
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


async def _to_cockpit() -> RedirectResponse:
    return RedirectResponse("ui/")

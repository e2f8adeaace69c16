"""Routes about the server: probes, and the model of each agent."""

from typing import Final

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, PlainTextResponse, Response

from acc_ace.adk.sessions.session_services import NO_EVENTS
from acc_ace.config import ROLES, Role
from acc_ace.conversation import APP_NAME
from acc_ace.core.schemas.base import PlaybookScope, SessionKey
from acc_ace.errors import AccAceError, NotFoundError
from acc_ace.models.factory import describe
from acc_ace.models.names import Kind
from acc_ace.server.problems import documented, problem, problem_of, problem_response
from acc_ace.server.server_context import Context, Operator, ServerContext, User

health_router = APIRouter(tags=["health"])

_PROBE: Final = SessionKey(APP_NAME, "readyz", "readyz")
"""A session that never exists: asking for it makes the stores answer."""


class Health(BaseModel):
    """The answer of a probe that is well."""

    status: str = "ok"


@health_router.get("/healthz", summary="Check that the process is alive")
async def alive() -> Health:
    """Always 200 while the process answers."""
    return Health()


@health_router.get(
    "/readyz",
    summary="Check that the stores respond",
    response_model=Health,
    responses=documented(503),
)
async def ready(request: Request, context: Context) -> Response:
    """200 when the stores answer; 503 with the reason when not, or when shutting down."""
    path = request.url.path
    if context.gate.closed:
        return problem_response(
            problem(503, "shutting_down", "the server is shutting down", instance=path)
        )
    try:
        await ask_stores(context)
    except AccAceError as error:
        settings = context.container.settings
        value = problem_of(error, instance=path, data_dir=settings.data_dir)
        return problem_response(value.model_copy(update={"status": 503, "title": _UNREADY}))
    return JSONResponse({"status": "ready"})


_UNREADY: Final = "Service Unavailable"


async def ask_stores(context: ServerContext) -> None:
    """Make every store answer; raises StoreError that names the one that cannot, and the fix."""
    container = context.container
    await container.journal.head(_PROBE)
    await container.evidence.last(_PROBE)
    await container.artifacts.count(_PROBE.tenant)
    await container.playbooks.load(PlaybookScope(APP_NAME))
    await context.session_service.get_session(
        app_name=_PROBE.app, user_id=_PROBE.user, session_id=_PROBE.session, config=NO_EVENTS
    )


models_router = APIRouter(prefix="/v1/models", tags=["models"])


class AgentModel(BaseModel):
    """The model of one agent."""

    agent: Role
    model: str
    kind: Kind
    note: str = Field(description="Note on the model; for 'embedded': that it is not an LLM.")


@models_router.get("", summary="List the models")
async def list_models(context: Context, _user: User) -> list[AgentModel]:
    """Which model each agent uses."""
    infos = [describe(role, context.container.settings) for role in ROLES]
    return [
        AgentModel(agent=info.role, model=info.name, kind=info.kind, note=info.note)
        for info in infos
    ]


operations_router = APIRouter(prefix="/v1/operations", tags=["operations"])


@operations_router.get(
    "/metrics",
    summary="Read measures for Prometheus",
    response_class=PlainTextResponse,
    responses=documented(404),
)
async def prometheus(request: Request, context: Context, _operator: Operator) -> Response:
    """Measures of this server process, of all apps and users, in Prometheus's text format."""
    if not context.container.settings.prometheus:
        raise NotFoundError("nothing is measured for Prometheus; set ACC_ACE_PROMETHEUS=true")
    from prometheus_client import REGISTRY  # noqa: PLC0415 - of the extra
    from prometheus_client.exposition import choose_encoder  # noqa: PLC0415 - of the extra

    encode, media_type = choose_encoder(request.headers.get("accept", ""))
    return Response(encode(REGISTRY), media_type=media_type)

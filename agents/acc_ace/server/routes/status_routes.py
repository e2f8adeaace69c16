"""Routes about the server: probes, the model of each agent, jobs of background learning."""

from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Annotated, Final

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response

from acc_ace.adk.sessions.session_services import NO_EVENTS
from acc_ace.config import ROLES, Role
from acc_ace.conversation import APP_NAME
from acc_ace.core.schemas.base import PlaybookScope, SessionKey, Tenant
from acc_ace.errors import AccAceError, NotFoundError
from acc_ace.ext.background.create_learning_queue import kept_jobs
from acc_ace.ext.background.learning_job import Attempt, JobState, LearningKind, QueuedLearning
from acc_ace.ext.background.learning_queue import LearningQueue
from acc_ace.models.factory import Kind, describe
from acc_ace.server.problems import documented, problem, problem_of, problem_response
from acc_ace.server.routes.session_routes import Limit
from acc_ace.server.server_context import Context, CurrentTenant, ServerContext, User

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


@models_router.get("", summary="List the models", responses=documented(401, 403))
async def list_models(context: Context, _user: User) -> list[AgentModel]:
    """Which model each agent uses."""
    infos = [describe(role, context.container.settings) for role in ROLES]
    return [
        AgentModel(agent=info.role, model=info.name, kind=info.kind, note=info.note)
        for info in infos
    ]


jobs_router = APIRouter(prefix="/v1/jobs", tags=["playbook"])

MAX_OFFSET = 10_000_000

JobId = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="Job id.", examples=["0" * 32])]


class Job(BaseModel):
    """Learning from one turn, and how far it has come."""

    id: str
    state: JobState
    kind: LearningKind
    session: str
    turn: int
    base_version: int = Field(description="Playbook version that the turn was answered with.")
    outcome: str = Field(description="When done: learned, known (done before) or obsolete.")
    error: str = Field(description="Error of the last failed attempt, or why it was dropped.")
    tokens: int = Field(description="Tokens of all attempts.")
    attempts: list[Attempt]
    created_at: datetime
    updated_at: datetime


class JobPage(BaseModel):
    """A page of jobs, newest first."""

    items: list[Job]
    next_offset: int | None = Field(description="`offset` of the next page; null on the last one.")


@jobs_router.get("", summary="List learning jobs", responses=documented(401, 403, 422, 503))
async def list_jobs(
    context: Context,
    tenant: CurrentTenant,
    limit: Limit = 50,
    offset: Annotated[int, Query(ge=0, le=MAX_OFFSET)] = 0,
    state: Annotated[list[JobState] | None, Query(description="Only jobs in these states.")] = None,
) -> JobPage:
    """Your jobs. Dead ones have failed as often as they are tried; look at why, then retry."""
    async with _jobs(context) as queue:
        if queue is None:
            return JobPage(items=[], next_offset=None)
        found = await queue.list(states=state or (), tenant=tenant, limit=limit + 1, offset=offset)
    more = len(found) > limit
    return JobPage(
        items=[view for job in found[:limit] if (view := _view(job)) is not None],
        next_offset=offset + limit if more else None,
    )


@jobs_router.get(
    "/{job}", summary="Read a learning job", responses=documented(401, 403, 404, 422, 503)
)
async def get_job(context: Context, tenant: CurrentTenant, job: JobId) -> Job:
    """One of your jobs."""
    async with _jobs(context) as queue:
        return (await _own(queue, tenant, job))[1]


@jobs_router.post(
    "/{job}/retry",
    summary="Retry a failed or dropped job",
    responses=documented(401, 403, 404, 422, 503),
)
async def retry_job(context: Context, tenant: CurrentTenant, job: JobId) -> Job:
    """Retry one of your dead or shed jobs."""
    async with _jobs(context) as queue:
        own, before = await _own(queue, tenant, job)
        return _view(await own.retry(job)) or before


@jobs_router.delete(
    "/{job}",
    status_code=204,
    summary="Delete a learning job",
    responses=documented(401, 403, 404, 422, 503),
)
async def drop_job(context: Context, tenant: CurrentTenant, job: JobId) -> None:
    """Forget one of your jobs that is not running; its turn is then not learnt from."""
    async with _jobs(context) as queue:
        own, _ = await _own(queue, tenant, job)
        await own.drop(job)


def _jobs(context: ServerContext) -> AbstractAsyncContextManager[LearningQueue | None]:
    return kept_jobs(context.container.settings, context.container.learning)


async def _own(
    queue: LearningQueue | None, tenant: Tenant, job_id: str
) -> tuple[LearningQueue, Job]:
    """The queue and the user's job in it; another user's is as good as none. NotFoundError."""
    missing = NotFoundError(f"there is no learning job '{job_id}'")
    if queue is None:
        raise missing
    found = await queue.get(job_id)
    view = _view(found)
    if view is None or found.job is None or found.job.tenant != tenant:
        raise missing
    return queue, view


def _view(job: QueuedLearning) -> Job | None:
    """A job as its user sees it; None when what is stored cannot be read."""
    if job.job is None:
        return None
    return Job.model_validate({**dict(job.job), **dict(job), "tokens": job.tokens})

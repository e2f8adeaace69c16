"""Routes of the timeline: streams, pages of events, snapshots of runs, metrics.

The names are those of the survivor's specification; the filters are app, session, kind and run.
"""

import asyncio
import re
from collections.abc import Hashable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from acc_ace.cockpit.sources import (
    Source,
    TimelineEvent,
    playbook_source,
    position_of,
    run_source,
    session_source,
    tenant_source,
)
from acc_ace.cockpit.timeline import Timeline, TimelineResponse, blocks
from acc_ace.config import Settings
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.cost import Totals
from acc_ace.core.schemas.report import Money
from acc_ace.errors import ForbiddenError, InputError, NotFoundError
from acc_ace.hooks import APPS, offering
from acc_ace.server.routes.turn_stream import EVENTS, MEDIA_TYPE
from acc_ace.server.server_context import (
    NAME_LENGTH,
    NAME_PATTERN,
    Context,
    CurrentTenant,
    ServerContext,
    User,
    may_edit,
)

router = APIRouter(tags=["cockpit"])

_RUN: Final = re.compile(r"[\w.-]{1,120}")
_MOST_RUNS: Final = 200

SessionFilter = Annotated[
    str | None, Query(max_length=NAME_LENGTH, pattern=NAME_PATTERN, description="One session.")
]
RunName = Annotated[str, Query(max_length=124, description="A run of the survivor.")]
KindFilter = Annotated[
    str, Query(max_length=200, description="Kinds, comma-separated: turn, state, delta, tick, …")
]
From = Annotated[int, Query(ge=0, le=2**62, description="Position to go on from.")]
Limit = Annotated[int, Query(ge=1, le=200)]


def runs_dir(settings: Settings) -> Path:
    """Where runs are kept."""
    return settings.data_dir / "survivor" / "runs"


def run_path(context: ServerContext, user: str, run: str | None = None) -> Path:
    """The file of a run; without a name, of the one that was written last.

    Raises ForbiddenError for a user who may not see the operator's runs, NotFoundError.
    """
    settings = context.container.settings
    if not may_edit(settings, user):
        raise ForbiddenError("runs are the operator's; ACC_ACE_PLAYBOOK_EDITORS names who may look")
    name = run or next((path.stem for path in _newest(settings)), "")
    path = runs_dir(settings) / f"{name}.jsonl"
    if not _RUN.fullmatch(name) or not path.is_file():
        raise NotFoundError(f"no run {name[:120]!r}; GET /snapshots/runs lists them")
    return path


def _newest(settings: Settings) -> list[Path]:
    """The files of the runs, newest first."""
    runs = runs_dir(settings).glob("*.jsonl")
    return sorted(runs, key=lambda path: path.stat().st_mtime_ns, reverse=True)


def wanted_source(
    context: Context,
    tenant: CurrentTenant,
    user: User,
    *,
    session: SessionFilter = None,
    run: RunName | None = None,
    kind: KindFilter = "",
) -> tuple[Hashable, Source]:
    """A run, a session, a playbook's log (`kind=delta`), or the user's sessions; and its name."""
    container = context.container
    if run is not None:
        path = run_path(context, user, run)
        return path, run_source(path)
    if session is not None:
        key = SessionKey(tenant.app, tenant.user, session)
        return key, session_source(container, key)
    if kind == "delta":
        scope = container.playbook_scope(tenant.app, tenant.user)
        return scope, playbook_source(container, scope)
    return tenant, tenant_source(container, tenant)


Asked = Annotated[tuple[Hashable, Source], Depends(wanted_source)]


def timeline_of(request: Request) -> Timeline:
    """The timeline of this process."""
    timeline: Timeline = request.app.state.acc_ace_timeline
    return timeline


Streams = Annotated[Timeline, Depends(timeline_of)]


@router.get(
    "/sse/timeline",
    summary="Follow a timeline",
    response_class=Response,
    responses={200: {"content": {MEDIA_TYPE: EVENTS}}},
)
async def stream(
    query: Asked,
    timeline: Streams,
    *,
    kind: KindFilter = "",
    after: From | None = None,
    last_event_id: Annotated[str | None, Header(max_length=600)] = None,
) -> Response:
    """Events as they are committed, as server-sent events; resumes after `Last-Event-ID`.

    `gap` means: too far behind, read the page again. `gone` is the last event of a source that was
    deleted.
    """
    if last_event_id:
        after = position_of(last_event_id)
    following = AsyncExitStack()
    pulse = await following.enter_async_context(timeline.follow(*query))
    return TimelineResponse(blocks(pulse, after=after, kinds=_kinds(kind)), following)


class EventPage(BaseModel):
    """A page of events, oldest first."""

    items: list[TimelineEvent]
    next_after: int | None = Field(description="`after` of the next page; null at the newest.")
    newest: int = Field(description="Position of the newest event.")


@router.get("/events", summary="List events")
async def events(
    query: Asked, *, kind: KindFilter = "", after: From = 0, limit: Limit = 100
) -> EventPage:
    """The same events as JSON."""
    source = query[1]
    newest = await source.newest()
    page = await source.after(after, limit)
    last = page[-1].n if page else newest
    kinds = _kinds(kind)
    items = [event for event in page if not kinds or event.kind in kinds]
    return EventPage(items=items, next_after=last if last < newest else None, newest=newest)


class Run(BaseModel):
    """A kept run of the survivor."""

    run: str
    bytes: int
    changed_at: float = Field(description="Seconds since 1970.")
    is_live: bool = Field(description="Whether its loop runs in this server.")


@router.get("/snapshots/runs", summary="List runs")
async def runs(request: Request, context: Context, user: User) -> list[Run]:
    """The runs kept here, newest first."""
    settings = context.container.settings
    if not may_edit(settings, user):
        return []
    live = getattr(request.app.state, "acc_ace_run", None)

    def listed() -> list[Run]:
        newest = [(path, path.stat()) for path in _newest(settings)[:_MOST_RUNS]]
        return [
            Run(
                run=path.stem,
                bytes=stat.st_size,
                changed_at=stat.st_mtime,
                is_live=live is not None and live.run == path.stem,
            )
            for path, stat in newest
        ]

    return await asyncio.to_thread(listed)


class SnapshotPage(BaseModel):
    """A page of a run's snapshots, oldest first."""

    run: str
    items: list[dict[str, Any]]
    next_after: int | None
    newest: int = Field(description="Snapshots of the run so far.")


@router.get("/snapshots", summary="List snapshots")
async def snapshots(
    context: Context, user: User, *, run: RunName | None = None, after: From = 0, limit: Limit = 50
) -> SnapshotPage:
    """Snapshots of a run, whole, as they stand in its file; of the newest, unless it is named."""
    path = run_path(context, user, run)
    page = await events((path, run_source(path)), after=after, limit=limit)
    items = [{"n": event.n, **event.data} for event in page.items]
    return SnapshotPage(run=path.stem, items=items, next_after=page.next_after, newest=page.newest)


class Metrics(BaseModel):
    """What the asking user's memory in an app holds and costs; nothing of others."""

    app: str
    user: str
    sessions: int = Field(description="Sessions with a state, at most 200 are counted.")
    turns: int
    spent: Money = Field(description="Of the days listed.")
    replay: Money
    days: dict[str, Money] = Field(description="By day (UTC), the first one first.")
    playbook: dict[str, Any]
    streams: int = Field(description="Open streams of this server process.")
    survival: Mapping[str, float | None] | None = Field(
        description="Measures of a kept run; null without one, and for who may not look."
    )


@router.get("/metrics", summary="Read metrics")
async def metrics(
    context: Context,
    tenant: CurrentTenant,
    timeline: Streams,
    *,
    run: RunName | None = None,
) -> Metrics:
    """Counts and money of your sessions in an app, and how a run of the survivor's went."""
    container = context.container
    heads = await container.journal.sessions(tenant, limit=200)
    sums = await container.spending.store.days(tenant, limit=200)
    days: dict[str, Totals] = {}
    for each in sums:
        days[str(each.day)] = days.get(str(each.day), Totals()) + each.totals
    whole = sum(days.values(), Totals())
    scope = container.playbook_scope(tenant.app, tenant.user)
    stored = await container.playbooks.load(scope)
    return Metrics(
        app=tenant.app,
        user=tenant.user,
        sessions=len(heads),
        turns=sum(entry.state.turn for _, entry in heads),
        spent=whole.spent,
        replay=whole.replay,
        days={day: totals.spent for day, totals in days.items()},
        playbook={"version": stored.version, **stored.playbook.stats()},
        streams=timeline.clients,
        survival=await _survival(context, tenant.user, run),
    )


async def _survival(
    context: ServerContext, user: str, run: str | None
) -> Mapping[str, float | None] | None:
    """The measures of a run, or of the newest if it can be read.

    Raises ForbiddenError, NotFoundError or InputError for a run that is named.
    """
    entry = next(offering(APPS), None)
    try:
        path = run_path(context, user, run)
        return None if entry is None else await asyncio.to_thread(entry.measures, path)
    except (ForbiddenError, NotFoundError, InputError):
        if run is not None:
            raise
        return None


def _kinds(kind: str) -> frozenset[str]:
    return frozenset(part.strip() for part in kind.split(",") if part.strip())

"""Routes of the survivor: the measures of a run, and the settings of the loop that runs here."""

import asyncio
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request

from acc_ace.cockpit.stream_routes import RunName, run_path
from acc_ace.errors import ConflictError, ForbiddenError
from acc_ace.ext.survivor.measured_run import measured_run
from acc_ace.ext.survivor.survival import LoopSettings, RunAnalysis
from acc_ace.server.problems import documented
from acc_ace.server.server_context import Context, ServerContext, User, may_edit

if TYPE_CHECKING:
    from acc_ace.ext.survivor.cli.watched_run import WatchedRun

router = APIRouter(tags=["cockpit"])


@router.get("/snapshots/measures", summary="Measure")
async def measures(context: Context, user: User, *, run: RunName | None = None) -> RunAnalysis:
    """The measures of a run so far, its lives, and series for charts; of the newest, unless named.

    It may be running.
    """
    return await asyncio.to_thread(measured_run(run_path(context, user, run)).result)


@router.get("/survivor/settings", summary="Read settings", responses=documented(409))
async def read_settings(request: Request, context: Context, user: User) -> LoopSettings:
    """The settings of the loop that runs in this server."""
    return _loop(request, context, user).take()


@router.post("/survivor/settings", summary="Change")
async def change_settings(
    request: Request, context: Context, user: User, body: dict[str, Any]
) -> LoopSettings:
    """Change settings of the running loop, `paused` among them; they hold within a tick."""
    return _loop(request, context, user).change(**body)


@router.post("/survivor/step", summary="Live one tick")
async def step(request: Request, context: Context, user: User) -> LoopSettings:
    """Let the paused loop live one tick."""
    loop = _loop(request, context, user)
    loop.step()
    return loop.take()


def _loop(request: Request, context: ServerContext, user: str) -> "WatchedRun":
    """The loop of this process, if it runs one, for who may steer it."""
    run: WatchedRun | None = getattr(request.app.state, "acc_ace_run", None)
    if run is None:
        raise ConflictError("no loop runs in this server: acc-ace survive --ui PORT starts one")
    if not may_edit(context.container.settings, user):
        raise ForbiddenError("the loop is the operator's; ACC_ACE_PLAYBOOK_EDITORS names who may")
    return run

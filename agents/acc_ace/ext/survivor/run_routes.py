"""Routes of the survivor: the series of a run, and the settings of the loop that runs here."""

import asyncio
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol

from fastapi import APIRouter, Request
from pydantic import BaseModel, ValidationError

from acc_ace.cockpit.sources import run_source
from acc_ace.cockpit.stream_routes import RunName, run_path
from acc_ace.errors import ConflictError, ForbiddenError, InputError
from acc_ace.ext.survivor.survival import LoopSettings, LoopSnapshot
from acc_ace.server.problems import documented
from acc_ace.server.server_context import Context, ServerContext, User, may_edit

router = APIRouter(tags=["cockpit"])

_MOST_POINTS: Final = 2_000
_SERIES: Final = ("unknown", "fear", "curiosity", "threshold", "exploration")


class RunControl(Protocol):
    """The running loop that this server shows, if it runs in this process."""

    @property
    def run(self) -> str:
        """Its name."""
        ...

    @property
    def settings(self) -> LoopSettings:
        """The settings in force."""
        ...

    def change(self, **fields: Any) -> LoopSettings:  # noqa: ANN401 - validated by LoopSettings
        """Change settings; the loop takes them up within a tick. Raises InputError."""
        ...

    def step(self) -> None:
        """Let a paused loop live one tick."""
        ...


class Series(BaseModel):
    """Values of a run over its ticks, thinned to at most 2,000 points."""

    n: list[int]
    values: dict[str, list[float]]


@router.get("/snapshots/series", summary="Read series", responses=documented(401, 403, 404, 422))
async def series(context: Context, user: User, *, run: RunName) -> Series:
    """Life, food, water, fear, curiosity, reward and score over the run, for charts."""
    path = run_path(context, user, run)
    stride = -(-(await run_source(path).newest()) // _MOST_POINTS) or 1
    return await asyncio.to_thread(_series, path, stride)


def _series(path: Path, stride: int) -> Series:
    names = ("life", "food", "water", *_SERIES, "reward", "score", "episode")
    result = Series(n=[], values={name: [] for name in names})
    with path.open(encoding="utf-8") as file:
        for number, line in islice(enumerate(file, start=1), 0, None, stride):
            try:
                tick = LoopSnapshot.model_validate_json(line)
            except ValidationError:
                continue  # Such a line is a warning of the stream and of `analyze`.
            body, board = tick.body, tick.scoreboard
            row = (
                *(body.life, body.food, body.water),
                *(getattr(tick, name) for name in _SERIES),
                *(board.total, board.score, tick.episode),
            )
            result.n.append(number)
            for name, value in zip(names, row, strict=True):
                result.values[name].append(value)
    return result


@router.get("/survivor/settings", summary="Read settings", responses=documented(401, 403, 409))
async def read_settings(request: Request, context: Context, user: User) -> LoopSettings:
    """The settings of the loop that runs in this server."""
    return _loop(request, context, user).settings


@router.post("/survivor/settings", summary="Change", responses=documented(401, 403, 409, 422))
async def change_settings(
    request: Request, context: Context, user: User, body: dict[str, Any]
) -> LoopSettings:
    """Change settings of the running loop, `paused` among them; they hold within a tick."""
    if unknown := sorted(body.keys() - LoopSettings.model_fields.keys()):
        raise InputError(f"no setting {', '.join(unknown)[:200]}")
    return _loop(request, context, user).change(**body)


@router.post("/survivor/step", summary="Live one tick", responses=documented(401, 403, 409))
async def step(request: Request, context: Context, user: User) -> LoopSettings:
    """Let the paused loop live one tick."""
    loop = _loop(request, context, user)
    loop.step()
    return loop.settings


def _control(request: Request) -> RunControl | None:
    control: RunControl | None = getattr(request.app.state, "acc_ace_run", None)
    return control


def _loop(request: Request, context: ServerContext, user: str) -> RunControl:
    control = _control(request)
    if control is None:
        raise ConflictError("no loop runs in this server: acc-ace survive --ui PORT starts one")
    if not may_edit(context.container.settings, user):
        raise ForbiddenError("the loop is the operator's; ACC_ACE_PLAYBOOK_EDITORS names who may")
    return control

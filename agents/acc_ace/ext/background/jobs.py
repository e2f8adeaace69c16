"""`acc-ace jobs …`: list, show, retry and drop background learning jobs."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Annotated, TypeVar

import typer
from rich.console import RenderableType
from rich.text import Text

from acc_ace.cli.names import APP_NAME, checked_name
from acc_ace.cli.output import json_line, named_values, stdout_console
from acc_ace.cli.terminal import short_count
from acc_ace.config import load_settings
from acc_ace.core.schemas.base import Tenant
from acc_ace.core.schemas.learning_job import JobState, QueuedLearning
from acc_ace.errors import InputError, NotFoundError
from acc_ace.ext.background.create_learning_queue import kept_jobs
from acc_ace.turn.learning_queue import LearningQueue

T = TypeVar("T")

app = typer.Typer(rich_markup_mode=None)

_Json = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]
_App = Annotated[str | None, typer.Option("--app", help="Only jobs of this app (default: all).")]
_Id = Annotated[str, typer.Argument(metavar="ID", help="Job id, as shown by `jobs list`.")]

_ALL = 1_000
_NONE: Sequence[QueuedLearning] = ()
_ERROR_CHARACTERS = 80


@app.command("list")
def list_jobs(
    state: Annotated[
        list[str] | None,
        typer.Option(help="waiting, running, done, dead or shed (repeatable)."),
    ] = None,
    app_name: _App = None,
    user: Annotated[str | None, typer.Option(help="Only this user's jobs.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum results.")] = 50,
    as_json: _Json = False,
) -> None:
    """List jobs, newest first."""
    wanted = [_state(name) for name in state or ()]
    tenant = None
    if user is not None:
        tenant = Tenant(app_name or APP_NAME, checked_name(user, "--user"))

    async def ask(queue: LearningQueue) -> Sequence[QueuedLearning]:
        most = limit if tenant or app_name is None else _ALL
        rows = await queue.list(states=wanted, tenant=tenant, limit=most)
        return _of_app(rows, app_name)[:limit]

    jobs = _with_queue(ask, default=_NONE)
    if as_json:
        _print_json(jobs)
    elif not jobs:
        stdout_console().print(_report_none(wanted, app_name, user))
    else:
        for job in jobs:
            stdout_console().print(_line(job), soft_wrap=True)


@app.command()
def show(job: _Id, as_json: _Json = False) -> None:
    """Show a job and the error of each failed attempt."""
    entry = _with_queue(lambda queue: queue.get(job), missing=job)
    if as_json:
        _print_json([entry])
    else:
        stdout_console().print(_details(entry))


@app.command()
def retry(
    job: Annotated[
        str | None, typer.Argument(metavar="ID", help="Failed (dead) or dropped (shed) job.")
    ] = None,
    all_dead: Annotated[bool, typer.Option("--all-dead", help="Retry all dead jobs.")] = False,
    app_name: _App = None,
    as_json: _Json = False,
) -> None:
    """Retry a failed or dropped job."""
    if (job is None) is not all_dead:
        raise InputError("give a job id or --all-dead")

    async def retry_jobs(queue: LearningQueue) -> Sequence[QueuedLearning]:
        if job is not None:
            return [await queue.retry(job)]
        dead = _of_app(await queue.list(states=[JobState.DEAD], limit=_ALL), app_name)
        return [await queue.retry(entry.id) for entry in dead]

    jobs = _with_queue(retry_jobs, missing=job or "", default=None if job else _NONE)
    if as_json:
        _print_json(jobs)
        return
    count = f"{len(jobs)} job" if len(jobs) == 1 else f"{len(jobs)} jobs"
    stdout_console().print(f"{count} will be retried by the next running server or chat")


@app.command()
def drop(job: _Id) -> None:
    """Delete a job that is not running. If it was not done, its turn is not learned from."""

    async def forget(queue: LearningQueue) -> QueuedLearning:
        entry = await queue.get(job)
        await queue.drop(job)
        return entry

    done = _with_queue(forget, missing=job).state is JobState.DONE
    reported = "its lessons stay in the playbook" if done else "its turn will not be learned from"
    stdout_console().print(f"job {job} was deleted; {reported}", soft_wrap=True)


def _of_app(jobs: Sequence[QueuedLearning], app: str | None) -> Sequence[QueuedLearning]:
    return [job for job in jobs if app is None or (job.job and job.job.app == app)]


def _with_queue(
    ask: Callable[[LearningQueue], Awaitable[T]], *, missing: str = "", default: T | None = None
) -> T:
    """The result of `ask`; without a queue `default`, or NotFoundError."""

    async def run() -> T:
        async with kept_jobs(load_settings()) as queue:
            if queue is not None:
                return await ask(queue)
        if default is None:
            raise NotFoundError(f"no learning job '{missing}': no jobs have been stored here")
        return default

    return asyncio.run(run())


def _state(name: str) -> JobState:
    try:
        return JobState(name.lower())
    except ValueError:
        allowed = ", ".join(JobState)
        raise InputError(f"--state must be one of {allowed}; got {name!r:.40}") from None


def _print_json(jobs: Iterable[QueuedLearning]) -> None:
    for job in jobs:
        print(json_line({**job.model_dump(mode="json"), "tokens": job.tokens}))


def _report_none(states: Sequence[JobState], app: str | None, user: str | None) -> str:
    """The message for an empty list, with its filters: other jobs may exist."""
    kinds = f" that are {' or '.join(states)}" if states else ""
    named = f" of app {app}" if app is not None else ""
    named += f" of user {user}" if user is not None else ""
    return f"no learning jobs{named}{kinds}"


def _line(job: QueuedLearning) -> Text:
    """A job in one line; the id comes first, for copying."""
    about = job.job
    whose = f"{about.app}: " if about and about.app != APP_NAME else ""
    what = f"{whose}turn {about.turn} of {about.user}/{about.session}" if about else "unreadable"
    tries = f"{len(job.attempts)} tries" if len(job.attempts) != 1 else "1 try"
    reported = (job.error or job.outcome)[:_ERROR_CHARACTERS]
    line = Text(job.id)
    line.append(f"  {job.state.value:<8}", style="bold")
    line.append(f"{what} · {tries}, {short_count(job.tokens)} tokens")
    return line.append(f" · {reported}" if reported else "")


def _details(job: QueuedLearning) -> RenderableType:
    about = job.job
    rows = [("id", job.id), ("state", job.state.value), ("created", job.created_at.isoformat())]
    if about is not None:
        rows += [
            ("learns from", f"{about.kind.value} {about.turn} of session {about.session}"),
            ("app", about.app),
            ("user", about.user),
            ("playbook then", f"version {about.base_version}"),
        ]
    rows += [("outcome", job.outcome or "-"), ("error", job.error or "-")]
    rows += [
        (f"try {number}", f"{made.at.isoformat()}, {made.tokens} tokens. {made.error}")
        for number, made in enumerate(job.attempts, start=1)
    ]
    return named_values((name, Text(value)) for name, value in rows)

"""`acc-ace jobs …`: the commands and their options."""

from typing import Annotated

import typer

app = typer.Typer(help="Inspect and manage background learning jobs.", no_args_is_help=True)

_Json = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]
_Id = Annotated[str, typer.Argument(metavar="ID", help="Job id, as shown by `jobs list`.")]


@app.command("list")
def list_jobs(
    state: Annotated[
        list[str] | None,
        typer.Option(help="waiting, running, done, dead or shed (repeatable)."),
    ] = None,
    user: Annotated[str | None, typer.Option(help="Only this user's jobs.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Maximum results.")] = 50,
    as_json: _Json = False,
) -> None:
    """List jobs, newest first."""
    from acc_ace.cli.jobs import list_jobs as run  # noqa: PLC0415 — keeps --help quick

    run(states=state or (), user=user, limit=limit, as_json=as_json)


@app.command("show")
def show(job: _Id, as_json: _Json = False) -> None:
    """Show a job and the error of each failed attempt."""
    from acc_ace.cli.jobs import show_job as run  # noqa: PLC0415 — keeps --help quick

    run(job, as_json=as_json)


@app.command("retry")
def retry(
    job: Annotated[
        str | None, typer.Argument(metavar="ID", help="Failed (dead) or dropped (shed) job.")
    ] = None,
    all_dead: Annotated[bool, typer.Option("--all-dead", help="Retry all dead jobs.")] = False,
    as_json: _Json = False,
) -> None:
    """Retry a failed or dropped job."""
    from acc_ace.cli.jobs import retry_jobs as run  # noqa: PLC0415 — keeps --help quick

    run(job, all_dead=all_dead, as_json=as_json)


@app.command("drop")
def drop(job: _Id) -> None:
    """Delete a job that is not running. If it was not done, its turn is never learned from."""
    from acc_ace.cli.jobs import drop_job as run  # noqa: PLC0415 — keeps --help quick

    run(job)

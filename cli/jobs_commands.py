"""`acc-ace jobs …`: the commands and their options."""

from typing import Annotated

import typer

app = typer.Typer(help="What is learned in the background, job by job.", no_args_is_help=True)

_Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, nothing else.")]
_Id = Annotated[str, typer.Argument(metavar="ID", help="Id of the job, from `jobs list`.")]


@app.command("list")
def list_jobs(
    state: Annotated[
        list[str] | None,
        typer.Option(help="waiting, running, done, dead or shed; may be given more than once."),
    ] = None,
    user: Annotated[str | None, typer.Option(help="Of this user only.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="At most so many.")] = 50,
    as_json: _Json = False,
) -> None:
    """List jobs, newest first."""
    from cli.jobs import list_jobs as run  # noqa: PLC0415 — keeps --help quick

    run(states=state or (), user=user, limit=limit, as_json=as_json)


@app.command("show")
def show(job: _Id, as_json: _Json = False) -> None:
    """Show a job and what its tries failed with."""
    from cli.jobs import show_job as run  # noqa: PLC0415 — keeps --help quick

    run(job, as_json=as_json)


@app.command("retry")
def retry(
    job: Annotated[str | None, typer.Argument(metavar="ID", help="A dead or shed job.")] = None,
    all_dead: Annotated[bool, typer.Option("--all-dead", help="All dead ones.")] = False,
    as_json: _Json = False,
) -> None:
    """Let a dead or shed job be done again."""
    from cli.jobs import retry_jobs as run  # noqa: PLC0415 — keeps --help quick

    run(job, all_dead=all_dead, as_json=as_json)


@app.command("drop")
def drop(job: _Id) -> None:
    """Forget a job that is not running. Unless it is done, its turn is not learned from."""
    from cli.jobs import drop_job as run  # noqa: PLC0415 — keeps --help quick

    run(job)

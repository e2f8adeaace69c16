"""Commands that change the playbook: apply, pin, edit, restore, roll back, refine, import."""

import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from acc_ace.cli.options import APP_NAME, App
from acc_ace.cli.output import ExitCode, json_line, line_console, stdout_console
from acc_ace.cli.playbook.playbook_tables import edit_view, import_view, steps_view
from acc_ace.cli.playbook.playbook_target import (
    BulletId,
    Json,
    PlaybookTarget,
    User,
    with_playbook,
)
from acc_ace.config import load_settings
from acc_ace.core.playbook.manual_edit import MOST_CHARACTERS as MOST_BATCH_CHARACTERS
from acc_ace.core.playbook.manual_edit import read_batch
from acc_ace.core.playbook.playbook_form import MOST_CHARACTERS, Form
from acc_ace.core.playbook.playbook_service import PlaybookEdit, PlaybookService
from acc_ace.core.playbook.refine.refinement import PlaybookRefiner, Refinement
from acc_ace.errors import AccAceError, InputError
from acc_ace.hooks import PLAYBOOK_FILES, only

app = typer.Typer(rich_markup_mode=None)

Change = Callable[[PlaybookService, str], Awaitable[PlaybookEdit]]

STDIN = "-"
MOST_LINE = MOST_BATCH_CHARACTERS + 2


@app.command()
def apply(
    source: Annotated[
        str, typer.Argument(metavar="FILE.jsonl|-", help="One DeltaBatch per line; - for stdin.")
    ],
    *,
    app_name: App = APP_NAME,
    user: User = None,
) -> None:
    """Apply delta batches from a file. Each passes the Curator's checks."""

    async def work(service: PlaybookService) -> bool:
        succeeded = True
        with _opened(source) as file:
            for number, line in _lines(file):
                try:
                    done = (await service.apply(read_batch(line))).to_line()
                except AccAceError as error:
                    # The following lines are still applied.
                    succeeded = False
                    done = _failed(number, error)
                print(json_line(done), flush=True)
        return succeeded

    succeeded = with_playbook(PlaybookTarget(user, app=app_name), work)
    raise typer.Exit(ExitCode.OK if succeeded else ExitCode.BAD_INPUT)


def _command(name: str, means: str, change: Change, note: str) -> None:
    """Add a command that changes a bullet by its id alone."""

    @app.command(name, help=means)
    def command(
        bullet: BulletId, *, app_name: App = APP_NAME, user: User = None, as_json: Json = False
    ) -> None:
        target = PlaybookTarget(user, app=app_name)
        done = with_playbook(target, lambda service: change(service, bullet))
        report(done, as_json=as_json, note=f"{bullet} {note}")


_command(
    "pin",
    "Protect a bullet from automatic changes.",
    lambda service, bullet: service.pin(bullet, pinned=True),
    "is pinned: protected from automatic changes",
)
_command(
    "unpin",
    "Allow automatic changes to a bullet again.",
    lambda service, bullet: service.pin(bullet, pinned=False),
    "is not pinned",
)
_command(
    "restore",
    "Restore an archived, removed or merged bullet.",
    PlaybookService.restore,
    "was restored",
)


@app.command()
def edit(
    bullet: BulletId,
    *,
    content: Annotated[str | None, typer.Option(help="New text, on one line.")] = None,
    section: Annotated[str | None, typer.Option(help="New section.")] = None,
    app_name: App = APP_NAME,
    user: User = None,
    as_json: Json = False,
) -> None:
    """Reword a bullet or move it to another section."""
    if content is None and section is None:
        raise InputError("give --content TEXT, --section NAME, or both")
    done = with_playbook(
        PlaybookTarget(user, app=app_name),
        lambda service: service.edit(bullet, content=content, section=section),
    )
    after = done.stored.playbook.get(bullet)
    text = "" if after is None else f"[{after.id}] {after.section}: {after.content}"
    report(done, as_json=as_json, note=text)


@app.command()
def rollback(
    version: Annotated[int, typer.Argument(metavar="VERSION", min=0, help="Version to restore.")],
    *,
    app_name: App = APP_NAME,
    user: User = None,
    as_json: Json = False,
) -> None:
    """Restore the content of an earlier version, as a new version."""
    done = with_playbook(
        PlaybookTarget(user, app=app_name), lambda service: service.rollback(version)
    )
    report(done, as_json=as_json, note=f"restored the content of version {version}")


@app.command()
def refine(
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change without changing it.")
    ] = False,
    app_name: App = APP_NAME,
    user: User = None,
    as_json: Json = False,
) -> None:
    """Merge duplicates, archive stale and harmful bullets, and enforce budgets."""
    settings = load_settings()

    async def work(service: PlaybookService) -> Refinement:
        refinery = PlaybookRefiner(service.store, interval=0, stale_days=settings.stale_days)
        return await refinery.refine(service.scope, service.context(), dry_run=dry_run)

    _report_refined(
        with_playbook(PlaybookTarget(user, app=app_name), work),
        dry_run=dry_run,
        as_json=as_json,
    )


@app.command("import")
def import_file(
    source: Annotated[
        str, typer.Argument(metavar="FILE|DIR|-", help="File, folder of skills, or - for stdin.")
    ],
    *,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            "--form",
            help="markdown, json, jsonl, ace or skill (default: detect).",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would happen; change nothing.")
    ] = False,
    app_name: App = APP_NAME,
    user: User = None,
    as_json: Json = False,
) -> None:
    """Import lessons from a file or a skill; each passes the Curator's checks.

    Says what was taken and what was not, and why. Scripts of a skill are not run nor stored.
    """
    files = only(PLAYBOOK_FILES, "acc-ace playbook import")
    text = sys.stdin.read(MOST_CHARACTERS + 1) if source == STDIN else Path(source)
    reading = files.read(text, _form(form))
    done = with_playbook(
        PlaybookTarget(user, app=app_name),
        lambda service: service.import_bullets(reading, dry_run=dry_run),
    )
    if as_json:
        beside = {"dry_run": dry_run, "left_out": list(reading.left_out)}
        print(json_line({**done.to_line(), **beside}))
    else:
        stdout_console().print(import_view(reading, done, dry_run=dry_run))


def _report_refined(done: Refinement, *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        steps = [step.model_dump(mode="json") for step in done.refined.steps]
        print(
            json_line(
                {
                    "version": done.stored.version,
                    "dry_run": dry_run,
                    "steps": steps,
                    "unmet": list(done.refined.unmet),
                }
            )
        )
        return
    console = line_console()
    console.print(steps_view(done.refined.steps))
    for name in done.refined.unmet:
        console.print(f"over budget, pinned: {name}", style="yellow")
    if not done.refined.steps:
        console.print("nothing to refine")
    elif dry_run:
        console.print("dry run: nothing was changed", style="dim")
    else:
        console.print(f"playbook version {done.stored.version}", style="dim")


def report(done: PlaybookEdit, *, as_json: bool, note: str = "") -> None:
    """Print the result of a change; `said` describes it in words."""
    if as_json:
        print(json_line(done.to_line()))
    else:
        stdout_console().print(edit_view(done, note=note))


def _form(name: str | None) -> Form | None:
    try:
        return None if name is None else Form(name)
    except ValueError as error:
        known = ", ".join(Form)
        raise InputError(f"--format is one of {known}, not {name!r}"[:200]) from error


def _failed(number: int, error: AccAceError) -> dict[str, Any]:
    return {"line": number, "error": {"code": error.code, "message": str(error)}, "results": []}


def _opened(source: str) -> AbstractContextManager[TextIO]:
    """Open a file, or stdin. Raises InputError when it cannot be opened."""
    if source == STDIN:
        return nullcontext(sys.stdin)
    try:
        return open(source, encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}") from error


def _lines(file: TextIO) -> Iterator[tuple[int, str]]:
    """(number, line) of the non-blank lines; one that is too long is truncated."""
    number = 0
    while line := file.readline(MOST_LINE):
        number += 1
        if len(line) == MOST_LINE and not line.endswith("\n"):
            while (rest := file.readline(MOST_LINE)) and not rest.endswith("\n"):
                pass
        if line.strip():
            yield number, line

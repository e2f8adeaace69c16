"""Read-only playbook commands: show, search, diff, history, why, stats, export."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from acc_ace.cli.options import APP_NAME, App
from acc_ace.cli.output import (
    create_private_file,
    json_line,
    line_console,
    named_values,
    print_items,
    stdout_console,
)
from acc_ace.cli.playbook.playbook_tables import (
    diff_view,
    hits_view,
    records_view,
    story_view,
    versions_view,
)
from acc_ace.cli.playbook.playbook_target import (
    BulletId,
    Json,
    PlaybookTarget,
    User,
    other_apps,
    scope_of,
    with_playbook,
)
from acc_ace.cli.slash_commands import playbook_view
from acc_ace.config import load_settings
from acc_ace.core.playbook.curation.curation_record import ROOM_REASONS
from acc_ace.core.playbook.playbook_form import Form
from acc_ace.core.playbook.playbook_service import PAGE, PlaybookService
from acc_ace.core.playbook.playbook_size import content_stats
from acc_ace.core.schemas.playbook import DeltaRecord, StoredPlaybook
from acc_ace.errors import InputError
from acc_ace.hooks import PLAYBOOK_FILES, only
from acc_ace.storage.playbooks.export_folders import FOLDER, count_files

app = typer.Typer(rich_markup_mode=None)

_Limit = Annotated[int, typer.Option(min=1, max=1_000, help="Maximum results.")]


@app.command()
def show(
    *,
    version: Annotated[int | None, typer.Option(min=0, help="Show an earlier version.")] = None,
    app_name: App = APP_NAME,
    user: User = None,
    as_json: Json = False,
) -> None:
    """Show the playbook."""
    stored = with_playbook(
        PlaybookTarget(user, app_name),
        lambda service: service.store.load(service.scope, version=version),
    )
    if as_json:
        print(json_line(stored.model_dump(mode="json")))
    else:
        stdout_console().print(playbook_view(stored))
        if not stored.playbook.bullets and (others := other_apps(app_name)):
            stdout_console().print(f"other apps here: {', '.join(others)} (--app NAME)")


@app.command()
def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Words or a bullet id.")],
    *,
    limit: _Limit = 10,
    app_name: App = APP_NAME,
    user: User = None,
    as_json: Json = False,
) -> None:
    """Search the bullets."""
    hits = with_playbook(
        PlaybookTarget(user, app_name), lambda service: service.search(text, limit=limit)
    )
    print_items(hits, hits_view, as_json=as_json)


@app.command()
def diff(
    first: Annotated[int, typer.Argument(metavar="A", min=0, help="The earlier version.")],
    second: Annotated[
        int | None,
        typer.Argument(metavar="[B]", min=0, help="The later version (default: current)."),
    ] = None,
    *,
    app_name: App = APP_NAME,
    user: User = None,
    as_json: Json = False,
) -> None:
    """Show what changed between two versions."""

    async def work(service: PlaybookService) -> tuple[int, list[str], str]:
        last = second
        if last is None:
            last = (await service.store.load(service.scope)).version
        difference = await service.diff(first, last)
        document = {"from": first, "to": last, **difference.model_dump(mode="json")}
        return last, difference.lines(), json_line(document)

    last, lines, line = with_playbook(PlaybookTarget(user, app_name), work)
    if as_json:
        print(line)
    else:
        line_console().print(diff_view(lines, first, last))


@app.command()
def history(
    *,
    limit: _Limit = 20,
    operations: Annotated[
        bool,
        typer.Option("--operations", help="List every operation, including those not applied."),
    ] = False,
    app_name: App = APP_NAME,
    user: User = None,
    as_json: Json = False,
) -> None:
    """List the versions, newest first."""
    place = PlaybookTarget(user, app_name)
    if operations:
        records = with_playbook(
            place, lambda service: service.store.deltas(service.scope, limit=limit)
        )
        print_items(records, records_view, as_json=as_json)
    else:
        rows = with_playbook(
            place, lambda service: service.store.versions(service.scope, limit=limit)
        )
        print_items(rows, versions_view, as_json=as_json)


@app.command()
def why(
    bullet: BulletId,
    *,
    app_name: App = APP_NAME,
    user: User = None,
    as_json: Json = False,
) -> None:
    """Show a bullet's origin and history."""
    story = with_playbook(PlaybookTarget(user, app_name), lambda service: service.story(bullet))
    if not as_json:
        stdout_console().print(story_view(story))
        return
    live = story.live.model_dump(mode="json") if story.live else None
    print(
        json_line(
            {
                "bullet_id": story.bullet_id,
                "live": live,
                "complete": story.complete,
                "records": [record.model_dump(mode="json") for record in story.records],
            }
        )
    )


@app.command()
def stats(*, app_name: App = APP_NAME, user: User = None, as_json: Json = False) -> None:
    """Show counts of bullets by section, tags, files and pending changes, and sizes."""
    settings, target = load_settings(), PlaybookTarget(user, app_name)

    async def work(service: PlaybookService) -> tuple[StoredPlaybook, int, Sequence[DeltaRecord]]:
        stored = await service.store.load(service.scope)
        held = await service.held(limit=PAGE)
        return stored, len(held), await service.store.archived(service.scope, limit=PAGE)

    stored, held, records = with_playbook(target, work)
    playbook, limits, archived = stored.playbook, settings.limits, len(records)
    left = sum(record.reason in ROOM_REASONS for record in records)
    numbers = {
        "version": stored.version,
        "digest": stored.digest,
        "files": count_files(settings.data_dir / FOLDER, scope_of(target, settings)),
        **playbook.stats(),
        **content_stats(playbook),
        "pinned": sum(bullet.pinned for bullet in playbook.bullets),
        "never_tagged": sum(
            not bullet.helpful + bullet.harmful + bullet.neutral for bullet in playbook.bullets
        ),
        "most_bullets": limits.playbook_bullets,
        "most_tokens": limits.playbook_tokens,
        "held": held,
        "archived": archived,
        "made_room": left,
    }
    if as_json:
        print(json_line(numbers))
        return
    full = {"held": held, "archived": archived, "made_room": left}
    stdout_console().print(
        named_values(
            (name.replace("_", " "), Text(f"{value}{'+' if full.get(name, 0) >= PAGE else ''}"))
            for name, value in numbers.items()
        )
    )


@app.command()
def export(
    *,
    form: Annotated[
        str,
        typer.Option("--format", "--form", help="Format: markdown, json, jsonl, ace or skill."),
    ] = "markdown",
    section: Annotated[str | None, typer.Option(help="Only this section.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="New file, or folder of skills, to write (default: stdout)."),
    ] = None,
    app_name: App = APP_NAME,
    user: User = None,
) -> None:
    """Export the playbook. Markdown, JSON and JSONL can be imported without loss.

    As skills, each section becomes a folder with a SKILL.md, which agents load when they need it.
    """
    if form not in set(Form):
        raise InputError(f"--format is one of {', '.join(Form)}, not {form[:40]!r}")
    stored = with_playbook(
        PlaybookTarget(user, app_name), lambda service: service.store.load(service.scope)
    )
    exporter = only(PLAYBOOK_FILES, "acc-ace playbook export")
    texts = exporter.write(stored.playbook, Form(form), section)
    if out is None:
        sys.stdout.write("\n".join(texts.values()))
        return
    for name, text in texts.items():
        with create_private_file(_place(out, name, form)) as file:
            file.write(text)
    count = sum(section in {None, bullet.section} for bullet in stored.playbook.bullets)
    stdout_console().print(f"{count} bullets of version {stored.version} written to {out}")


def _place(out: Path, name: str, form: str) -> Path:
    """Where a file of an export goes; the folder of a skill is made. Raises InputError."""
    if form != Form.SKILL:
        return out
    try:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {out} cannot be written: {error.strerror}") from error
    return out / name

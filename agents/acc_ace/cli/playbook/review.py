"""`acc-ace playbook review`: apply or dismiss held operations one by one."""

import asyncio
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console, Group, RenderableType
from rich.text import Text

from acc_ace.cli.options import APP_NAME, App
from acc_ace.cli.output import print_items, stdout_console
from acc_ace.cli.playbook.change_commands import report
from acc_ace.cli.playbook.playbook_tables import edit_view, held_view
from acc_ace.cli.playbook.playbook_target import Json, PlaybookTarget, User, with_playbook
from acc_ace.core.playbook.bullet_lookup import contradicted
from acc_ace.core.playbook.playbook_service import PAGE, PlaybookService
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook
from acc_ace.errors import ConflictError, InputError, NotFoundError

_KEYS = "[a]pply, [d]ismiss, [s]kip, [q]uit? "


app = typer.Typer(rich_markup_mode=None)


@app.command()
def review(
    *,
    list_only: Annotated[
        bool, typer.Option("--list", help="List pending changes and exit.")
    ] = False,
    apply_one: Annotated[
        int | None, typer.Option("--apply", metavar="NUMBER", min=1, help="Apply this change.")
    ] = None,
    dismiss_one: Annotated[
        int | None, typer.Option("--dismiss", metavar="NUMBER", min=1, help="Dismiss this change.")
    ] = None,
    app_name: App = APP_NAME,
    user: User = None,
    as_json: Json = False,
) -> None:
    """Review pending changes interactively."""
    place = PlaybookTarget(user, app=app_name)
    if apply_one is not None:
        done = with_playbook(place, lambda service: service.approve(apply_one))
        report(done, as_json=as_json)
    elif dismiss_one is not None:
        done = with_playbook(place, lambda service: service.dismiss(dismiss_one))
        report(done, as_json=as_json, note=f"#{dismiss_one} was dismissed")
    elif list_only or as_json:
        _list_held(place, as_json=as_json)
    elif sys.stdin.isatty():
        with_playbook(place, _walk)
    else:
        raise InputError(
            "a review needs a terminal; without one, use --list, --apply NUMBER or --dismiss NUMBER"
        )


def _list_held(place: PlaybookTarget, *, as_json: bool) -> None:
    async def work(service: PlaybookService) -> tuple[Sequence[DeltaRecord], Playbook]:
        return await service.held(), (await service.store.load(service.scope)).playbook

    def view(records: Sequence[DeltaRecord]) -> RenderableType:
        against = contradicted(playbook, records)
        shown = (held_view(record, against.get(record.seq, ())) for record in records)
        return Group(*(part for block in shown for part in (block, Text())), _counted(records))

    records, playbook = with_playbook(place, work)
    print_items(records, view, as_json=as_json)


async def _walk(service: PlaybookService) -> None:
    console = stdout_console()
    records = list(reversed(await service.held(limit=PAGE)))
    if not records:
        console.print("nothing is pending review")
        return
    for at, record in enumerate(records, start=1):
        console.print(f"{at} of {len(records)}", style="dim")
        playbook = (await service.store.load(service.scope)).playbook
        against = contradicted(playbook, (record,)).get(record.seq, ())
        console.print(held_view(record, against))
        if not await _decided(service, record, console):
            return
        console.print()
    console.print(_counted(await service.held(limit=PAGE)))


async def _decided(service: PlaybookService, record: DeltaRecord, console: Console) -> bool:
    """Ask until the operation is decided or skipped; False to quit."""
    while True:
        try:
            key = (await asyncio.to_thread(input, _KEYS)).strip().lower()[:1]
        except EOFError:
            return False
        if key == "q":
            return False
        if key == "s":
            return True
        if key not in {"a", "d"}:
            continue
        decide = service.approve if key == "a" else service.dismiss
        note = f"#{record.seq} was dismissed" if key == "d" else ""
        try:
            console.print(edit_view(await decide(record.seq), note=note))
        except (InputError, NotFoundError, ConflictError) as error:
            console.print(str(error), style="yellow")
            if isinstance(error, InputError):
                continue
        return True


def _counted(records: Sequence[DeltaRecord]) -> str:
    count = len(records)
    if not count:
        return "nothing is pending review"
    return f"{count}{'+' if count >= PAGE else ''} pending review"

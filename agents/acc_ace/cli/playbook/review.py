"""`acc-ace playbook review`: decide what was held, one after the other."""

import asyncio
import sys
from collections.abc import Sequence

from rich.console import Console

from acc_ace.cli.output import json_line, stdout_console
from acc_ace.cli.playbook.change_commands import tell
from acc_ace.cli.playbook.playbook_tables import governed_view, held_view
from acc_ace.cli.playbook.read_commands import Place, govern
from acc_ace.errors import ConflictError, InputError, NotFoundError
from acc_ace.playbook.lesson_index import contradicted
from acc_ace.playbook.playbook_service import PAGE, PlaybookGovernor
from acc_ace.schemas.playbook import DeltaRecord, Playbook

_KEYS = "[a]pply, [d]ismiss, [s]kip, [q]uit? "


def list_held(place: Place, *, as_json: bool) -> None:
    """Print what waits for a decision, newest first."""

    async def work(governor: PlaybookGovernor) -> tuple[Sequence[DeltaRecord], Playbook]:
        return await governor.held(), (await governor.store.load(governor.scope)).playbook

    records, playbook = govern(place, work)
    if as_json:
        for record in records:
            print(json_line(record.model_dump(mode="json")))
        return
    console = stdout_console()
    against = contradicted(playbook, records)
    for record in records:
        console.print(held_view(record, against.get(record.seq, ())))
        console.print()
    console.print(_counted(records))


def approve(place: Place, seq: int, *, as_json: bool) -> None:
    """Apply a held operation."""
    tell(govern(place, lambda governor: governor.approve(seq)), as_json=as_json)


def dismiss(place: Place, seq: int, *, as_json: bool) -> None:
    """Turn a held operation down."""
    done = govern(place, lambda governor: governor.dismiss(seq))
    tell(done, as_json=as_json, said=f"#{seq} was dismissed")


def review(place: Place) -> None:
    """Walk through what is held, oldest first, and ask for each.

    Raises InputError when there is nobody to ask.
    """
    if not sys.stdin.isatty():
        raise InputError(
            "a review needs a terminal; without one, use --list, --apply NUMBER or --dismiss NUMBER"
        )
    govern(place, _walk)


async def _walk(governor: PlaybookGovernor) -> None:
    console = stdout_console()
    records = list(reversed(await governor.held(limit=PAGE)))
    if not records:
        console.print("nothing is pending review")
        return
    for at, record in enumerate(records, start=1):
        console.print(f"{at} of {len(records)}", style="dim")
        playbook = (await governor.store.load(governor.scope)).playbook
        against = contradicted(playbook, (record,)).get(record.seq, ())
        console.print(held_view(record, against))
        if not await _decided(governor, record, console):
            return
        console.print()
    console.print(_counted(await governor.held(limit=PAGE)))


async def _decided(governor: PlaybookGovernor, record: DeltaRecord, console: Console) -> bool:
    """Ask until there is an answer; False to stop."""
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
        decide = governor.approve if key == "a" else governor.dismiss
        said = f"#{record.seq} was dismissed" if key == "d" else ""
        try:
            console.print(governed_view(await decide(record.seq), said=said))
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

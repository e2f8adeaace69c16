"""Commands that change the playbook: apply, pin, edit, roll back, refine, import, branch."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TextIO

from acc_ace.cli.output import json_line, line_console, stdout_console
from acc_ace.cli.playbook.playbook_tables import branches_view, governed_view, steps_view
from acc_ace.cli.playbook.read_commands import Place, govern
from acc_ace.config import load_settings
from acc_ace.errors import AccAceError, InputError
from acc_ace.playbook.formats.file_form import MOST_CHARACTERS, Form
from acc_ace.playbook.formats.playbook_file import read
from acc_ace.playbook.manual_edit import MOST_CHARACTERS as MOST_BATCH_CHARACTERS
from acc_ace.playbook.manual_edit import read_batch
from acc_ace.playbook.playbook_service import Governed, PlaybookGovernor
from acc_ace.playbook.refine.refinement import Refinement, Refinery
from acc_ace.schemas.playbook import StoredPlaybook

STDIN = "-"
MOST_LINE = MOST_BATCH_CHARACTERS + 2


def apply(place: Place, source: str) -> bool:
    """Apply a DeltaBatch a line; one JSON result a line. Whether all lines could be read.

    A line that is none, or that the store refuses, gives a line with an error; the next ones
    are applied all the same. Raises InputError when the file cannot be read.
    """

    async def work(governor: PlaybookGovernor) -> bool:
        well = True
        with _opened(source) as file:
            for number, line in _lines(file):
                try:
                    done = (await governor.apply(read_batch(line))).to_line()
                except AccAceError as error:
                    well = False
                    done = _failed(number, error)
                print(json_line(done), flush=True)
        return well

    return govern(place, work)


def pin(place: Place, bullet_id: str, *, pinned: bool, as_json: bool) -> None:
    """Pin or unpin a bullet."""
    done = govern(place, lambda governor: governor.pin(bullet_id, pinned=pinned))
    state = "pinned: protected from automatic changes" if pinned else "not pinned"
    tell(done, as_json=as_json, said=f"{bullet_id} is {state}")


def edit(
    place: Place, bullet_id: str, *, content: str | None, section: str | None, as_json: bool
) -> None:
    """Reword or move a bullet. Raises InputError when nothing is to change."""
    if content is None and section is None:
        raise InputError("give --content TEXT, --section NAME, or both")
    done = govern(
        place, lambda governor: governor.edit(bullet_id, content=content, section=section)
    )
    after = done.stored.playbook.get(bullet_id)
    said = "" if after is None else f"[{after.id}] {after.section}: {after.content}"
    tell(done, as_json=as_json, said=said)


def restore(place: Place, bullet_id: str, *, as_json: bool) -> None:
    """Bring back a bullet that left."""
    done = govern(place, lambda governor: governor.restore(bullet_id))
    tell(done, as_json=as_json, said=f"{bullet_id} was restored")


def rollback(place: Place, version: int, *, as_json: bool) -> None:
    """Go back to the content of a version."""
    done = govern(place, lambda governor: governor.rollback(version))
    tell(done, as_json=as_json, said=f"restored the content of version {version}")


def import_file(place: Place, source: str, *, form: str | None, as_json: bool) -> None:
    """Take in the lessons of a file; nothing is changed when it cannot be read whole."""
    incoming = read(_text(source), _form(form))
    done = govern(place, lambda governor: governor.take_in(incoming))
    tell(done, as_json=as_json)


def refine(place: Place, *, dry_run: bool, as_json: bool) -> None:
    """Merge duplicates, archive what is stale or harmful, keep the budgets."""

    settings = load_settings()

    async def work(governor: PlaybookGovernor) -> Refinement:
        refinery = Refinery(governor.store, interval=0, stale_days=settings.stale_days)
        return await refinery.refine(governor.scope, governor.context(), dry_run=dry_run)

    done = govern(place, work)
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


def tell(done: Governed, *, as_json: bool, said: str = "") -> None:
    """Print how a change ended; `said` is what it did, in words."""
    if as_json:
        print(json_line(done.to_line()))
    else:
        stdout_console().print(governed_view(done, said=said))


def _form(name: str | None) -> Form | None:
    try:
        return None if name is None else Form(name)
    except ValueError as error:
        known = ", ".join(Form)
        raise InputError(f"--format is one of {known}, not {name!r}"[:200]) from error


def _failed(number: int, error: AccAceError) -> dict[str, Any]:
    return {"line": number, "error": {"code": error.code, "message": str(error)}, "results": []}


def _opened(source: str) -> AbstractContextManager[TextIO]:
    """The lines of a file, or of stdin. Raises InputError when it cannot be opened."""
    if source == STDIN:
        return nullcontext(sys.stdin)
    try:
        return open(source, encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}") from error


def _lines(file: TextIO) -> Iterator[tuple[int, str]]:
    """(number, line) of the lines that say something; one that is too long comes cut."""
    number = 0
    while line := file.readline(MOST_LINE):
        number += 1
        if len(line) == MOST_LINE and not line.endswith("\n"):
            while (rest := file.readline(MOST_LINE)) and not rest.endswith("\n"):
                pass
        if line.strip():
            yield number, line


def _text(source: str) -> str:
    """A whole file. Raises InputError when it cannot be read, is too large or is no UTF-8."""
    try:
        if source == STDIN:
            return sys.stdin.read(MOST_CHARACTERS + 1)
        path = Path(source)
        if path.stat().st_size > 4 * MOST_CHARACTERS:
            raise InputError(f"{source} is too large for a playbook")
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{source} is not UTF-8 text: byte {error.start}") from error


def list_branches(place: Place, *, as_json: bool) -> None:
    """Print the branches besides the main one."""
    branches = govern(place, lambda governor: governor.store.branches(governor.scope))
    if as_json:
        for branch in branches:
            print(json_line(branch.model_dump(mode="json")))
    else:
        stdout_console().print(branches_view(branches))


def create(place: Place, name: str, *, version: int | None, as_json: bool) -> None:
    """Begin a branch with a version of the playbook of `place`."""

    async def work(governor: PlaybookGovernor) -> StoredPlaybook:
        return await governor.store.fork(governor.scope, name, by=governor.author, version=version)

    _tell(govern(place, work), f"branch {name} begins", as_json=as_json)


def promote(place: Place, *, expected_version: int | None, as_json: bool) -> None:
    """Make the bullets of the branch of `place` those of the main playbook."""
    _required(place)

    async def work(governor: PlaybookGovernor) -> StoredPlaybook:
        return await governor.store.promote(
            governor.scope, by=governor.author, expected_version=expected_version
        )

    _tell(govern(place, work), f"branch {place.branch} is now the main playbook", as_json=as_json)


def drop(place: Place, *, as_json: bool) -> None:
    """Delete the branch of `place` with its log."""
    _required(place)

    async def work(governor: PlaybookGovernor) -> None:
        await governor.store.load(governor.scope)
        await governor.store.drop(governor.scope)

    govern(place, work)
    if as_json:
        print(json_line({"dropped": place.branch}))
    else:
        stdout_console().print(f"branch {place.branch} was deleted")


def _tell(stored: StoredPlaybook, said: str, *, as_json: bool) -> None:
    count = len(stored.playbook.bullets)
    if as_json:
        print(json_line({"version": stored.version, "digest": stored.digest, "bullets": count}))
    else:
        stdout_console().print(f"{said}: version {stored.version}, {count} bullets")


def _required(place: Place) -> None:
    if not place.branch:
        raise InputError("give a branch name")

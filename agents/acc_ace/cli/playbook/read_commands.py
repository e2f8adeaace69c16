"""Commands that only read a playbook: show, search, diff, history, why, stats, export."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from acc_ace.cli.chat import DEFAULT_USER
from acc_ace.cli.chat_command import APP_NAME, checked_name
from acc_ace.cli.output import json_line, line_console, stdout_console, writing
from acc_ace.cli.playbook.playbook_tables import (
    diff_view,
    hits_view,
    records_view,
    stats_view,
    story_view,
    versions_view,
)
from acc_ace.cli.slash_commands import playbook_view
from acc_ace.clock import SystemClock
from acc_ace.config import Settings, load_settings
from acc_ace.errors import InputError
from acc_ace.playbook.formats.file_form import Form
from acc_ace.playbook.formats.playbook_file import WRITABLE, write
from acc_ace.playbook.playbook_merge import MAIN, check_branch_name
from acc_ace.playbook.playbook_service import PAGE, PlaybookGovernor
from acc_ace.schemas.base import PlaybookScope
from acc_ace.schemas.playbook import StoredPlaybook
from acc_ace.storage.create_stores import open_stores
from acc_ace.text.tokens import estimate_tokens


class Place(NamedTuple):
    """A user's own playbook or, without a user, the one that chats use; and its branch."""

    user: str | None = None
    branch: str | None = None


T = TypeVar("T")


def scope_of(place: Place, settings: Settings) -> PlaybookScope:
    """The scope of a place. Raises InputError for names that are none."""
    user = place.user
    if user is None and settings.playbook_scope == "user":
        user = DEFAULT_USER
    branch = place.branch or ""
    if branch == MAIN:
        branch = ""
    if branch:
        check_branch_name(branch)
    return PlaybookScope(APP_NAME, None if user is None else checked_name(user, "--user"), branch)


def govern(place: Place, work: Callable[[PlaybookGovernor], Awaitable[T]]) -> T:
    """Do something with a playbook. Only the stores are opened, so it is quick.

    Raises ConfigError, InputError for names that are none, StoreError and what `work` raises.
    """
    settings = load_settings()
    scope = scope_of(place, settings)
    clock = SystemClock()

    async def run() -> T:
        stores = open_stores(settings, clock)
        governor = PlaybookGovernor(
            stores.playbooks,
            scope,
            person=scope.user or DEFAULT_USER,
            limits=settings.limits,
            clock=clock,
        )
        try:
            return await work(governor)
        finally:
            await stores.close()

    return asyncio.run(run())


def show(place: Place, *, version: int | None, as_json: bool) -> None:
    """Print a version of the playbook, the current one by default."""
    stored = govern(place, lambda governor: governor.store.load(governor.scope, version=version))
    if as_json:
        print(json_line(stored.model_dump(mode="json")))
    else:
        stdout_console().print(playbook_view(stored))


def search(place: Place, text: str, *, limit: int, as_json: bool) -> None:
    """Print the bullets that fit a text best."""
    hits = govern(place, lambda governor: governor.search(text, limit=limit))
    if as_json:
        for hit in hits:
            print(json_line(hit.model_dump(mode="json")))
    else:
        stdout_console().print(hits_view(hits))


def diff(place: Place, first: int, second: int | None, *, as_json: bool) -> None:
    """Print what changed between two versions; the current one stands for a missing second."""

    async def work(governor: PlaybookGovernor) -> tuple[int, list[str], str]:
        last = second
        if last is None:
            last = (await governor.store.load(governor.scope)).version
        found = await governor.diff(first, last)
        document = {"from": first, "to": last, **found.model_dump(mode="json")}
        return last, found.lines(), json_line(document)

    last, lines, line = govern(place, work)
    if as_json:
        print(line)
    else:
        line_console().print(diff_view(lines, first, last))


def history(place: Place, *, limit: int, operations: bool, as_json: bool) -> None:
    """Print the versions, or every operation of the log, newest first."""
    if operations:
        records = govern(place, lambda governor: governor.store.deltas(governor.scope, limit=limit))
        if as_json:
            for record in records:
                print(json_line(record.model_dump(mode="json")))
        else:
            stdout_console().print(records_view(records))
        return
    versions = govern(place, lambda governor: governor.store.versions(governor.scope, limit=limit))
    if as_json:
        for version in versions:
            print(json_line(version.model_dump(mode="json")))
    else:
        stdout_console().print(versions_view(versions))


def why(place: Place, bullet_id: str, *, as_json: bool) -> None:
    """Print where a bullet comes from and what became of it."""
    story = govern(place, lambda governor: governor.story(bullet_id))
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


def stats(place: Place, *, as_json: bool) -> None:
    """Print how large the playbook is and how its bullets do."""

    async def work(governor: PlaybookGovernor) -> tuple[StoredPlaybook, int, int]:
        stored = await governor.store.load(governor.scope)
        held = await governor.held(limit=PAGE)
        archived = await governor.store.archived(governor.scope, limit=PAGE)
        return stored, len(held), len(archived)

    stored, held, archived = govern(place, work)
    playbook = stored.playbook
    found = {
        "version": stored.version,
        "digest": stored.digest,
        **playbook.stats(),
        "pinned": sum(bullet.pinned for bullet in playbook.bullets),
        "never_tagged": sum(
            not bullet.helpful + bullet.harmful + bullet.neutral for bullet in playbook.bullets
        ),
        "tokens": estimate_tokens(playbook.as_prompt()),
        "held": held,
        "archived": archived,
    }
    if as_json:
        print(json_line(found))
        return
    full = {"held": held, "archived": archived}
    stdout_console().print(
        stats_view(
            (name.replace("_", " "), f"{value}{'+' if full.get(name, 0) >= PAGE else ''}")
            for name, value in found.items()
        )
    )


def export(place: Place, form: str, out: Path | None) -> None:
    """Write the playbook as a file, or to stdout. An existing file is not overwritten.

    Raises InputError for an unknown form or a file that cannot be written.
    """
    if form not in WRITABLE:
        raise InputError(f"--format is one of {', '.join(WRITABLE)}, not {form[:40]!r}")
    stored = govern(place, lambda governor: governor.store.load(governor.scope))
    text = write(stored.playbook, Form(form))
    if out is None:
        sys.stdout.write(text)
        return
    with writing(out) as file:
        file.write(text)
    count = len(stored.playbook.bullets)
    stdout_console().print(f"{count} bullets of version {stored.version} written to {out}")

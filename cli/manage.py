"""`acc-ace memory erase` and `export`."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TextIO

from cli.chat_command import APP_NAME, checked_name
from cli.new_file import writing
from cli.opening import open_app
from cli.output import stdout_console
from cli.prompt import history_path
from cli.streams import json_line
from cli.turn_api import TurnApi
from config import Settings, load_settings
from core.errors import InputError
from schemas.tenancy import Tenant


def erase_user(user: str, *, yes: bool, as_json: bool) -> None:
    """Delete everything of a user, after a confirmation unless `yes`.

    Raises InputError when there is nobody to ask, StoreError when a store cannot be written.
    """
    tenant = Tenant(APP_NAME, checked_name(user, "--user"))
    if not yes and not _confirmed(user):
        stdout_console().print("nothing was deleted")
        return
    settings = load_settings()
    with asyncio.Runner() as runner, _turns(settings, runner) as turns:
        erased = runner.run(turns.erase(tenant))
    history = history_path(settings.data_dir, user)
    lines = {"history_files": int(history.exists())}
    history.unlink(missing_ok=True)
    _tell({**erased, **lines}, user, as_json=as_json)


def export_user(user: str, out: Path | None) -> None:
    """Write all that is held about a user as JSON lines, to stdout or to a new file.

    Raises InputError when the file cannot be written or exists, StoreError when a store cannot
    be read; the file is then incomplete and lacks the last record, `end`.
    """
    tenant = Tenant(APP_NAME, checked_name(user, "--user"))
    with _target(out) as file, asyncio.Runner() as runner, _turns(load_settings(), runner) as turns:
        count = runner.run(_write(turns.export(tenant), file))
    if out is not None:
        stdout_console().print(f"{count} records about user {user} written to {out}")


async def _write(records: AsyncIterator[dict[str, Any]], file: TextIO) -> int:
    count = 0
    async for record in records:
        print(json_line(record), file=file)
        count += 1
    return count


def _target(out: Path | None) -> AbstractContextManager[TextIO]:
    return nullcontext(sys.stdout) if out is None else writing(out)


def _tell(erased: dict[str, int], user: str, *, as_json: bool) -> None:
    if as_json:
        print(json_line({"user": user, "erased": erased}))
        return
    counts = ", ".join(f"{name} {count}" for name, count in erased.items() if count)
    stdout_console().print(f"erased of user {user}: {counts or 'nothing was stored'}")


def _confirmed(user: str) -> bool:
    if not sys.stdin.isatty():
        raise InputError("erasing asks for a confirmation; give --yes when there is no terminal")
    return input(f"Delete everything stored about user {user}? [y/N] ").strip().lower() == "y"


@contextmanager
def _turns(settings: Settings, runner: asyncio.Runner) -> Iterator[TurnApi]:
    turns = open_app(settings).turns
    try:
        yield turns
    finally:
        runner.run(turns.close())

"""`acc-ace memory erase` and `export`."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from acc_ace.adk.user_data_service import total
from acc_ace.cli.names import APP_NAME, checked_name
from acc_ace.cli.output import create_private_file, json_line, stderr_console, stdout_console
from acc_ace.cli.runtime import open_app
from acc_ace.cli.turn_api import TurnApi
from acc_ace.config import Settings, load_settings
from acc_ace.errors import InputError
from acc_ace.storage.prompt_history import history_path

_FRAME = frozenset({"user", "end"})
"""Kinds of the first and last record, which hold no user data."""

Erased = dict[str, dict[str, int]]
"""Deleted rows by app and store."""


app = typer.Typer(rich_markup_mode=None)

_App = Annotated[str | None, typer.Option("--app", help="Limit to one app (default: all).")]


@app.command("erase")
def erase_user(
    user: Annotated[str, typer.Option(help="User whose data to delete.")],
    app_name: _App = None,
    yes: Annotated[bool, typer.Option("--yes", help="Skip the confirmation.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")] = False,
) -> None:
    """Delete everything stored about a user: sessions, states, artifacts, files."""
    checked_name(user, "--user")
    only = None if app_name is None else checked_name(app_name, "--app")
    if not yes and not _confirmed(user, only):
        stdout_console().print("nothing was deleted")
        return
    settings = load_settings()
    with asyncio.Runner() as runner, _turns(settings, runner) as turns:
        erased = runner.run(turns.erase_user(user, app=only))
    _report(erased, user, settings, as_json=as_json)


@app.command("export")
def export_user(
    user: Annotated[str, typer.Option(help="User whose data to export.")],
    app_name: _App = None,
    out: Annotated[Path | None, typer.Option(help="New file to write (default: stdout).")] = None,
) -> None:
    """Export everything stored about a user as JSON Lines; the last record is `end`."""
    checked_name(user, "--user")
    only = None if app_name is None else checked_name(app_name, "--app")
    settings = load_settings()
    lines = _typed(settings, user) if only in {None, APP_NAME} else []
    with _target(out) as file, asyncio.Runner() as runner, _turns(settings, runner) as turns:
        count, has_data = runner.run(_write(turns.export_user(user, app=only), lines, file))
    if out is not None:
        stdout_console().print(f"{count} records about user {user} written to {out}")
    if not has_data:
        reported = f"nothing is stored about user {user} in {_named(only)}, in {_where(settings)}"
        stderr_console().print(reported, soft_wrap=True)


async def _write(
    records: AsyncIterator[dict[str, Any]], lines: list[dict[str, Any]], file: TextIO
) -> tuple[int, bool]:
    """Write the records; their count, and whether any holds user data."""
    count, has_data = 0, bool(lines)
    async for record in records:
        has_data = has_data or record["kind"] not in _FRAME
        # The typed lines precede the `end` record, which marks the export as complete.
        for item in [*lines, record] if record["kind"] == "end" else [record]:
            print(json_line(item), file=file)
            count += 1
    return count, has_data


def _typed(settings: Settings, user: str) -> list[dict[str, Any]]:
    """The prompt history of a user, which is bounded."""
    history = history_path(settings.data_dir, user)
    if not history.exists():
        return []
    text = history.read_text(encoding="utf-8", errors="replace")
    return [{"kind": "typed", "value": line} for line in text.splitlines()]


def _target(out: Path | None) -> AbstractContextManager[TextIO]:
    return nullcontext(sys.stdout) if out is None else create_private_file(out)


def _report(erased: Erased, user: str, settings: Settings, *, as_json: bool) -> None:
    if as_json:
        print(json_line({"user": user, "erased": total(erased), "apps": erased}))
        return
    counted = {
        app: ", ".join(f"{name} {count}" for name, count in counts.items() if count)
        for app, counts in erased.items()
    }
    for app, counts in counted.items():
        if counts:
            stdout_console().print(f"erased user {user} from {app}: {counts}")
    if not any(counted.values()):
        reported = f"nothing to erase: nothing about user {user} was stored in {_where(settings)}"
        stdout_console().print(reported, soft_wrap=True)


def _named(app: str | None) -> str:
    return "every app" if app is None else f"app {app}"


def _where(settings: Settings) -> str:
    """The store in use; an absolute path, since a relative one depends on the folder."""
    if settings.store == "postgres":
        return "the PostgreSQL database of ACC_ACE_DATABASE_URL"
    return "memory" if settings.store == "memory" else str(settings.data_dir.absolute())


def _confirmed(user: str, app: str | None) -> bool:
    if not sys.stdin.isatty():
        raise InputError("erasing needs a confirmation; without a terminal, pass --yes")
    question = f"Delete everything stored about user {user} in {_named(app)}? [y/N] "
    return input(question).strip().lower() == "y"


@contextmanager
def _turns(settings: Settings, runner: asyncio.Runner) -> Iterator[TurnApi]:
    turns = open_app(settings).turns
    try:
        yield turns
    finally:
        runner.run(turns.close())

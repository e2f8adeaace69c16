"""`acc-ace memory erase`."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from acc_ace.adk.user_data_service import total
from acc_ace.cli.names import checked_name
from acc_ace.cli.output import json_line, stdout_console
from acc_ace.cli.runtime import open_app
from acc_ace.cli.turn_api import TurnApi
from acc_ace.config import Settings, load_settings
from acc_ace.errors import InputError

Erased = dict[str, dict[str, int]]
"""Deleted rows by app and store."""


app = typer.Typer(rich_markup_mode=None)

AppOption = Annotated[str | None, typer.Option("--app", help="Limit to one app (default: all).")]


@app.command("erase")
def erase_user(
    user: Annotated[str, typer.Option(help="User whose data to delete.")],
    app_name: AppOption = None,
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
        reported = f"nothing to erase: nothing about user {user} was stored in {where(settings)}"
        stdout_console().print(reported, soft_wrap=True)


def named(app: str | None) -> str:
    """An app, or all, in a message."""
    return "every app" if app is None else f"app {app}"


def where(settings: Settings) -> str:
    """The store in use; an absolute path, since a relative one depends on the folder."""
    if settings.store == "postgres":
        return "the PostgreSQL database of ACC_ACE_DATABASE_URL"
    return "memory" if settings.store == "memory" else str(settings.data_dir.absolute())


def _confirmed(user: str, app: str | None) -> bool:
    if not sys.stdin.isatty():
        raise InputError("erasing needs a confirmation; without a terminal, pass --yes")
    question = f"Delete everything stored about user {user} in {named(app)}? [y/N] "
    return input(question).strip().lower() == "y"


@contextmanager
def _turns(settings: Settings, runner: asyncio.Runner) -> Iterator[TurnApi]:
    turns = open_app(settings).turns
    try:
        yield turns
    finally:
        runner.run(turns.close())

"""`acc-ace playbook` and `acc-ace memory`."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from cli.chat_command import APP_NAME, checked_name
from cli.opening import open_app
from cli.output import stdout_console
from cli.prompt import history_path
from cli.streams import json_line
from cli.turn_api import TurnApi
from cli.view import playbook_view
from config import Settings, load_settings
from core.errors import InputError
from schemas.tenancy import Tenant


def show_playbook(*, as_json: bool) -> None:
    """Print the current playbook. Raises StoreError when it cannot be read."""
    with asyncio.Runner() as runner, _turns(load_settings(), runner) as turns:
        stored = runner.run(turns.playbook())
    if as_json:
        print(json_line(stored.model_dump(mode="json")))
    else:
        stdout_console().print(playbook_view(stored))


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

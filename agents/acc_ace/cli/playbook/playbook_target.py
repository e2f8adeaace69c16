"""The target playbook of a command, and the options that select it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, NamedTuple, TypeVar

import typer

from acc_ace.cli.names import APP_NAME, DEFAULT_USER, checked_name, require_app
from acc_ace.clock import SystemClock
from acc_ace.config import Settings, load_settings
from acc_ace.core.playbook.playbook_service import PlaybookService
from acc_ace.core.schemas.base import PlaybookScope
from acc_ace.hooks import OWN_PLAYBOOKS
from acc_ace.storage.create_stores import create_stores

Json = Annotated[bool, typer.Option("--json", help="Print only JSON on stdout.")]
User = Annotated[
    str | None,
    typer.Option("--user", help="Use this user's own playbook (default: the one chats use)."),
]
BulletId = Annotated[str, typer.Argument(metavar="BULLET", help="Bullet id, e.g. b-00007.")]


class PlaybookTarget(NamedTuple):
    """A user's own playbook or, without a user, the one that chats use; and the app."""

    user: str | None = None
    app: str = APP_NAME


T = TypeVar("T")


def scope_of(place: PlaybookTarget, settings: Settings) -> PlaybookScope:
    """The scope of a target. Raises InputError for invalid names."""
    user = place.user
    is_own = place.app in OWN_PLAYBOOKS or settings.playbook_scope == "user"
    if user is None and is_own:
        user = DEFAULT_USER
    return PlaybookScope(place.app, None if user is None else checked_name(user, "--user"))


def with_playbook(place: PlaybookTarget, work: Callable[[PlaybookService], Awaitable[T]]) -> T:
    """Run `work` on a playbook; opens only the stores, so it is fast.

    Raises ConfigError, InputError for invalid names, NotFoundError for an unknown app, StoreError
    and the errors of `work`.
    """
    settings = load_settings()
    scope = scope_of(place, settings)
    clock = SystemClock()

    async def run() -> T:
        stores = create_stores(settings, clock)
        service = PlaybookService(
            stores.playbooks,
            scope,
            person=scope.user or DEFAULT_USER,
            limits=settings.limits,
            clock=clock,
        )
        try:
            await require_app(stores.directory, place.app)
            return await work(service)
        finally:
            await stores.close()

    return asyncio.run(run())


def other_apps(app: str) -> list[str]:
    """The other apps for which anything is stored, by name."""

    async def run() -> list[str]:
        stores = create_stores(load_settings(), SystemClock())
        try:
            return [name for name in await stores.directory.apps() if name != app]
        finally:
            await stores.close()

    return asyncio.run(run())

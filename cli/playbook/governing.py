"""Open the stores of a playbook and do something with it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from cli.banner import DEFAULT_USER
from cli.chat_command import APP_NAME, checked_name
from cli.playbook.place import Place
from config import Settings, load_settings
from core.adapters.clock import SystemClock
from core.adapters.open_stores import open_stores
from core.domain.playbook_changes import MAIN, check_branch_name
from core.turn.playbook_governing import PlaybookGovernor
from schemas.tenancy import PlaybookScope

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

"""Let the imports of a user and the user's erasure keep out of each other's way, in all processes.

An import holds a slot of its user from before it reads to after its last part, and looks before
each batch whether the user is being erased; an erasure keeps a job first, then takes every slot.
So an import either ends before the erasure deletes, or sees its job and stores nothing more.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Final

from core.container import Container
from core.errors import ConflictError, SessionBusyError
from core.turn.inputs import check_key
from schemas.job import JobKind, job_id
from schemas.tenancy import SessionKey, Tenant

_SLOTS: Final = 4
"""Imports of one user at a time. Each costs an erasure a lock."""

_LOOK_S: Final = 0.1
"""How often one that waits looks for a slot that is free."""


@asynccontextmanager
async def import_slot(container: Container, tenant: Tenant) -> AsyncIterator[None]:
    """Hold a slot of the user; nothing of theirs is erased from the stores meanwhile.

    Raises InputError for a user that has no name, ConflictError while they are being erased,
    SessionBusyError when all slots are taken for too long, StoreError.
    """
    check_key(_slots(tenant)[0])
    await refuse_if_erased(container, tenant)
    async with AsyncExitStack() as held:
        await _take_one(container, tenant, held)
        # An erasure that was asked for meanwhile may be done with this slot already.
        await refuse_if_erased(container, tenant)
        yield


@asynccontextmanager
async def all_import_slots(
    container: Container, tenant: Tenant, *, wait_s: float
) -> AsyncIterator[None]:
    """Hold every slot of the user: no import of theirs runs. SessionBusyError after `wait_s`.

    Those that waited for a slot go on after that, unless a job says that the user is erased.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + wait_s
    async with AsyncExitStack() as held:
        for slot in _slots(tenant):
            left_s = max(0.0, deadline - loop.time())
            await held.enter_async_context(container.lock.hold(slot, wait_s=left_s))
        yield


async def refuse_if_erased(container: Container, tenant: Tenant) -> None:
    """Raise ConflictError while the user is being erased, or StoreError.

    An erasure that was given up does not go on by itself, so it keeps nothing out.
    """
    job = await container.jobs.find(job_id(JobKind.ERASE, SessionKey(*tenant, "")))
    if job is not None and not job.given_up:
        raise ConflictError(
            f"user '{tenant.user}' is being erased, and what is imported now with them; "
            "import again when that is done"
        )


async def _take_one(container: Container, tenant: Tenant, held: AsyncExitStack) -> None:
    loop, wait_s = asyncio.get_running_loop(), container.settings.limits.turn_wait_s
    deadline = loop.time() + wait_s
    while not await _took_one(container, tenant, held):
        if (left_s := deadline - loop.time()) <= 0:
            raise SessionBusyError(
                f"{_SLOTS} documents of user '{tenant.user}' are still being imported after "
                f"{wait_s:g} s; wait for one of them and import again"
            )
        await asyncio.sleep(min(_LOOK_S, left_s))


async def _took_one(container: Container, tenant: Tenant, held: AsyncExitStack) -> bool:
    for slot in _slots(tenant):
        with suppress(SessionBusyError):
            await held.enter_async_context(container.lock.hold(slot, wait_s=0))
            return True
    return False


def _slots(tenant: Tenant) -> list[SessionKey]:
    return [SessionKey(*tenant, f"imports:{number}") for number in range(_SLOTS)]

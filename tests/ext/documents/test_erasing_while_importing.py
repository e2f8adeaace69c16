"""Erasing a user while a document of theirs is imported: no part of it comes back."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from acc_ace import Conversation, build_container
from acc_ace.errors import ConflictError
from acc_ace.ext.documents.document_import import BATCH, import_document
from config import ROLES, Settings
from schemas.base import Tenant
from tests.fakes.clock import FixedClock
from tests.fakes.documents import BytesSource
from tests.fakes.place import Place
from tests.fakes.residue import residue
from tests.fakes.scripted_llm import ScriptedLlm

AIKO = Tenant("acc_ace", "aiko")
BEN = AIKO._replace(user="ben")
TEXT = "\n\n".join(f"Secret number {n} of Aiko. " * 3 for n in range(3 * BATCH)).encode()
PATIENCE_S = 30


@dataclass
class Stores:
    """Stores that several processes open."""

    settings: Settings
    clock: FixedClock = field(default_factory=FixedClock)

    @asynccontextmanager
    async def process(self, *, turn_wait_s: float = PATIENCE_S) -> AsyncIterator[Conversation]:
        place = Place(self.settings, self.settings.data_dir)
        limits = {"turn_wait_s": turn_wait_s, "part_tokens": 32}
        settings = place.with_settings(learning="off", limits=limits)
        container = build_container(settings, self.clock)
        conversation = Conversation(container, models=dict.fromkeys(ROLES, ScriptedLlm()))
        try:
            yield conversation
        finally:
            await conversation.close()


@pytest.fixture(params=["sqlite", "postgres"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    url = None
    if request.param == "postgres":
        url = request.getfixturevalue("postgres").clean_database()
    settings = Settings(
        store=request.param,
        data_dir=tmp_path,
        database_url=url,
        learning="off",
        limits={"turn_wait_s": 0.1, "part_tokens": 32},
    )
    return Stores(settings)


def erased(stores: Stores, tenant: Tenant = AIKO) -> dict[str, int]:
    """What comes of an erasure that begins and ends in a thread of its own."""

    async def erase() -> dict[str, int]:
        async with stores.process(turn_wait_s=0.1) as erasing:
            return await erasing.erase(tenant)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(erase())).result()


def once(act: Callable[[], object]) -> Callable[..., None]:
    """A function that acts at its first call only."""
    left = [act]

    def called(*_: object) -> None:
        if left:
            left.pop()()

    return called


def read(*, before: Callable[[], None]) -> BytesSource:
    """A document with something that happens as its reading ends."""

    def blocks() -> Iterable[bytes]:
        yield TEXT
        before()

    return BytesSource("a.md", blocks)


@pytest.mark.parametrize("when", ["as it is read", "between two batches"])
async def test_an_import_during_which_the_user_is_erased_stores_nothing_more(
    stores: Stores, when: str
) -> None:
    found: list[dict[str, int]] = []
    erase = once(lambda: found.append(erased(stores)))
    nothing = once(lambda: None)
    reads = when == "as it is read"
    async with stores.process() as importing:
        source = read(before=erase if reads else nothing)
        with pytest.raises(ConflictError, match="'aiko' was erased meanwhile"):
            await import_document(
                importing.container, AIKO, source, reported=nothing if reads else erase
            )
        [erasure] = found
        assert erasure["artifacts"] == (0 if reads else BATCH)
        assert await residue(importing.container, AIKO) == {}
        assert await importing.container.artifacts.count(AIKO) == 0
        # Who comes back may import again.
        assert (await import_document(importing.container, AIKO, source)).parts > 2 * BATCH


async def test_an_import_goes_on_while_another_user_is_erased(stores: Stores) -> None:
    found: list[object] = []
    async with stores.process() as importing:
        done = await import_document(
            importing.container,
            BEN,
            BytesSource("a.md", TEXT),
            reported=once(lambda: found.append(erased(stores))),
        )
        assert isinstance(found[0], dict)
        assert await importing.container.artifacts.count(BEN) == done.parts == done.stored

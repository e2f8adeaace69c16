"""What an embedder fails at is found by its words, holds nobody up, and is not forgotten."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from acc_ace.core.text.duplicates import Vector
from acc_ace.errors import EmbedderError, TextRefusedError
from acc_ace.ext.semantic.embedding_backfill import EmbeddingBackfill
from acc_ace.memory.artifact_store import Embedded, Unembedded
from acc_ace.memory.passages import PART_CHARS
from acc_ace.storage.create_stores import Stores, create_stores
from config import Settings
from tests.contract.values import artifact, asking
from tests.fakes.clock import FixedClock
from tests.fakes.filled import filled
from tests.fakes.word_embedder import TopicEmbedder

MANY = 40
"""More than are read from a store at once."""

TOO_MANY = 70
"""More than are put off before the endpoint is left alone."""


class _Busy(TopicEmbedder):
    """Takes so many texts, in calls of no more than are left, then none."""

    left = 1_000
    ended = EmbedderError("answered HTTP 429: too many requests")
    """Why it takes none then."""

    async def passages(self, texts: Sequence[str]) -> list[Vector]:
        if len(texts) > self.left:
            raise self.ended
        self.left -= len(texts)
        return await super().passages(texts)


class _Stumbling(_Busy):
    """Breaks at texts that hold a word, like a server that answers 500 to them."""

    stumbles_at = ""

    async def passages(self, texts: Sequence[str]) -> list[Vector]:
        if self.stumbles_at and any(self.stumbles_at in text for text in texts):
            raise EmbedderError(f"embedder {self.model} answered HTTP 500: stumbled")
        return await super().passages(texts)


@pytest.fixture
def embedder() -> _Stumbling:
    return _Stumbling()


@pytest.fixture(params=["sqlite", "postgres"])
async def stores(
    request: pytest.FixtureRequest, tmp_path: Path, embedder: _Stumbling
) -> AsyncIterator[Stores]:
    where: dict[str, Any] = {"data_dir": tmp_path}
    if request.param == "postgres":
        where = {"database_url": request.getfixturevalue("postgres").clean_database()}
    settings = Settings(store=request.param, embedder={"model": "test/topics"}, **where)
    opened = create_stores(settings, FixedClock(), embedder)
    yield opened
    await opened.close()


async def found_by_meaning(stores: Stores, asked: str) -> set[str]:
    recall = await stores.artifacts.recall(asking(asked, limit=50))
    return {
        candidate.artifact.artifact_id
        for candidate in recall.candidates
        if any(reason.startswith("meaning") for reason in candidate.why)
    }


async def test_what_a_busy_endpoint_did_not_take_is_embedded_when_it_is_well(
    stores: Stores, embedder: _Stumbling
) -> None:
    embedder.left = 5
    pets = [artifact(f"pet{n}", f"kitten {n}", at=n) for n in range(12)]
    await stores.artifacts.add([*pets, artifact("drive", "a car", at=20)])
    with pytest.raises(EmbedderError, match="429"):
        await filled(stores)
    kept = len(embedder.embedded)
    assert kept == 5
    embedder.left = 1_000
    await filled(stores)
    assert len(embedder.embedded) == 13
    assert await found_by_meaning(stores, "feline") == {pet.artifact_id for pet in pets}


async def test_many_refused_texts_hold_up_nothing_older_and_are_not_tried_again(
    stores: Stores, embedder: _Stumbling
) -> None:
    embedder.refuses = "secret"
    await stores.artifacts.add(
        [artifact("pet", "a kitten", at=0), artifact("drive", "a car", at=1)]
        + [artifact(f"long{n}", f"a secret kitten {n}", at=2 + n) for n in range(MANY)]
    )
    await filled(stores)
    assert await found_by_meaning(stores, "feline") == {"pet"}
    count = len(embedder.embedded)
    embedder.refuses = ""
    await filled(stores)
    assert len(embedder.embedded) == count


async def test_an_endpoint_that_refuses_every_text_marks_none_as_refused(
    stores: Stores, embedder: _Stumbling
) -> None:
    embedder.refuses = " "
    await stores.artifacts.add(
        [artifact("drive", "a car", at=0)]
        + [artifact(f"pet{n}", f"a kitten {n}", at=1 + n) for n in range(MANY)]
    )
    for _ in range(2):
        with pytest.raises(TextRefusedError, match="refuses this text"):
            await filled(stores)
    embedder.refuses = ""
    await filled(stores)
    assert len(await found_by_meaning(stores, "feline")) == MANY


async def test_an_endpoint_that_begins_to_refuse_every_text_marks_none_of_the_rest(
    stores: Stores, embedder: _Stumbling
) -> None:
    embedder.refuses = "secret"
    embedder.left = 4
    embedder.ended = TextRefusedError("answered HTTP 400: no model is loaded")
    pets = [artifact(f"pet{n}", f"a kitten {n}", at=1 + n) for n in range(12)]
    await stores.artifacts.add(
        [artifact("drive", "a car", at=0), *pets, artifact("long", "a secret", at=20)]
    )
    for _ in range(2):
        with pytest.raises(TextRefusedError, match="no model is loaded"):
            await filled(stores)
    embedder.left = 1_000
    await filled(stores)
    assert await found_by_meaning(stores, "feline") == {pet.artifact_id for pet in pets}


async def test_texts_that_the_endpoint_stumbles_at_hold_up_nothing_and_are_tried_again(
    stores: Stores, embedder: _Stumbling
) -> None:
    embedder.stumbles_at = "odd"
    await stores.artifacts.add(
        [artifact("pet", "a kitten", at=0), artifact("drive", "a car", at=1)]
        + [artifact(f"odd{n}", f"an odd kitten {n}", at=2 + n) for n in range(MANY)]
    )
    with pytest.raises(EmbedderError, match="stumbled"):
        await filled(stores)
    assert await found_by_meaning(stores, "feline") == {"pet"}
    embedder.stumbles_at = ""
    await filled(stores)
    assert len(await found_by_meaning(stores, "feline")) == 1 + MANY


async def test_after_a_model_changed_new_turns_are_embedded_before_old_ones(
    stores: Stores, embedder: _Stumbling
) -> None:
    await stores.artifacts.add(
        [artifact(f"odd{n}", f"an odd car {n}", at=n) for n in range(TOO_MANY)]
    )
    await filled(stores)
    embedder.model, embedder.stumbles_at = "test/newer", "odd"
    # Before the first vectors of the new model, then with some.
    for new in (["rain", "cat"], ["kitten"]):
        await stores.artifacts.add([artifact(word, f"a {word}", at=100) for word in new])
        with pytest.raises(EmbedderError, match="stumbled"):
            await filled(stores)
    assert await found_by_meaning(stores, "feline") == {"cat", "kitten"}


class _Shelf:
    """A VectorStore that tells when it was given something to keep."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}
        self.kept: list[int] = []
        self.keeping = asyncio.Event()

    async def unembedded(
        self, model: str, dimension: int | None, *, limit: int
    ) -> list[Unembedded]:
        rows = sorted(self.texts.keys() - set(self.kept), reverse=True)
        return [Unembedded(row, self.texts[row], "") for row in rows[:limit]]

    async def keep(self, model: str, dimension: int, embedded: Sequence[Embedded]) -> None:
        self.kept += [item.row for item in embedded]
        self.keeping.set()

    async def next_kept(self) -> list[int]:
        """All that is kept, once there is more."""
        async with asyncio.timeout(20):
            await self.keeping.wait()
        self.keeping.clear()
        return self.kept


async def test_a_text_that_is_put_off_keeps_no_newer_one_waiting(embedder: _Stumbling) -> None:
    now, shelf = 0.0, _Shelf()
    filler = EmbeddingBackfill(shelf, embedder, seconds=lambda: now)
    embedder.stumbles_at = "odd"
    shelf.texts = {1: "an odd cat", 2: "a cat"}
    filler.wake()
    assert await shelf.next_kept() == [2]
    shelf.texts[3] = "a car"
    filler.wake()
    assert await shelf.next_kept() == [2, 3]
    embedder.stumbles_at = ""
    now += 60
    shelf.texts[4] = "the rain"
    filler.wake()
    assert sorted(await shelf.next_kept()) == [1, 2, 3, 4]
    await filler.close()


async def test_a_part_that_is_refused_leaves_the_other_parts_of_its_document(
    stores: Stores, embedder: _Stumbling
) -> None:
    embedder.refuses = "secret"
    pages = ("secret " * PART_CHARS)[:PART_CHARS] + "a kitten " * 100
    await stores.artifacts.add([artifact("doc", pages), artifact("drive", "a car", at=1)])
    await filled(stores)
    assert await found_by_meaning(stores, "feline") == {"doc"}

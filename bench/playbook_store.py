"""Durable playbooks: deltas a second in batches, and loading, in SQLite and in PostgreSQL.

    python -m bench.playbook_store [--bullets 5000] [--batches 50] [--size 100] [--postgres URL]
                                   [--json]

A batch is one commit: new bullets, tags and edits of old ones, removals, in the proportions 2 : 5
: 2 : 1, with one log record each. Timed is the commit alone, to its durable end, digest of the
whole version included. A cold load is by a store that has just been opened, from its rows.
"""

import argparse
import asyncio
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from acc_ace.core.playbook.playbook_store import PlaybookStore
from acc_ace.core.schemas.base import PlaybookScope
from acc_ace.core.schemas.delta import DeltaKind, DeltaStatus
from acc_ace.core.schemas.playbook import Bullet, DeltaRecord, Playbook, StoredPlaybook
from acc_ace.ext.postgres.database import PostgresDatabase
from acc_ace.storage.playbooks.sql_playbook import SqlPlaybookStore
from acc_ace.storage.sqlite.database import DATABASE_FILE, SqliteDatabase

_AT = datetime(2026, 11, 22, tzinfo=UTC)
_KINDS = (DeltaKind.ADD, DeltaKind.TAG, DeltaKind.EDIT, DeltaKind.REMOVE)
_SHARES = (2, 5, 2, 1)


@dataclass(frozen=True)
class Cost:
    """What a playbook of so many bullets costs in one store."""

    store: str
    bullets: int
    deltas_per_s: int
    deltas_per_cpu_s: int
    commit_p50_ms: float
    commit_p95_ms: float
    cold_load_ms: float
    warm_load_ms: float
    old_version_ms: float


@asynccontextmanager
async def _store(place: str) -> AsyncIterator[PlaybookStore]:
    if place.startswith("postgresql:"):
        server = PostgresDatabase(place)
        yield SqlPlaybookStore(server)
        await server.close()
        return
    file = SqliteDatabase(Path(place) / DATABASE_FILE)
    yield SqlPlaybookStore(file)
    await file.close()


async def measure(name: str, place: str, *, bullets: int, batches: int, size: int) -> Cost:
    """Fill a playbook, commit batches onto it, load it."""
    rng = random.Random(7)  # noqa: S311 - the same batches every time
    scope = PlaybookScope(f"bench-{time.time_ns()}")
    times, cpu_s = list[float](), 0.0
    async with _store(place) as store:
        current = await _filled(store, scope, bullets)
        for _ in range(batches):
            playbook, records = _batch(current.playbook, size, rng)
            started, spent = time.perf_counter(), time.process_time()
            current = await store.commit(scope, playbook, records, expected_version=current.version)
            times.append(time.perf_counter() - started)
            cpu_s += time.process_time() - spent
        old = await _timed(store, scope, version=current.version // 2)
    async with _store(place) as store:
        cold = await _timed(store, scope)
        warm = await _timed(store, scope)
    return Cost(
        name,
        bullets,
        round(batches * size / sum(times)),
        round(batches * size / cpu_s),
        round(1_000 * statistics.median(times), 1),
        round(1_000 * statistics.quantiles(times, n=20)[-1], 1),
        cold,
        warm,
        old,
    )


async def _timed(store: PlaybookStore, scope: PlaybookScope, version: int | None = None) -> float:
    started = time.perf_counter()
    await store.load(scope, version=version)
    return round(1_000 * (time.perf_counter() - started), 2)


async def _filled(store: PlaybookStore, scope: PlaybookScope, bullets: int) -> StoredPlaybook:
    draft = Playbook().draft()
    added = [draft.add("rules", _text(number), bullet_id=None, at=_AT) for number in range(bullets)]
    records = [_record(DeltaKind.ADD, None, bullet) for bullet in added]
    playbook = Playbook().with_draft(draft)
    return await store.commit(scope, playbook, records, expected_version=0)


def _batch(playbook: Playbook, size: int, rng: random.Random) -> tuple[Playbook, list[DeltaRecord]]:
    draft, records = playbook.draft(), list[DeltaRecord]()
    chosen = rng.sample(playbook.bullets, size)
    kinds = rng.choices(_KINDS, weights=_SHARES, k=size)
    for number, (kind, before) in enumerate(zip(kinds, chosen, strict=True)):
        after: Bullet | None = None
        if kind is DeltaKind.ADD:
            text = _text(rng.randrange(10**9))
            added = draft.add("rules", text, bullet_id=None, at=_AT)
            records.append(_record(kind, None, added))
            continue
        if kind is DeltaKind.TAG:
            after = draft.tag(before.id, "helpful", increment=1, at=_AT)
        elif kind is DeltaKind.EDIT:
            after = draft.update(before.id, content=_text(number), section=None, at=_AT)
        else:
            draft.remove(before.id)
        records.append(_record(kind, before, after))
    return playbook.with_draft(draft), records


def _text(number: int) -> str:
    return f"When service {number % 97} is slow, look at queue {number} before its cache is reset."


def _record(kind: DeltaKind, before: Bullet | None, after: Bullet | None) -> DeltaRecord:
    bullet = after or before
    return DeltaRecord(
        kind=kind,
        bullet_id=bullet.id if bullet else None,
        status=DeltaStatus.APPLIED,
        reason="ok",
        before=before,
        after=after,
        user="bench",
        session="bench",
        created_at=_AT,
    )


async def run(options: argparse.Namespace) -> list[Cost]:
    """Measure every store that was asked for."""
    shape = {"bullets": options.bullets, "batches": options.batches, "size": options.size}
    with tempfile.TemporaryDirectory() as folder:
        costs = [await measure("SQLite", folder, **shape)]
    if options.postgres:
        costs.append(await measure("PostgreSQL", options.postgres, **shape))
    return costs


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bullets", type=int, default=5_000)
    parser.add_argument("--batches", type=int, default=50)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--postgres", help="URL of a database to measure as well")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    costs = asyncio.run(run(options))
    if options.json:
        json.dump([asdict(cost) for cost in costs], sys.stdout)
        return
    for cost in costs:
        print(
            f"{cost.store:10} {cost.bullets} bullets: {cost.deltas_per_s} deltas/s "
            f"({cost.deltas_per_cpu_s} a CPU second of this process), commit of "
            f"{options.size} p50 {cost.commit_p50_ms} ms p95 {cost.commit_p95_ms} ms; load cold "
            f"{cost.cold_load_ms} ms, warm {cost.warm_load_ms} ms, old version "
            f"{cost.old_version_ms} ms"
        )


if __name__ == "__main__":
    main()

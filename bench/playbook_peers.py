"""Measure playbooks of thousands of bullets beside two other packages, in one process.

    python -m bench.playbook_peers [--peers DIR] [--sizes 1000,5000,20000] [--json]

Times are CPU milliseconds, the best of some runs; durable ones are wall-clock, since they wait for
the disk. A peer is left out, with the reason, where it cannot be imported, has no such operation,
or would run for longer than `--most-seconds` by its time at the smaller size (its cost grows with
the square). The peers' files are JSON, written whole and without fsync; ours is SQLite.
"""

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from acc_ace.core.playbook.curation.curation_record import OK, CurationContext
from acc_ace.core.playbook.curation.delta_guard import curate
from acc_ace.core.playbook.playbook_store import PlaybookStore
from acc_ace.core.playbook.refine.refine_plan import refine
from acc_ace.core.playbook.selection import select_bullets
from acc_ace.core.schemas.base import PlaybookScope
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.delta import DeltaBatch, DeltaKind, DeltaOperation, DeltaType
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook
from acc_ace.core.text.duplicates import Vector, lesson_of, unit_vector
from acc_ace.storage.playbooks.sql_playbook import SqlPlaybookStore
from acc_ace.storage.sqlite.database import SqliteDatabase
from bench.peers import Change, Peer, Row, load_peers

OURS = "acc-ace"
DELTAS = 1_000
BATCH = 100
SECTIONS = ("strategies", "mistakes", "tools", "concepts")
PROMPT_TOKENS = 1_500
DIMENSION = 384

T = TypeVar("T")


@dataclass(frozen=True)
class Measured:
    """One measurement."""

    what: str
    who: str
    ms: float | None
    note: str = ""


def rows_of(count: int, seed: int = 7) -> list[Row]:
    """Bullets as lessons of operations; every fifth says what an earlier one of its section says.

    Words are common and rare ones as in a text: few verbs, hundreds of nouns.
    """
    rng = random.Random(seed)  # noqa: S311 - a workload, not a secret
    rows: list[Row] = []
    for number in range(count):
        if number % 5 == 4:
            section, content = rows[rng.randrange(len(rows))]
            rows.append((section, f"Always {content[0].lower()}{content[1:-1]}, please."))
        else:
            rows.append((SECTIONS[number % 4], _lesson(rng)))
    return rows


def changes_of(count: int, size: int, seed: int = 11) -> list[Change]:
    """Deltas onto a book of `size` bullets: 7 of 10 add, 2 reword, 1 removes; on none all add."""
    rng = random.Random(seed)  # noqa: S311 - a workload, not a secret
    ids = rng.sample(range(1, size + 1), min(size, count))
    changes: list[Change] = []
    for number in range(count):
        if not ids or number % 10 < 7:
            changes.append(("ADD", rng.choice(SECTIONS), _lesson(rng)))
        elif number % 10 < 9:
            changes.append(("UPDATE", f"b-{ids.pop():05d}", _lesson(rng)))
        else:
            changes.append(("REMOVE", f"b-{ids.pop():05d}", ""))
    return changes


def playbook_of(rows: Sequence[Row]) -> Playbook:
    """Our playbook of these bullets."""
    bullets = tuple(
        Bullet(id=f"b-{number:05d}", section=section, content=content, helpful=number % 5)
        for number, (section, content) in enumerate(rows, 1)
    )
    return Playbook(bullets=bullets, next_id=len(bullets) + 1)


def batch_of(changes: Sequence[Change]) -> DeltaBatch:
    """Our batch of these deltas."""
    return DeltaBatch(operations=[_operation(change) for change in changes])


def measure(peers: Sequence[Peer], sizes: Sequence[int], most_s: float) -> Iterator[Measured]:
    """Everything, one after the other."""
    for size in (0, 5_000):
        yield from _apply(peers, size)
    for size in (0, 5_000):
        yield from _durable(peers, size)
    for size in (1_000, 10_000):
        yield from _render(peers, size)
        yield from _select(size)
    yield from _load(peers, 10_000)
    for with_vectors in (False, True):
        yield from _refine(peers, sizes, most_s, with_vectors=with_vectors)


def _apply(peers: Sequence[Peer], size: int) -> Iterator[Measured]:
    what = f"apply {DELTAS:,} deltas onto {size:,}, in memory"
    rows, changes = rows_of(size), changes_of(DELTAS, size)
    playbook, batch = playbook_of(rows), batch_of(changes)
    yield Measured(what, f"{OURS} apply_delta", _best(lambda: playbook.apply_delta(batch)))
    context = _context()
    ms = _best(lambda: curate(playbook, batch, context), runs=3)
    yield Measured(what, f"{OURS} curate (all checks and records)", ms)
    for peer in peers:
        ms = _best(partial(peer.apply, changes=changes), partial(peer.filled, rows))
        yield Measured(what, peer.name, ms)


def _durable(peers: Sequence[Peer], size: int) -> Iterator[Measured]:
    what = f"apply {DELTAS:,} deltas onto {size:,}, durable, {BATCH} a batch"
    rows, changes = rows_of(size), changes_of(DELTAS, size)
    batches = [changes[at : at + BATCH] for at in range(0, DELTAS, BATCH)]
    with tempfile.TemporaryDirectory() as folder:
        seconds = asyncio.run(_committed(Path(folder), rows, batches))
        yield Measured(
            what, f"{OURS} curate, SQLite", seconds * 1e3, f"{DELTAS / seconds:,.0f} a second"
        )
        for peer in peers:
            path = Path(folder) / "book.json"
            book = peer.filled(rows)
            start = time.perf_counter()
            for some in batches:
                peer.apply(book, some)
                peer.save(book, path)
            took = time.perf_counter() - start
            yield Measured(
                what, f"{peer.name}, JSON file", took * 1e3, f"{DELTAS / took:,.0f} a second"
            )


def _rate(seconds: float) -> str:
    return f"{DELTAS / seconds:,.0f} a second"


async def _committed(
    folder: Path, rows: Sequence[Row], batches: Sequence[Sequence[Change]]
) -> float:
    """Seconds that our batches take, each curated and committed on its own."""
    database = SqliteDatabase(folder / "memory.db")
    store, scope = SqlPlaybookStore(database), PlaybookScope("bench")
    await stored(store, scope, rows)
    start = time.perf_counter()
    for some in batches:
        current = await store.load(scope)
        curated = curate(current.playbook, batch_of(some), _context())
        await store.commit(
            scope, curated.playbook, curated.records, expected_version=current.version
        )
    took = time.perf_counter() - start
    await database.close()
    return took


async def stored(store: PlaybookStore, scope: PlaybookScope, rows: Sequence[Row]) -> None:
    """Store such a playbook."""
    if not rows:
        return
    playbook = playbook_of(rows)
    records = [
        DeltaRecord(
            kind=DeltaKind.IMPORT, bullet_id=bullet.id, after=bullet, **_context().stamp(OK)
        )
        for bullet in playbook.bullets
    ]
    await store.commit(scope, playbook, records, expected_version=0)


def _render(peers: Sequence[Peer], size: int) -> Iterator[Measured]:
    what = f"render {size:,}"
    rows = rows_of(size)
    playbook = playbook_of(rows)
    yield Measured(what, OURS, _best(playbook.as_prompt))
    for peer in peers:
        book = peer.filled(rows)
        try:
            yield Measured(what, peer.name, _best(partial(peer.render, book), runs=3))
        except ImportError as error:
            yield Measured(what, peer.name, None, f"skipped: {error}")


def _select(size: int) -> Iterator[Measured]:
    what = f"select {PROMPT_TOKENS:,} tokens of {size:,}"
    playbook = playbook_of(rows_of(size))
    rng = random.Random(3)  # noqa: S311 - a workload, not a secret
    text, state = _lesson(rng), " ".join(_lesson(rng) for _ in range(8))

    def choose(book: Playbook) -> object:
        return select_bullets(book, text, state=state, max_tokens=PROMPT_TOKENS)

    yield Measured(what, f"{OURS}, first time", _best(lambda: choose(playbook), runs=1))
    yield Measured(what, f"{OURS}, warm", _best(lambda: choose(playbook)))
    changed = playbook

    def after_a_tag() -> Playbook:
        nonlocal changed
        changed = changed.update_bullet_tag(f"b-{rng.randint(1, size):05d}", "helpful")
        return changed

    yield Measured(what, f"{OURS}, after one change", _best(choose, after_a_tag))
    yield Measured(what, "others", None, "they render the whole playbook")


def _load(peers: Sequence[Peer], size: int) -> Iterator[Measured]:
    what = f"load {size:,}"
    rows = rows_of(size)
    text = playbook_of(rows).dumps()
    yield Measured(what, f"{OURS}, JSON", _best(lambda: Playbook.loads(text), runs=3))
    with tempfile.TemporaryDirectory() as folder:
        ms = asyncio.run(_loaded(Path(folder), rows))
        yield Measured(what, f"{OURS}, SQLite, another process's", ms, "wall-clock")
        for peer in peers:
            path = Path(folder) / "book.json"
            peer.save(peer.filled(rows), path)
            yield Measured(what, f"{peer.name}, JSON", _best(partial(peer.load, path), runs=3))


async def _loaded(folder: Path, rows: Sequence[Row]) -> float:
    """Milliseconds until a store that has just been opened has the playbook."""
    path, scope = folder / "memory.db", PlaybookScope("bench")
    writing = SqliteDatabase(path)
    await stored(SqlPlaybookStore(writing), scope, rows)
    await writing.close()
    reading = SqliteDatabase(path)
    start = time.perf_counter()
    await SqlPlaybookStore(reading).load(scope)
    took = time.perf_counter() - start
    await reading.close()
    return took * 1e3


def _refine(
    peers: Sequence[Peer], sizes: Sequence[int], most_s: float, *, with_vectors: bool
) -> Iterator[Measured]:
    last: dict[str, tuple[int, float]] = {}
    for size in sizes:
        what = f"refine {size:,}, by {'vectors too' if with_vectors else 'words'}"
        rows = rows_of(size)
        by_text = _vectors(rows) if with_vectors else None
        yield _refined_by_us(what, rows)
        for peer in peers:
            if not (with_vectors or peer.by_words):
                continue
            before, took = last.get(peer.name, (size, 0.0))
            if took * (size / before) ** 2 > most_s:
                yield Measured(
                    what, peer.name, None, f"skipped: beyond {most_s:.0f} s by its growth"
                )
                continue
            start = time.process_time()
            left = peer.refined_count(rows, by_text)
            last[peer.name] = size, time.process_time() - start
            yield Measured(what, peer.name, last[peer.name][1] * 1e3, f"{size - left:,} merged")


def _refined_by_us(what: str, rows: Sequence[Row]) -> Measured:
    playbook = playbook_of(rows)
    lesson_of.cache_clear()
    start = time.process_time()
    refined = refine(playbook, _context())
    ms = (time.process_time() - start) * 1e3
    return Measured(what, OURS, ms, f"{len(rows) - len(refined.playbook.bullets):,} merged")


def _vectors(rows: Sequence[Row]) -> dict[str, Vector]:
    """A vector of each text: random, and near that of the text that it repeats."""
    made: dict[str, Vector] = {}
    for _, content in rows:
        root = content.removeprefix("Always ").removesuffix(", please.").rstrip(".").casefold()
        rng = random.Random(root)  # noqa: S311 - a workload, not a secret
        made[content] = unit_vector(0.3 + rng.gauss(0, 1) for _ in range(DIMENSION))
    return made


def _best(
    run: Callable[..., object], prepare: Callable[[], T] | None = None, *, runs: int = 15
) -> float:
    """The least CPU milliseconds of some runs; what `prepare` makes is handed to each, untimed."""
    times = []
    for _ in range(runs):
        made = () if prepare is None else (prepare(),)
        start = time.process_time()
        run(*made)
        times.append(time.process_time() - start)
    return min(times) * 1e3


def _operation(change: Change) -> DeltaOperation:
    kind, first, second = change
    if kind == "ADD":
        return DeltaOperation(type=DeltaType.ADD, section=first, content=second)
    return DeltaOperation(type=DeltaType(kind), bullet_id=first, content=second or None)


def _context() -> CurationContext:
    """Bounds so wide that nothing is refused for want of room."""
    return CurationContext(
        limits=Limits(
            playbook_bullets=100_000,
            section_bullets=100_000,
            playbook_tokens=10_000_000,
            section_tokens=10_000_000,
            delta_operations=1_024,
        ),
        at=datetime(2026, 1, 1, tzinfo=UTC),
        user="",
        session="",
        turn=0,
        grounded=True,
    )


_VERBS = [
    "check",
    "drain",
    "restart",
    "delete",
    "inspect",
    "compute",
    "send",
    "store",
    "collect",
    "deploy",
    "compress",
    "ask",
]
_PLACES = [
    "checkout",
    "payment",
    "billing",
    "order",
    "cart",
    "mail",
    "login",
    "search",
    "stock",
    "report",
    "price",
    "refund",
]
_THINGS = [
    "server",
    "desk",
    "queue",
    "table",
    "cache",
    "index",
    "page",
    "form",
    "file",
    "team",
    "key",
    "limit",
    "script",
    "mask",
]
_STATES = [
    "slow",
    "full",
    "empty",
    "down",
    "late",
    "wrong",
    "new",
    "locked",
    "stale",
    "public",
    "heavy",
    "idle",
]


def _lesson(rng: random.Random) -> str:
    """A lesson of about twelve words."""

    def thing() -> str:
        return f"{rng.choice(_PLACES)} {rng.choice(_THINGS)}"

    return (
        f"{rng.choice(_VERBS).title()} the {thing()} before you {rng.choice(_VERBS)} the {thing()}"
        f" when the {thing()} of region {rng.choice(_PLACES)}{rng.randint(2, 99)} is"
        f" {rng.choice(_STATES)}."
    )


def main() -> None:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, default=None, help="folder with the other packages")
    parser.add_argument("--sizes", default="1000,5000,20000", help="bullets to refine")
    parser.add_argument("--most-seconds", type=float, default=300, help="per peer and size")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    rows: list[Measured] = []
    for row in measure(list(load_peers(options.peers)), sizes, options.most_seconds):
        rows.append(row)
        if not options.json:
            ms = "-" if row.ms is None else f"{row.ms:,.1f}"
            print(f"{row.what:<52} {row.who:<38} {ms:>12} ms  {row.note}", flush=True)
    if options.json:
        print(json.dumps([vars(row) for row in rows]))


if __name__ == "__main__":
    main()

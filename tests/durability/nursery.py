"""Start writers, kill each at a random point, and look at what they left.

    python -m tests.durability.nursery PLACE KILLS SEED [LONGEST_LIFE_S]

A writer commits batches without end and tells of each commit by a pipe. It is a fork of this
process, so that it starts in milliseconds; whoever looks is one as well, and this process itself
never opens the store. It prints one line of JSON: how many commits were told of, how many
versions there are, and every problem found.
"""

import asyncio
import json
import os
import random
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial

from acc_ace.core.playbook.delta_log import replay
from acc_ace.core.playbook.playbook_store import PlaybookStore
from acc_ace.core.playbook.playbook_versions import digest_of, pieces_of
from schemas.bullet import Bullet
from schemas.delta import DeltaKind, DeltaStatus
from schemas.playbook import DeltaRecord, Playbook
from tests.durability.opening import SCOPE, playbook_store

BATCH = 6
"""Records of every commit."""

_MOST_BULLETS = 40
_LONGEST_LIFE_S = 0.08
"""From its birth, so that a writer may die while it opens the store; every other one's counts from
its first commit, however slow the machine is.
"""

_ALL = 10_000_000
_AT = datetime(2026, 11, 22, tzinfo=UTC)

Told = list[tuple[int, str]]
"""Versions that writers said were committed, with their digests."""


def nurse(place: str, kills: int, seed: int, longest_life_s: float) -> dict[str, object]:
    """Kill as many writers; what is there at the end."""
    rng = random.Random(seed)
    reported: Told = []
    problems: list[str] = []
    for life in range(kills):
        reported += _life(
            place, rng.uniform(0, longest_life_s), rng.randrange(2**30), old=life % 2 > 0
        )
        problems += _child_says(partial(_look, place, reported[-1:]))
    ends = _child_says(partial(_look_through, place, reported))
    return {"told": len(reported), "versions": ends[0], "problems": problems + ends[1:]}


async def write(store: PlaybookStore, report: Callable[[str], object], seed: int) -> None:
    """Commit batches without end."""
    rng = random.Random(seed)
    current = await store.load(SCOPE)
    while True:
        playbook, records = _batch(current.playbook, rng)
        job = f"job-{current.version + 1}"
        current = await store.commit(
            SCOPE, playbook, records, expected_version=current.version, commit_id=job
        )
        report(f"{current.version} {current.digest}\n")


def _batch(playbook: Playbook, rng: random.Random) -> tuple[Playbook, list[DeltaRecord]]:
    """Additions, tags and removals, and an operation that is held."""
    draft, records = playbook.draft(), [_record(DeltaKind.ADD, None, None, DeltaStatus.HELD)]
    while len(records) < BATCH:
        bullets = draft.bullets
        chosen = rng.choice(bullets) if bullets else None
        if chosen is None or (rng.random() < 0.5 and len(bullets) < _MOST_BULLETS):
            text = f"lesson {rng.random()}"
            added = draft.add("rules", text, bullet_id=None, at=_AT)
            records.append(_record(DeltaKind.ADD, None, added))
        elif rng.random() < 0.5:
            tagged = draft.tag(chosen.id, "helpful", increment=1, at=_AT)
            records.append(_record(DeltaKind.TAG, chosen, tagged))
        else:
            records.append(_record(DeltaKind.ARCHIVE, draft.remove(chosen.id), None))
    return playbook.with_draft(draft), records


def _record(
    kind: DeltaKind,
    before: Bullet | None,
    after: Bullet | None,
    status: DeltaStatus = DeltaStatus.APPLIED,
) -> DeltaRecord:
    bullet = after or before
    return DeltaRecord(
        kind=kind,
        bullet_id=bullet.id if bullet else None,
        status=status,
        reason="ok",
        before=before,
        after=after,
        created_at=_AT,
    )


def _life(place: str, lives_s: float, seed: int, *, old: bool) -> Told:
    """One writer, killed after a while; an old one has committed. The commits that it told of."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w", buffering=1) as pipe:
            _run(place, lambda store: write(store, pipe.write, seed))
    os.close(writing)
    first = os.read(reading, 1).decode() if old else ""
    time.sleep(lives_s)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        # A line that was cut off is no word.
        lines = [
            line.split() for line in (first + pipe.read()).splitlines(True) if line[-1] == "\n"
        ]
    return [(int(version), digest) for version, digest in lines]


def _child_says(look: Callable[[], list[str]]) -> list[str]:
    """What a child of its own finds."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w") as pipe:
            json.dump(look(), pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    found: list[str] = json.loads(said) if status == 0 else [f"looking failed: {status} {said}"]
    return found


def _run(place: str, work: Callable[[PlaybookStore], Awaitable[None]]) -> None:
    async def opened() -> None:
        async with playbook_store(place) as store:
            await work(store)

    asyncio.run(opened())


def _look(place: str, last_told: Told) -> list[str]:
    """Problems of the newest versions: as a process finds the store that was there first."""
    problems: list[str] = []

    async def look(store: PlaybookStore) -> None:
        # Reading checks the rows of the bullets against the digest of the version.
        stored = await store.load(SCOPE)
        for version, digest in last_told:
            if version > stored.version:
                problems.append(f"version {version} was told of, there are {stored.version}")
            elif (await store.load(SCOPE, version=version)).digest != digest:
                problems.append(f"version {version} has another digest than was told")
        if await store.committed(SCOPE, f"job-{stored.version + 1}") is not None:
            problems.append(f"a commit after version {stored.version} left its name only")
        log = await store.deltas(SCOPE, limit=BATCH)
        if any(record.version != stored.version for record in log):
            problems.append(f"version {stored.version} is half of a batch")

    _run(place, look)
    return problems


def _look_through(place: str, reported: Told) -> list[str]:
    """The number of versions, then problems of any version."""
    found: list[str] = []

    async def look(store: PlaybookStore) -> None:
        stored = await store.load(SCOPE)
        versions = await store.versions(SCOPE, limit=_ALL)
        log = list(reversed(await store.deltas(SCOPE, limit=_ALL)))
        digests = {item.version: item.digest for item in versions}
        found.append(str(len(digests)))
        found.extend(
            f"version {version} was told of with another digest"
            for version, digest in reported
            if digests.get(version) != digest
        )
        found.extend(_wrong_versions(log, digests))
        if sorted(digests) != list(range(1, stored.version + 1)):
            found.append("a version is missing")

    _run(place, look)
    return found


def _wrong_versions(log: list[DeltaRecord], digests: dict[int, str | None]) -> list[str]:
    """Versions whose records are not one whole batch, or do not lead to their digest."""
    problems: list[str] = []
    playbook, pieces = Playbook(), pieces_of(Playbook())
    for start in range(0, len(log), BATCH):
        batch = log[start : start + BATCH]
        version = start // BATCH + 1
        if [record.version for record in batch] != [version] * BATCH:
            problems.append(f"version {version} is not one batch")
        playbook = replay(batch, start=playbook)
        pieces = pieces_of(playbook, pieces)
        if digest_of(pieces) != digests.get(version):
            problems.append(f"version {version} does not replay to its digest")
    return problems


def main() -> None:
    """Command line."""
    place, kills, seed, *rest = sys.argv[1:]
    longest = float(rest[0]) if rest else _LONGEST_LIFE_S
    print(json.dumps(nurse(place, int(kills), int(seed), longest)))


if __name__ == "__main__":
    main()

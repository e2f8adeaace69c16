"""A process that applies delta batches to a playbook that others change at the same time.

    python -m tests.durability.learner PLACE NAME OPERATIONS

It prints, as JSON, how its operations ended, and how often it had to begin a batch again.
"""

import asyncio
import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

from acc_ace.core.playbook.curation.curation_record import CurationContext
from acc_ace.core.playbook.playbook_store import PlaybookStore
from acc_ace.errors import ConflictError
from acc_ace.turn.learning_step import apply_batch
from schemas.delta import DeltaBatch, DeltaOperation, DeltaType
from schemas.limits import Limits
from tests.durability.opening import SCOPE, playbook_store

BATCH = 10
_THINGS = ("queue", "cache", "index", "lease", "token", "worker", "shard", "proxy", "mirror")
_WORDS = ("drains", "rotates", "answers", "expires", "restarts", "fills", "moves", "splits")


def operations(name: str, count: int) -> Iterator[DeltaOperation]:
    """Additions, changes and removals; some name bullets that are not there, or hold nothing."""
    rng = random.Random(name)
    for number in range(count):
        kind = rng.choices(list(DeltaType)[:3], weights=(6, 3, 1))[0]
        words = f"{rng.choice(_THINGS)} {rng.choice(_WORDS)} on {name}-{number}"
        yield DeltaOperation(
            type=kind,
            section="rules",
            content=words if rng.random() < 0.95 else " ",
            bullet_id=None if kind is DeltaType.ADD else f"b-{rng.randrange(1, 900):05d}",
        )


async def learn(store: PlaybookStore, name: str, count: int) -> tuple[Counter[str], int]:
    """Apply all operations; how many ended in which way, and batches that were begun again."""
    ended, again = Counter[str](), 0
    proposed = list(operations(name, count))
    for start in range(0, count, BATCH):
        batch = DeltaBatch(operations=proposed[start : start + BATCH])
        context = CurationContext(
            limits=Limits(playbook_bullets=400, playbook_tokens=100_000, section_tokens=100_000),
            at=datetime(2026, 11, 22, tzinfo=UTC),
            user=name,
            session=name,
            turn=start,
            grounded=True,
        )
        while True:
            try:
                learned = await apply_batch(store, SCOPE, batch, context)
            except ConflictError:
                again += 1
                continue
            break
        ended.update(result.status.value for result in learned.curated.results)
    return ended, again


async def main() -> None:
    """Command line."""
    place, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    async with playbook_store(place) as store:
        ended, again = await learn(store, name, count)
    print(json.dumps({"ended": ended, "again": again}))


if __name__ == "__main__":
    asyncio.run(main())

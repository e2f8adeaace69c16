"""Commits one bullet after the other and says which version stands, until it is killed."""

import asyncio
import sys
from pathlib import Path

from acc_ace.core.playbook.curation.delta_guard import CurationContext, curate
from acc_ace.storage.create_stores import create_stores
from config import Settings
from schemas.base import PlaybookScope
from schemas.delta import DeltaBatch, DeltaOperation, DeltaType
from schemas.limits import Limits
from tests.fakes.clock import START, FixedClock

SCOPE = PlaybookScope("shop")


async def main(data_dir: Path) -> None:
    """Save for ever."""
    stores = create_stores(Settings(store="sqlite", data_dir=data_dir), FixedClock())
    while True:
        current = await stores.playbooks.load(SCOPE)
        context = CurationContext(
            limits=Limits(playbook_bullets=100_000, playbook_tokens=10_000_000),
            at=START,
            user="",
            session="",
            turn=current.version,
            grounded=True,
        )
        lesson = DeltaOperation(type=DeltaType.ADD, content=f"Lesson {current.version}")
        result = curate(current.playbook, DeltaBatch(operations=[lesson]), context)
        stored = await stores.playbooks.commit(
            SCOPE, result.playbook, result.records, expected_version=current.version
        )
        print(stored.version, flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))

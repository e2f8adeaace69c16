"""The playbook that a run learns into, a database of its own; and what the run adds to the app's.

The folder `learning/RUN` is a data directory: the commands that read playbooks read it with
ACC_ACE_DATA_DIR. It names no users, since erasing one does not reach it.
"""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from acc_ace.clock import Clock
from acc_ace.core.playbook.delta_log import Change, record_of_all, replay, rolled_back
from acc_ace.core.playbook.playbook_store import PlaybookReader, PlaybookStore
from acc_ace.core.schemas.base import PlaybookScope
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.delta import Author, DeltaKind, DeltaStatus
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from acc_ace.errors import NotFoundError, StoreError
from acc_ace.storage.playbooks.sql_playbook import SqlPlaybookStore
from acc_ace.storage.sqlite.database import DATABASE_FILE, SqliteDatabase

_PAGE = 500
_START = 1
"""Version of a copy that is the one it was made from."""


@asynccontextmanager
async def opened(folder: Path, clock: Clock) -> AsyncIterator[PlaybookStore]:
    """The store of a run's copy, to be closed at the end."""
    database = SqliteDatabase(folder / DATABASE_FILE)
    try:
        yield SqlPlaybookStore(database, clock)
    finally:
        await database.close()


async def begin(folder: Path, scope: PlaybookScope, source: StoredPlaybook, clock: Clock) -> None:
    """Make the copy anew, from a version of the app's playbook. Raises StoreError."""
    delete(folder)
    unnamed = [bullet.model_copy(update={"origin": None}) for bullet in source.playbook.bullets]
    playbook = source.playbook.model_copy(update={"bullets": tuple(unnamed)})
    start = source.model_copy(update={"playbook": playbook})
    change = rolled_back(Playbook(), start, by=Author("", clock.now()), fates={})
    async with opened(folder, clock) as store:
        await store.commit(scope, change.playbook, change.records, expected_version=0)


async def check(folder: Path, scope: PlaybookScope, clock: Clock) -> None:
    """Raise NotFoundError unless the copy is there."""
    if (folder / DATABASE_FILE).exists():
        async with opened(folder, clock) as store:
            if (await store.load(scope)).version:
                return
    raise NotFoundError(f"the playbook of this run is gone from {folder}; use --restart")


def delete(folder: Path) -> None:
    """Delete a copy. Raises StoreError."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{folder} cannot be deleted: {error.strerror}") from error


async def learnt(
    copy: PlaybookReader, scope: PlaybookScope, current: Playbook, version: int, *, at: datetime
) -> Change:
    """What led to a version of a copy, applied to the playbook that it was made from."""
    records: list[DeltaRecord] = []
    before: int | None = None
    while page := await copy.deltas(scope, limit=_PAGE, before=before):
        records += [r for r in page if _START < r.version <= version]
        before = page[-1].seq
    applied = [record for record in records if record.status is DeltaStatus.APPLIED]
    log = [_with_origins(record, current) for record in reversed(applied)]
    whole = record_of_all(DeltaKind.PROMOTE, f"version {version} of the run", Author("", at))
    return Change(replay(log, start=current), [whole, *log])


def _with_origins(record: DeltaRecord, current: Playbook) -> DeltaRecord:
    """The record with the origins that the copy left out."""
    sides = {
        side: _with_origin(bullet, current)
        for side in ("before", "after")
        if (bullet := getattr(record, side)) is not None
    }
    # A held operation that the run resolved is one of the copy's log.
    return record.model_copy(update={**sides, "resolves": None})


def _with_origin(bullet: Bullet, current: Playbook) -> Bullet:
    original = current.by_id.get(bullet.id)
    return bullet if original is None else bullet.model_copy(update={"origin": original.origin})

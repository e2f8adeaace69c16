"""For any history of playbooks the log gives every version, byte for byte."""

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from acc_ace.core.playbook.playbook_store import PlaybookStore
from acc_ace.storage.playbooks.sql_playbook import SqlPlaybookStore
from acc_ace.storage.sqlite.database import SqliteDatabase
from schemas.base import PlaybookScope
from schemas.delta import DeltaStatus
from schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from tests.contract.values import record
from tests.fakes.examples import examples
from tests.fakes.stores import InMemoryPlaybookStore

SCOPE = PlaybookScope("shop")

contents = st.text(min_size=1, max_size=12).filter(
    lambda text: any(c.isprintable() and not c.isspace() for c in text)
)
steps = st.one_of(
    st.tuples(st.just("ADD"), contents),
    st.tuples(st.just("UPDATE"), st.tuples(st.integers(0, 9), contents)),
    st.tuples(st.just("REMOVE"), st.integers(0, 9)),
    st.tuples(st.just("TAG"), st.integers(0, 9)),
    st.tuples(st.just("REJECTED"), contents),
    st.tuples(st.just("ROLLBACK"), st.integers(0, 9)),
)
histories = st.lists(st.lists(steps, max_size=4), min_size=1, max_size=8)
Step = tuple[str, object]


def changed(before: Playbook, after: Playbook, kind: str) -> list[DeltaRecord]:
    """One record for each bullet that differs."""
    ids = dict.fromkeys(bullet.id for bullet in (*before.bullets, *after.bullets))
    pairs = [(before.get(bullet_id), after.get(bullet_id)) for bullet_id in ids]
    return [record(kind, before=old, after=new) for old, new in pairs if old != new]


def take(
    step: Step, playbook: Playbook, versions: Sequence[StoredPlaybook]
) -> tuple[Playbook, list[DeltaRecord]]:
    """A step's playbook and records; a step that has no bullet to work on does nothing."""
    after = playbook
    match step:
        case ("ADD", str(content)):
            after = playbook.add_bullet("rules", content).playbook
        case ("UPDATE", (int(at), str(content))) if at < len(playbook.bullets):
            after = playbook.update_bullet(playbook.bullets[at].id, content=content)
        case ("REMOVE", int(at)) if at < len(playbook.bullets):
            after = playbook.remove_bullet(playbook.bullets[at].id)
        case ("TAG", int(at)) if at < len(playbook.bullets):
            after = playbook.update_bullet_tag(playbook.bullets[at].id, "helpful")
        case ("ROLLBACK", int(at)) if at < len(versions):
            after = versions[at].playbook
        case ("REJECTED", _):
            return playbook, [record("ADD", status=DeltaStatus.REJECTED)]
    return after, changed(playbook, after, step[0])


async def replays(store: PlaybookStore, history: Sequence[Sequence[Step]]) -> list[str]:
    """Live through a history, checking each version; the dumps of all versions."""
    versions = [await store.load(SCOPE)]
    for batch in history:
        playbook, records = versions[-1].playbook, list[DeltaRecord]()
        for step in batch:
            playbook, more = take(step, playbook, versions)
            records += more
        if not any(item.status is DeltaStatus.APPLIED for item in records):
            playbook = versions[-1].playbook
        stored = await store.commit(SCOPE, playbook, records, expected_version=versions[-1].version)
        if stored.version > versions[-1].version:
            versions.append(stored)
    for version in versions:
        assert await store.load(SCOPE, version=version.version) == version
        replayed = await store.replay(SCOPE, version=version.version)
        assert replayed.dumps() == version.playbook.dumps()
    assert await store.load(SCOPE) == versions[-1]
    return [version.playbook.dumps() for version in versions]


async def on_disk(history: Sequence[Sequence[Step]]) -> list[str]:
    with tempfile.TemporaryDirectory() as directory:
        database = SqliteDatabase(Path(directory) / "memory.db")
        try:
            dumps = await replays(SqlPlaybookStore(database), history)
            # A store without a cache reads the same from the rows.
            assert (await SqlPlaybookStore(database).load(SCOPE)).playbook.dumps() == dumps[-1]
        finally:
            await database.close()
        return dumps


@given(histories)
def test_the_log_in_memory_replays_to_every_version(history: list[list[Step]]) -> None:
    asyncio.run(replays(InMemoryPlaybookStore(), history))


@settings(max_examples=examples(fast=8, soak=25))
@given(histories)
def test_the_log_on_disk_replays_to_every_version_as_in_memory(history: list[list[Step]]) -> None:
    assert asyncio.run(on_disk(history)) == asyncio.run(replays(InMemoryPlaybookStore(), history))

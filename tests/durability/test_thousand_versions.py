"""Any of 1,000 versions can be read and rolled back to, and is then what it was, byte for byte."""

import random
from pathlib import Path

from core.adapters.in_memory import InMemoryPlaybookStore
from core.domain.playbook_changes import Author
from core.ports.playbook_store import PlaybookStore
from schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from tests.contract.values import record
from tests.durability.opening import SCOPE, playbook_store
from tests.fakes.clock import START

VERSIONS, ROLLBACKS = 1_000, 200
BY = Author("ann", START)


def step(playbook: Playbook, rng: random.Random) -> tuple[Playbook, list[DeltaRecord]]:
    """One to three changes: additions, edits, tags, pins, merges, removals."""
    draft, records = playbook.draft(), list[DeltaRecord]()
    for _ in range(rng.randint(1, 3)):
        bullets = draft.bullets
        if len(bullets) < 3 or (len(bullets) < 30 and rng.random() < 0.5):
            text = f"lesson {rng.random()} 教訓"
            records.append(record("ADD", after=draft.add("r", text, bullet_id=None, at=START)))
            continue
        one, two = rng.sample(bullets, 2)
        match rng.randrange(5):
            case 0:
                text = f"edited {rng.random()}"
                after = draft.update(one.id, content=text, section=None, at=START)
                records.append(record("EDIT", before=one, after=after))
            case 1:
                after = draft.tag(one.id, "helpful", increment=1, at=START)
                records.append(record("TAG", before=one, after=after))
            case 2:
                records.append(record("PIN", before=one, after=draft.pin(one.id, pinned=True)))
            case 3:
                after = draft.merge(one.id, [two.id], content=None, section=None, at=START)
                records.append(record("MERGE", before=two, merged_into=one.id))
                records.append(record("MERGE", before=one, after=after))
            case _:
                records.append(record("REMOVE", before=draft.remove(one.id)))
    return playbook.with_draft(draft), records


async def live(store: PlaybookStore) -> list[StoredPlaybook]:
    """A playbook's versions, the empty one first."""
    rng = random.Random(5)
    versions = [await store.load(SCOPE)]
    for number in range(VERSIONS):
        playbook, records = step(versions[-1].playbook, rng)
        versions.append(await store.commit(SCOPE, playbook, records, expected_version=number))
    return versions


def written(playbook: Playbook) -> list[str]:
    return [bullet.model_dump_json() for bullet in playbook.bullets]


async def roll_back(store: PlaybookStore, versions: list[StoredPlaybook], times: int) -> None:
    """Roll back to versions in any order, and compare bytes and digests."""
    current = versions[-1]
    for target in random.Random(6).sample(versions, times):
        current = await store.rollback(
            SCOPE, target.version, expected_version=current.version, by=BY
        )
        assert current.digest == target.digest
        assert written(current.playbook) == written(target.playbook)
        # No id is ever free again.
        assert current.playbook.next_id == versions[-1].playbook.next_id


async def test_on_disk_any_version_is_restored_byte_for_byte(tmp_path: Path) -> None:
    async with playbook_store(str(tmp_path)) as store:
        versions = await live(store)
        await roll_back(store, versions, ROLLBACKS)
    async with playbook_store(str(tmp_path)) as store:
        # What another process reads is the same, and the log alone leads to it.
        newest = await store.load(SCOPE)
        assert newest.version == VERSIONS + ROLLBACKS
        assert await store.replay(SCOPE) == newest.playbook
        for target in versions:
            found = await store.load(SCOPE, version=target.version)
            assert found.playbook.dumps() == target.playbook.dumps()


async def test_in_memory_versions_are_restored_byte_for_byte() -> None:
    store = InMemoryPlaybookStore()
    versions = await live(store)
    await roll_back(store, versions, 25)

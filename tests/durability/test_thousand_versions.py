"""Any version can be read and rolled back to, and is then what it was, byte for byte.

Some in every run, 1,000 in `make test-soak`.
"""

import random
from pathlib import Path

import pytest

from acc_ace.core.playbook.playbook_store import PlaybookStore
from acc_ace.core.schemas.delta import Author
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from tests.contract.values import record
from tests.durability.opening import SCOPE, playbook_store
from tests.fakes.clock import START
from tests.fakes.stores import InMemoryPlaybookStore

MANY = [(100, 20), pytest.param(1_000, 200, marks=pytest.mark.soak)]
"""Versions, and how many of them are rolled back to."""

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


async def live(store: PlaybookStore, number_of_versions: int) -> list[StoredPlaybook]:
    """A playbook's versions, the empty one first."""
    rng = random.Random(5)
    versions = [await store.load(SCOPE)]
    for number in range(number_of_versions):
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


@pytest.mark.parametrize(("number", "rollbacks"), MANY)
async def test_on_disk_any_version_is_restored_byte_for_byte(
    number: int, rollbacks: int, tmp_path: Path
) -> None:
    async with playbook_store(str(tmp_path)) as store:
        versions = await live(store, number)
        await roll_back(store, versions, rollbacks)
    async with playbook_store(str(tmp_path)) as store:
        # What another process reads is the same, and the log alone leads to it.
        newest = await store.load(SCOPE)
        assert newest.version == number + rollbacks
        assert await store.replay(SCOPE) == newest.playbook
        for target in versions:
            found = await store.load(SCOPE, version=target.version)
            assert found.playbook.dumps() == target.playbook.dumps()


@pytest.mark.parametrize("number", [100, pytest.param(1_000, marks=pytest.mark.soak)])
async def test_in_memory_versions_are_restored_byte_for_byte(number: int) -> None:
    store = InMemoryPlaybookStore()
    versions = await live(store, number)
    await roll_back(store, versions, 25)

"""What every PlaybookStore promises."""

import asyncio

import pytest

from acc_ace.errors import ConflictError, NotFoundError, PlaybookError
from acc_ace.storage.create_stores import Stores
from schemas.base import PlaybookScope, Tenant
from schemas.bullet import Bullet
from schemas.delta import DeltaStatus
from schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from tests.contract.values import record

SHARED = PlaybookScope("shop")
OWN = PlaybookScope("shop", "aiko")


async def add(
    stores: Stores, current: StoredPlaybook, content: str, *, scope: PlaybookScope = SHARED
) -> StoredPlaybook:
    playbook, bullet = current.playbook.add_bullet("rules", content)
    return await stores.playbooks.commit(
        scope, playbook, [record("ADD", after=bullet)], expected_version=current.version
    )


async def test_a_new_scope_has_the_empty_playbook(stores: Stores) -> None:
    empty = await stores.playbooks.load(SHARED)
    assert (empty.version, empty.playbook) == (0, Playbook())
    assert await stores.playbooks.replay(SHARED) == Playbook()
    assert await stores.playbooks.deltas(SHARED) == []


async def test_every_version_can_be_loaded_and_replayed(stores: Stores) -> None:
    versions = [await stores.playbooks.load(SHARED)]
    for number in range(70):
        versions.append(await add(stores, versions[-1], f"lesson {number} 教訓"))
    for version in versions:
        loaded = await stores.playbooks.load(SHARED, version=version.version)
        assert loaded == version
        replayed = await stores.playbooks.replay(SHARED, version=version.version)
        assert replayed.dumps() == version.playbook.dumps()


async def test_a_version_that_never_was_is_not_found(stores: Stores) -> None:
    await add(stores, await stores.playbooks.load(SHARED), "one")
    for version in (-1, 2):
        with pytest.raises(NotFoundError, match="it has 0 to 1"):
            await stores.playbooks.load(SHARED, version=version)
        with pytest.raises(NotFoundError):
            await stores.playbooks.replay(SHARED, version=version)


async def test_another_commit_first_is_a_conflict_and_loses_nothing(stores: Stores) -> None:
    empty = await stores.playbooks.load(SHARED)
    first = await add(stores, empty, "first")
    with pytest.raises(ConflictError, match="at version 1, not 0"):
        await add(stores, empty, "second")
    assert await stores.playbooks.load(SHARED) == first
    assert len(await stores.playbooks.deltas(SHARED)) == 1


async def test_writers_that_retry_after_a_conflict_all_get_in(stores: Stores) -> None:
    async def write(number: int) -> None:
        while True:
            try:
                await add(stores, await stores.playbooks.load(SHARED), f"lesson {number}")
            except ConflictError:
                continue
            return

    await asyncio.gather(*(write(number) for number in range(8)))
    stored = await stores.playbooks.load(SHARED)
    assert stored.version == 8
    assert len({bullet.id for bullet in stored.playbook.bullets}) == 8


async def test_held_and_rejected_operations_are_logged_without_a_new_version(
    stores: Stores,
) -> None:
    current = await add(stores, await stores.playbooks.load(SHARED), "kept")
    held = record("REMOVE", before=current.playbook.bullets[0], status=DeltaStatus.HELD)
    rejected = record("ADD", status=DeltaStatus.REJECTED)
    after = await stores.playbooks.commit(
        SHARED, current.playbook, [held, rejected], expected_version=1
    )
    assert after == current
    log = await stores.playbooks.deltas(SHARED)
    assert [(item.seq, item.version, item.status.value) for item in log] == [
        (3, 1, "rejected"),
        (2, 1, "held"),
        (1, 1, "applied"),
    ]


async def test_records_that_do_not_lead_to_the_playbook_are_refused(stores: Stores) -> None:
    playbook, bullet = Playbook().add_bullet("rules", "logged")
    unlogged = playbook.add_bullet("rules", "not logged").playbook
    with pytest.raises(PlaybookError, match="log every changed bullet"):
        await stores.playbooks.commit(
            SHARED, unlogged, [record("ADD", after=bullet)], expected_version=0
        )
    with pytest.raises(PlaybookError):
        await stores.playbooks.commit(SHARED, playbook, [], expected_version=0)
    assert (await stores.playbooks.load(SHARED)).version == 0


async def test_a_rollback_restores_bytes_order_and_counter(stores: Stores) -> None:
    current = await stores.playbooks.load(SHARED)
    for content in ("a", "b", "c"):
        current = await add(stores, current, content)
    target = current
    changed = current.playbook.remove_bullet("b-00001").add_bullet("rules", "d")
    records = [
        record("REMOVE", before=target.playbook.bullets[0]),
        record("ADD", after=changed.bullet),
    ]
    current = await stores.playbooks.commit(SHARED, changed.playbook, records, expected_version=3)
    back = [
        record("ROLLBACK", after=target.playbook.bullets[0]),
        record("ROLLBACK", before=changed.bullet),
    ]
    restored = await stores.playbooks.commit(SHARED, target.playbook, back, expected_version=4)
    assert restored.digest == target.digest
    assert (await stores.playbooks.replay(SHARED)).dumps() == target.playbook.dumps()


async def test_the_log_pages_newest_first(stores: Stores) -> None:
    current = await stores.playbooks.load(SHARED)
    for number in range(5):
        current = await add(stores, current, f"lesson {number}")
    page = await stores.playbooks.deltas(SHARED, limit=2)
    assert [item.seq for item in page] == [5, 4]
    rest = await stores.playbooks.deltas(SHARED, limit=10, before=4)
    assert [item.seq for item in rest] == [3, 2, 1]


async def test_scopes_are_apart(stores: Stores) -> None:
    await add(stores, await stores.playbooks.load(SHARED), "for all")
    for scope in (OWN, PlaybookScope("shop", ""), PlaybookScope("desk")):
        assert (await stores.playbooks.load(scope)).version == 0
        await add(stores, await stores.playbooks.load(scope), "own", scope=scope)
    assert (await stores.playbooks.load(SHARED)).playbook.bullets[0].content == "for all"


def by(user: str, bullet: Bullet, status: DeltaStatus = DeltaStatus.APPLIED) -> DeltaRecord:
    return record("ADD", after=bullet, status=status, user=user, session=f"{user}-1", turn=4)


async def test_erase_takes_the_own_playbook_and_the_provenance_in_shared_logs(
    stores: Stores,
) -> None:
    await add(stores, await stores.playbooks.load(OWN), "private", scope=OWN)
    one = Playbook().add_bullet("rules", "by aiko")
    two = one.playbook.add_bullet("rules", "by ben")
    refused = Bullet(id="b-00009", section="rules", content="aiko's secret")
    shared = await stores.playbooks.commit(
        SHARED,
        two.playbook,
        [
            by("aiko", one.bullet),
            by("ben", two.bullet),
            by("aiko", refused, DeltaStatus.REJECTED),
        ],
        expected_version=0,
    )

    assert await stores.playbooks.erase(Tenant("shop", "aiko")) == 3

    assert (await stores.playbooks.load(OWN)).version == 0
    assert await stores.playbooks.load(SHARED) == shared
    assert await stores.playbooks.replay(SHARED) == shared.playbook
    third, second, first = await stores.playbooks.deltas(SHARED)
    assert (first.user, first.session, first.turn) == ("", "", 0)
    assert second.user == "ben"
    assert (third.user, third.after) == ("", None)

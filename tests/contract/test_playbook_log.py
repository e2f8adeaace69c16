"""What every PlaybookStore tells of a bullet's and an operation's past."""

import asyncio

import pytest

from acc_ace.core.schemas.delta import DeltaKind, DeltaStatus
from acc_ace.core.schemas.playbook import Playbook
from acc_ace.errors import ConflictError, NotFoundError
from acc_ace.storage.create_stores import Stores
from tests.contract.playbooks import BY, SHARED, add, archive, commit, hold, merge, restore
from tests.contract.values import record
from tests.fakes.clock import START


async def test_a_commit_of_the_same_name_gives_the_first_result_and_changes_nothing(
    stores: Stores,
) -> None:
    playbook, bullet = Playbook().add_bullet("rules", "learnt once")
    named = [record("ADD", after=bullet)]
    first = await stores.playbooks.commit(
        SHARED, playbook, named, expected_version=0, commit_id="job-1"
    )
    await add(stores, "of another job")
    again = await stores.playbooks.commit(
        SHARED, playbook, named, expected_version=0, commit_id="job-1"
    )
    assert again == first
    assert await stores.playbooks.committed(SHARED, "job-1") == first
    assert await stores.playbooks.committed(SHARED, "job-2") is None
    assert (await stores.playbooks.load(SHARED)).version == 2


async def test_a_named_commit_that_learnt_nothing_is_found_as_well(stores: Stores) -> None:
    current = await add(stores, "one")
    await commit(stores, current.playbook, commit_id="job-1")
    assert await stores.playbooks.committed(SHARED, "job-1") == current
    assert len(await stores.playbooks.deltas(SHARED)) == 1


async def test_of_many_runs_of_one_job_one_counts(stores: Stores) -> None:
    playbook, bullet = Playbook().add_bullet("rules", "learnt once")
    results = await asyncio.gather(
        *(
            stores.playbooks.commit(
                SHARED,
                playbook,
                [record("ADD", after=bullet)],
                expected_version=0,
                commit_id="job-1",
            )
            for _ in range(8)
        )
    )
    assert {result.version for result in results} == {1}
    assert len(await stores.playbooks.deltas(SHARED)) == 1


async def test_the_history_of_a_bullet_holds_its_changes_and_what_was_merged_into_it(
    stores: Stores,
) -> None:
    current = (await add(stores, "one", "two", "three")).playbook
    edited = current.update_bullet("b-00001", content="one, better", at=START)
    changed = record("EDIT", before=current.get("b-00001"), after=edited.get("b-00001"))
    await commit(stores, edited, changed)
    await merge(stores, "b-00001", "b-00002")

    history = await stores.playbooks.history(SHARED, "[B-00001]")

    assert [(item.kind, item.bullet_id) for item in history] == [
        ("MERGE", "b-00001"),
        ("MERGE", "b-00002"),
        ("EDIT", "b-00001"),
        ("ADD", "b-00001"),
    ]
    pages = [
        await stores.playbooks.history(SHARED, "b-00001", limit=2),
        await stores.playbooks.history(SHARED, "b-00001", limit=2, before=history[1].seq),
    ]
    assert [*pages[0], *pages[1]] == history
    assert await stores.playbooks.history(SHARED, "b-00099") == []


async def test_an_old_id_leads_to_what_it_was_merged_into(stores: Stores) -> None:
    await add(stores, "one", "two", "three", "four")
    await merge(stores, "b-00002", "b-00001")
    await merge(stores, "b-00003", "b-00002")
    await archive(stores, "b-00004")

    wanted = ("b-00003", "B-00002 ", "[b-00001]", "b-00004", "b-00099", "")
    found = [await stores.playbooks.resolve(SHARED, bullet_id) for bullet_id in wanted]

    assert found == ["b-00003", "b-00003", "b-00003", None, None, None]


async def test_redirects_that_go_round_lead_nowhere(stores: Stores) -> None:
    current = (await add(stores, "one", "two")).playbook
    round_about = [
        record("MERGE", before=current.get("b-00001"), merged_into="b-00002"),
        record("MERGE", before=current.get("b-00002"), merged_into="b-00001"),
    ]
    empty = current.remove_bullet("b-00001").remove_bullet("b-00002")
    await commit(stores, empty, *round_about)
    assert await stores.playbooks.resolve(SHARED, "b-00001") is None


async def test_a_held_operation_waits_until_it_is_decided_once(stores: Stores) -> None:
    current = (await add(stores, "one")).playbook
    first, second = await hold(stores, user="aiko"), await hold(stores, user="ben")
    assert [item.seq for item in await stores.playbooks.held(SHARED)] == [second, first]
    assert [item.seq for item in await stores.playbooks.held(SHARED, limit=1)] == [second]
    assert [item.seq for item in await stores.playbooks.held(SHARED, before=second)] == [first]

    dismissed = record("ADD", status=DeltaStatus.REJECTED, resolves=first, user="ann")
    await commit(stores, current, dismissed)

    assert [item.seq for item in await stores.playbooks.held(SHARED)] == [second]
    log = await stores.playbooks.deltas(SHARED)
    with pytest.raises(ConflictError, match=f"held operation {first} was decided already"):
        await commit(stores, current, dismissed)
    with pytest.raises(NotFoundError, match="no held operation 1 "):
        await commit(stores, current, dismissed.model_copy(update={"resolves": 1}))
    twice = dismissed.model_copy(update={"resolves": second})
    with pytest.raises(ConflictError):
        await commit(stores, current, twice, twice)
    assert await stores.playbooks.deltas(SHARED) == log


async def test_archived_bullets_are_listed_until_they_come_back(stores: Stores) -> None:
    current = (await add(stores, "one", "two", "three")).playbook
    await archive(stores, "b-00001")
    await archive(stores, "b-00003")
    listed = await stores.playbooks.archived(SHARED)
    assert [item.before for item in listed] == [current.get("b-00003"), current.get("b-00001")]
    assert [item.reason for item in listed] == ["stale", "stale"]

    kept = current.get("b-00001")
    assert kept
    await restore(stores, kept)

    assert [item.bullet_id for item in await stores.playbooks.archived(SHARED)] == ["b-00003"]
    await archive(stores, "b-00001")
    listed = await stores.playbooks.archived(SHARED, limit=1)
    assert [item.bullet_id for item in listed] == ["b-00001"]
    rest = await stores.playbooks.archived(SHARED, before=listed[0].seq)
    assert [item.bullet_id for item in rest] == ["b-00003"]


async def test_a_bullet_archived_and_restored_in_one_commit_is_not_in_the_archive(
    stores: Stores,
) -> None:
    current = (await add(stores, "one", "two")).playbook
    bullet = current.get("b-00001")
    assert bullet
    moved = current.remove_bullet("b-00001").draft()
    moved.restore(bullet)
    steps = [record("ARCHIVE", before=bullet), record("RESTORE", after=bullet)]
    after = await commit(stores, current.with_draft(moved), *steps)
    assert await stores.playbooks.archived(SHARED) == []
    assert [item.id for item in after.playbook.bullets] == ["b-00002", "b-00001"]


async def test_versions_tell_when_how_large_and_what_led_to_them(stores: Stores) -> None:
    first = await add(stores, "one", "two")
    second = await merge(stores, "b-00001", "b-00002")
    await hold(stores)

    versions = await stores.playbooks.versions(SHARED)

    assert [item.version for item in versions] == [2, 1]
    assert [item.digest for item in versions] == [second.digest, first.digest]
    assert [item.bullets for item in versions] == [1, 2]
    assert [item.counts for item in versions] == [{"MERGE": 2}, {"ADD": 2}]
    assert {item.at for item in versions} == {START}
    assert await stores.playbooks.versions(SHARED, limit=1) == versions[:1]
    assert await stores.playbooks.versions(SHARED, before=2) == versions[1:]


async def test_a_rollback_is_a_new_version_with_the_content_of_the_old_one(
    stores: Stores,
) -> None:
    await add(stores, "one", "two", "three")
    await merge(stores, "b-00001", "b-00002")
    target = await archive(stores, "b-00003")
    await add(stores, "four")
    back = await stores.playbooks.rollback(SHARED, 1, expected_version=4, by=BY)
    assert back.version == 5
    assert back.digest == (await stores.playbooks.load(SHARED, version=1)).digest
    assert await stores.playbooks.archived(SHARED) == []

    again = await stores.playbooks.rollback(SHARED, 3, expected_version=5, by=BY)

    assert again.digest == target.digest
    assert again.playbook.bullets == target.playbook.bullets
    assert await stores.playbooks.load(SHARED) == again
    assert await stores.playbooks.replay(SHARED) == again.playbook
    # What became of the others is known again, too.
    assert await stores.playbooks.resolve(SHARED, "b-00002") == "b-00001"
    assert [item.bullet_id for item in await stores.playbooks.archived(SHARED)] == ["b-00003"]
    said = [item for item in await stores.playbooks.deltas(SHARED) if item.version == 5]
    assert (said[-1].kind, said[-1].reason, said[-1].user) == (
        DeltaKind.ROLLBACK,
        "version 1",
        "ann",
    )


async def test_no_id_is_given_twice_not_even_after_a_rollback(stores: Stores) -> None:
    await add(stores, "one")
    await add(stores, "two")
    await stores.playbooks.rollback(SHARED, 1, expected_version=2, by=BY)
    after = await add(stores, "three")
    assert [bullet.id for bullet in after.playbook.bullets] == ["b-00001", "b-00003"]


async def test_a_rollback_to_nothing_is_possible(stores: Stores) -> None:
    empty = await stores.playbooks.load(SHARED)
    await add(stores, "one")
    back = await stores.playbooks.rollback(SHARED, 0, expected_version=1, by=BY)
    assert (back.version, back.digest, back.playbook.bullets) == (2, empty.digest, ())


async def test_a_rollback_to_an_unknown_version_or_on_another_one_changes_nothing(
    stores: Stores,
) -> None:
    current = await add(stores, "one")
    for version in (-1, 2):
        with pytest.raises(NotFoundError, match="it has 0 to 1"):
            await stores.playbooks.rollback(SHARED, version, expected_version=1, by=BY)
    with pytest.raises(ConflictError, match="at version 1, not 0"):
        await stores.playbooks.rollback(SHARED, 0, expected_version=0, by=BY)
    assert await stores.playbooks.load(SHARED) == current
    assert len(await stores.playbooks.deltas(SHARED)) == 1

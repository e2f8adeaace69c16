"""What every PlaybookStore promises of branches."""

import pytest

from acc_ace.core.playbook.playbook_merge import MOST_BRANCHES
from acc_ace.errors import ConflictError, InputError, NotFoundError
from acc_ace.storage.create_stores import Stores
from schemas.base import PlaybookScope, Tenant
from schemas.delta import DeltaKind
from tests.contract.playbooks import BY, SHARED, add, archive, commit, merge
from tests.contract.values import record

TRIAL = SHARED._replace(branch="trial")


async def test_a_branch_begins_with_a_version_and_then_goes_its_own_way(stores: Stores) -> None:
    first = await add(stores, "one")
    main = await add(stores, "two")
    started = await stores.playbooks.fork(SHARED, "trial", by=BY, version=1)
    assert (started.version, started.digest) == (1, first.digest)
    assert started.playbook.next_id == first.playbook.next_id

    changed = await add(stores, "on the branch", scope=TRIAL)

    assert await stores.playbooks.load(TRIAL) == changed
    assert await stores.playbooks.load(SHARED) == main
    for version in (started, changed):
        found = await stores.playbooks.load(TRIAL, version=version.version)
        assert found.playbook.dumps() == version.playbook.dumps()
        replayed = await stores.playbooks.replay(TRIAL, version=version.version)
        assert replayed == version.playbook
    begin = (await stores.playbooks.deltas(TRIAL))[-1]
    assert (begin.kind, begin.reason, begin.user) == ("FORK", "branch main, version 1", "ann")


async def test_branches_are_listed_with_where_they_come_from(stores: Stores) -> None:
    main = await add(stores, "one")
    assert await stores.playbooks.branches(SHARED) == []
    await stores.playbooks.fork(SHARED, "trial", by=BY)
    await stores.playbooks.fork(TRIAL, "again", by=BY)
    await stores.playbooks.fork(SHARED._replace(app="desk"), "elsewhere", by=BY)
    listed = await stores.playbooks.branches(SHARED)
    assert [(item.scope, item.parent, item.parent_version) for item in listed] == [
        (SHARED._replace(branch="again"), "trial", 1),
        (TRIAL, "", 1),
    ]
    assert {(item.version, item.digest, item.bullets) for item in listed} == {(1, main.digest, 1)}


async def test_an_empty_playbook_can_be_forked_and_keeps_its_counter(stores: Stores) -> None:
    await add(stores, "one")
    current = (await stores.playbooks.load(SHARED)).playbook
    gone = record("REMOVE", before=current.bullets[0])
    await commit(stores, current.remove_bullet("b-00001"), gone)
    await stores.playbooks.fork(SHARED, "trial", by=BY)
    added = await add(stores, "two", scope=TRIAL)
    assert [bullet.id for bullet in added.playbook.bullets] == ["b-00002"]


async def test_a_promoted_branch_becomes_the_main_one_as_it_was_tried(stores: Stores) -> None:
    await add(stores, "one", "two", "three")
    await stores.playbooks.fork(SHARED, "trial", by=BY)
    await merge(stores, "b-00001", "b-00002", scope=TRIAL)
    await archive(stores, "b-00003", scope=TRIAL)
    tried = await add(stores, "four", scope=TRIAL)

    promoted = await stores.playbooks.promote(TRIAL, by=BY)

    assert (promoted.version, promoted.digest) == (2, tried.digest)
    assert await stores.playbooks.load(SHARED) == promoted
    assert await stores.playbooks.replay(SHARED) == promoted.playbook
    assert await stores.playbooks.load(TRIAL) == tried
    assert await stores.playbooks.resolve(SHARED, "b-00002") == "b-00001"
    assert [item.bullet_id for item in await stores.playbooks.archived(SHARED)] == ["b-00003"]
    log = [item for item in await stores.playbooks.deltas(SHARED) if item.version == 2]
    assert (log[-1].kind, log[-1].reason) == (DeltaKind.PROMOTE, "branch trial, version 4")


async def test_a_branch_is_not_promoted_over_what_main_learnt_unless_told_to(
    stores: Stores,
) -> None:
    await add(stores, "one")
    await stores.playbooks.fork(SHARED, "trial", by=BY)
    await add(stores, "of the branch", scope=TRIAL)
    main = await add(stores, "of main")
    with pytest.raises(ConflictError, match=r"at version 2, not 1.*--onto VERSION") as refused:
        await stores.playbooks.promote(TRIAL, by=BY)
    assert "operations again" not in str(refused.value)
    assert await stores.playbooks.load(SHARED) == main

    promoted = await stores.playbooks.promote(TRIAL, by=BY, expected_version=2)

    # Both had given the id b-00002; it stays with the lesson that main gave it to.
    assert [(bullet.id, bullet.content) for bullet in promoted.playbook.bullets] == [
        ("b-00001", "one"),
        ("b-00003", "of the branch"),
    ]
    assert promoted.playbook.next_id == 4


async def test_what_was_merged_before_a_fork_still_resolves_on_the_branch(stores: Stores) -> None:
    await add(stores, "one", "two")
    await merge(stores, "b-00001", "b-00002")
    await stores.playbooks.fork(SHARED, "trial", by=BY)
    await add(stores, "three", scope=TRIAL)
    await merge(stores, "b-00003", "b-00001", scope=TRIAL)
    assert await stores.playbooks.resolve(TRIAL, "b-00002") == "b-00003"
    assert await stores.playbooks.resolve(SHARED, "b-00002") == "b-00001"
    assert await stores.playbooks.resolve(TRIAL, "b-00099") is None


async def test_a_branch_that_is_deleted_is_gone_and_its_children_stay(stores: Stores) -> None:
    await add(stores, "one")
    await stores.playbooks.fork(SHARED, "trial", by=BY)
    child = await stores.playbooks.fork(TRIAL, "child", by=BY)
    await stores.playbooks.drop(TRIAL)
    for operation in (
        stores.playbooks.load(TRIAL),
        stores.playbooks.deltas(TRIAL),
        stores.playbooks.drop(TRIAL),
        stores.playbooks.commit(TRIAL, child.playbook, [], expected_version=1),
        stores.playbooks.fork(TRIAL, "more", by=BY),
        stores.playbooks.promote(TRIAL, by=BY),
    ):
        with pytest.raises(NotFoundError, match="of app 'shop' has no branch 'trial'"):
            await operation
    [left] = await stores.playbooks.branches(SHARED)
    assert (left.scope.branch, left.parent) == ("child", None)
    assert await stores.playbooks.load(left.scope) == child
    with pytest.raises(InputError, match="name the version of main"):
        await stores.playbooks.promote(left.scope, by=BY)


async def test_a_branch_of_the_same_name_may_begin_again(stores: Stores) -> None:
    await add(stores, "one")
    await stores.playbooks.fork(SHARED, "trial", by=BY)
    await add(stores, "two", scope=TRIAL)
    await stores.playbooks.drop(TRIAL)
    started = await stores.playbooks.fork(SHARED, "trial", by=BY)
    assert await stores.playbooks.load(TRIAL) == started
    assert len(started.playbook.bullets) == 1


async def test_names_and_numbers_of_branches_are_bounded(stores: Stores) -> None:
    await add(stores, "one")
    for name in ("", "main", "a b", "../x", "x" * 65, "-"):
        with pytest.raises(InputError, match="cannot name a branch"):
            await stores.playbooks.fork(SHARED, name, by=BY)
    for number in range(MOST_BRANCHES):
        await stores.playbooks.fork(SHARED, f"trial-{number}", by=BY)
    with pytest.raises(ConflictError, match="'trial-0' already exists"):
        await stores.playbooks.fork(SHARED, "trial-0", by=BY)
    with pytest.raises(InputError, match=f"has {MOST_BRANCHES} branches, which is the maximum"):
        await stores.playbooks.fork(SHARED, "one-more", by=BY)
    for operation in (stores.playbooks.drop(SHARED), stores.playbooks.promote(SHARED, by=BY)):
        with pytest.raises(InputError, match="the main branch cannot be"):
            await operation


async def test_branches_of_a_user_are_erased_with_the_user(stores: Stores) -> None:
    own = PlaybookScope("shop", "aiko")
    await add(stores, "private", scope=own)
    await stores.playbooks.fork(own, "trial", by=BY)
    await stores.playbooks.erase(Tenant("shop", "aiko"))
    assert await stores.playbooks.branches(own) == []
    assert (await stores.playbooks.load(own)).version == 0


async def test_an_app_that_has_learnt_nothing_can_try_on_a_branch(stores: Stores) -> None:
    started = await stores.playbooks.fork(SHARED, "trial", by=BY)
    assert started.playbook.bullets == ()
    tried = await add(stores, "one", scope=TRIAL)
    promoted = await stores.playbooks.promote(TRIAL, by=BY)
    assert (promoted.version, promoted.digest) == (1, tried.digest)

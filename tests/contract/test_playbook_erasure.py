"""A user who is erased leaves what others were taught, and no trace of having taught it."""

import pytest

from acc_ace.core.schemas.base import Tenant
from acc_ace.core.schemas.bullet import Origin
from acc_ace.errors import ConflictError
from acc_ace.storage.create_stores import Stores
from tests.contract.playbooks import SHARED, add, archive, commit, hold
from tests.contract.values import record
from tests.fakes.clock import START

AIKO = Tenant("shop", "aiko")
NAMES = ("aiko", 'quo"te', "50%_off!", "愛子")


async def everything(stores: Stores) -> str:
    """All that the store still says of the shared playbook, as text."""
    log = await stores.playbooks.deltas(SHARED, limit=1_000)
    texts = [item.model_dump_json() for item in log]
    for version in range((await stores.playbooks.load(SHARED)).version + 1):
        texts.append((await stores.playbooks.load(SHARED, version=version)).model_dump_json())
    return "\n".join(texts)


async def test_a_lesson_loses_its_origin_wherever_it_is_kept_and_keeps_its_digest(
    stores: Stores,
) -> None:
    await add(stores, "by aiko", user="aiko")
    for number in range(66):
        await add(stores, f"by ben {number}", user="ben")
    before = await add(stores, "last")
    digests = [item.digest for item in await stores.playbooks.versions(SHARED, limit=100)]
    assert '"user":"aiko"' in await everything(stores)

    await stores.playbooks.erase(AIKO)

    said = await everything(stores)
    assert "aiko" not in said.replace("by aiko", "")
    assert '"user":"ben"' in said
    after = await stores.playbooks.load(SHARED)
    assert after.digest == before.digest
    assert after.version == before.version + 1
    assert [bullet.content for bullet in after.playbook.bullets] == [
        bullet.content for bullet in before.playbook.bullets
    ]
    assert await stores.playbooks.replay(SHARED) == after.playbook
    kept = [item.digest for item in await stores.playbooks.versions(SHARED, limit=100)]
    assert kept == [before.digest, *digests]


async def test_names_of_any_letters_are_found(stores: Stores) -> None:
    for name in NAMES:
        await add(stores, f"of {len(name)}", user=name)
    for name in NAMES:
        assert await stores.playbooks.erase(Tenant("shop", name)) >= 2
    assert "愛子" not in await everything(stores)
    playbook = (await stores.playbooks.load(SHARED)).playbook
    assert [bullet.origin for bullet in playbook.bullets] == [None] * len(NAMES)


async def test_whoever_holds_the_lesson_with_its_origin_has_to_read_again(stores: Stores) -> None:
    held = await add(stores, "by aiko", user="aiko")
    await stores.playbooks.erase(AIKO)
    tagged = held.playbook.update_bullet_tag("b-00001", "helpful", at=START)
    counted = record("TAG", before=held.playbook.bullets[0], after=tagged.bullets[0])
    with pytest.raises(ConflictError):
        await stores.playbooks.commit(SHARED, tagged, [counted], expected_version=held.version)
    assert "aiko" not in (await everything(stores)).replace("by aiko", "")


async def test_another_process_that_remembers_the_origin_forgets_it(
    stores: Stores, other: Stores
) -> None:
    await add(stores, "by aiko", user="aiko")
    assert (await other.playbooks.load(SHARED)).playbook.bullets[0].origin is not None
    await stores.playbooks.erase(AIKO)
    assert (await other.playbooks.load(SHARED)).playbook.bullets[0].origin is None
    await add(other, "by ben", user="ben")
    assert "aiko" not in (await everything(stores)).replace("by aiko", "")


async def test_an_archived_lesson_loses_its_origin_too(stores: Stores) -> None:
    await add(stores, "by aiko", user="aiko")
    await archive(stores, "b-00001")
    await stores.playbooks.erase(AIKO)
    [archived] = await stores.playbooks.archived(SHARED)
    assert archived.before
    assert (archived.before.content, archived.before.origin) == ("by aiko", None)


async def test_a_held_operation_of_the_user_is_gone_and_those_of_others_stay(
    stores: Stores,
) -> None:
    await add(stores, "one")
    await hold(stores, user="aiko", proposed="aiko's words")
    kept = await hold(stores, user="ben", proposed="ben's words")
    await stores.playbooks.erase(AIKO)
    assert [item.seq for item in await stores.playbooks.held(SHARED)] == [kept]
    assert "aiko" not in await everything(stores)


async def test_a_user_of_another_app_stays(stores: Stores) -> None:
    desk = SHARED._replace(app="desk")
    other = await add(stores, "by aiko", scope=desk, user="aiko")
    await add(stores, "by aiko", user="aiko")
    await stores.playbooks.erase(AIKO)
    assert await stores.playbooks.load(desk) == other
    assert other.playbook.bullets[0].origin == Origin(user="aiko", session="s-1", turn=1)


async def test_erasing_who_taught_nothing_changes_nothing(stores: Stores) -> None:
    before = await add(stores, "by ben", user="ben")
    await commit(stores, before.playbook)
    assert await stores.playbooks.erase(AIKO) == 0
    assert await stores.playbooks.load(SHARED) == before

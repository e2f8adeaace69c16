"""A database in which an earlier program kept copies of playbooks, with a name in `branch`."""

import pytest

from acc_ace.config import Settings
from acc_ace.core.schemas.base import Tenant
from acc_ace.core.schemas.bullet import Origin
from acc_ace.storage.create_stores import Stores
from tests.contract.playbooks import SHARED, add
from tests.contract.values import record
from tests.fakes.clock import START
from tests.fakes.place import Place

# What is in memory was made by no earlier program.
pytestmark = pytest.mark.parametrize("store_settings", ["sqlite", "postgres"], indirect=True)


@pytest.fixture
async def earlier(stores: Stores, store_settings: Settings) -> Place:
    """A playbook of two lessons by aiko, and a branch of it with a third."""
    stored = await add(stores, "one", "two", user="aiko")
    origin = Origin(user="aiko", session="s", turn=1)
    draft = stored.playbook.draft()
    bullet = draft.add("rules", "on a branch", bullet_id=None, at=START, origin=origin)
    forked = record("ADD", after=bullet, user="aiko").model_dump_json().replace('"ADD"', '"FORK"')
    place = Place(store_settings, store_settings.data_dir)
    place.execute(
        "INSERT INTO playbooks (app, shared, user_id, branch, version, next_id, digest, last_seq, "
        "last_position, parent, parent_version) "
        "SELECT app, shared, user_id, 'trial', 1, 4, 'x', 1, 1, id, version FROM playbooks"
    )
    place.execute(
        "INSERT INTO playbook_bullets (playbook, bullet_id, position, body) "
        "SELECT id, ?, 1, ? FROM playbooks WHERE branch <> ''",
        *(bullet.id, bullet.model_dump_json()),
    )
    place.execute(
        "INSERT INTO playbook_deltas (playbook, seq, version, user_id, kind, status, bullet_id, "
        "standing, body) SELECT id, 1, 1, 'aiko', 'FORK', 'applied', ?, false, ? "
        "FROM playbooks WHERE branch <> ''",
        *(bullet.id, forked),
    )
    return place


async def test_it_opens_and_goes_on_without_them(earlier: Place, other: Stores) -> None:
    assert [bullet.content for bullet in (await other.playbooks.load(SHARED)).playbook.bullets] == [
        "one",
        "two",
    ]
    stored = await add(other, "three")
    assert stored.playbook.bullets[-1].id == "b-00003"
    assert await other.playbooks.replay(SHARED) == stored.playbook


async def test_an_erased_user_is_not_named_in_them_either(earlier: Place, other: Stores) -> None:
    await other.playbooks.erase(Tenant("shop", "aiko"))
    # In the place of the playbook, so that its log can be read.
    earlier.execute("DELETE FROM playbooks WHERE branch = ''")
    earlier.execute("UPDATE playbooks SET branch = ''")
    [forked, erased] = reversed(await other.playbooks.deltas(SHARED))
    assert (forked.kind, erased.kind) == ("FORK", "ERASE")
    assert forked.after is not None
    assert (forked.after.content, forked.after.origin, forked.user) == ("on a branch", None, "")

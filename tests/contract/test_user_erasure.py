"""Erasing a user: all or nothing, nothing is left, and others keep all."""

from collections.abc import AsyncIterator

import pytest

from acc_ace import Container, Conversation
from acc_ace.errors import ConflictError, StoreError
from config import ROLES
from schemas.base import SessionKey, Tenant
from tests.contract.values import KEY, OTHER_USER, artifact, entry, interaction
from tests.fakes.clock import START
from tests.fakes.place import Place
from tests.fakes.residue import residue
from tests.fakes.scripted_llm import ScriptedLlm


@pytest.fixture
async def stores(place: Place) -> AsyncIterator[Container]:
    container = place.open()
    yield container
    await container.close()


async def fill(stores: Container, key: SessionKey) -> None:
    await stores.journal.append(key, entry(1), expected_version=0)
    await stores.evidence.record(key, interaction(1))
    await stores.artifacts.add([artifact("a1", "hello", tenant=key.tenant)])
    await stores.directory.open(key, at=START)


async def erase(stores: Container, tenant: Tenant) -> dict[str, int]:
    erased = await stores.erasure.erase(tenant, locked=await stores.erasure.sessions(tenant))
    assert erased is not None
    return erased


async def test_an_erased_user_leaves_nothing_and_others_keep_all(stores: Container) -> None:
    await fill(stores, KEY)
    await fill(stores, OTHER_USER)
    held = await residue(stores, KEY.tenant)
    assert len(held) >= 5
    erased = await erase(stores, KEY.tenant)
    assert {name: erased[name] for name in ("directory", "journal", "evidence", "artifacts")} == {
        "journal": 1,
        "evidence": 1,
        "artifacts": 1,
        "directory": 1,
    }
    assert await residue(stores, KEY.tenant) == {}
    assert await residue(stores, OTHER_USER.tenant) == held


async def test_an_erasure_that_fails_in_the_middle_has_erased_nothing(
    place: Place, stores: Container
) -> None:
    await fill(stores, KEY)
    before = await residue(stores, KEY.tenant)
    place.refuse_deletes("tenants")
    with pytest.raises(StoreError):
        await erase(stores, KEY.tenant)
    assert await residue(stores, KEY.tenant) == before
    place.allow_deletes("tenants")
    await erase(stores, KEY.tenant)
    assert await residue(stores, KEY.tenant) == {}


async def test_a_user_with_a_session_that_is_not_held_is_not_erased(stores: Container) -> None:
    await fill(stores, KEY)
    before = await residue(stores, KEY.tenant)
    assert await stores.erasure.erase(KEY.tenant, locked=["another"]) is None
    assert await residue(stores, KEY.tenant) == before


async def test_a_commit_begun_before_an_erasure_is_refused(stores: Container) -> None:
    await fill(stores, KEY)
    work = stores.unit_of_work()
    work.add(await stores.erasure.presence(KEY.tenant))
    work.add(stores.artifacts.add_write([artifact("a2", "late", tenant=KEY.tenant)]))
    await erase(stores, KEY.tenant)
    with pytest.raises(ConflictError, match="was erased meanwhile"):
        await work.commit()
    assert await residue(stores, KEY.tenant) == {}


async def test_a_user_of_the_same_name_in_another_app_is_somebody_else(stores: Container) -> None:
    await fill(stores, KEY._replace(app="elsewhere"))
    assert await residue(stores, KEY.tenant) == {}


async def test_a_whole_erasure_reports_what_it_erased(place: Place) -> None:
    conversation = Conversation(place.open(), models=dict.fromkeys(ROLES, ScriptedLlm()))
    key = SessionKey("acc_ace", "aiko", "s1")
    await conversation.turn(key, "I prefer short answers.")
    erased = await conversation.erase(key.tenant)
    assert (erased["sessions"], erased["journal"], erased["jobs"]) == (1, 1, 0)
    assert await residue(conversation.container, key.tenant) == {}
    assert [item["kind"] async for item in conversation.export(key.tenant)] == ["user", "end"]
    await conversation.close()

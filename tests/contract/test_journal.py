"""What every Journal promises."""

import asyncio

import pytest

from acc_ace.core.schemas.base import SessionKey
from acc_ace.errors import ConflictError, NotFoundError, StoreError
from acc_ace.storage.create_stores import Stores
from tests.contract.values import KEY, OTHER_APP, OTHER_SESSION, OTHER_USER, entry


async def fill(stores: Stores, key: SessionKey, versions: int) -> None:
    for version in range(1, versions + 1):
        await stores.journal.append(key, entry(version), expected_version=version - 1)


async def test_a_new_session_has_no_head(stores: Stores) -> None:
    assert await stores.journal.head(KEY) is None
    assert await stores.journal.get(KEY, 1) is None
    assert await stores.journal.history(KEY) == []


async def test_the_head_is_the_newest_entry_as_it_was_appended(stores: Stores) -> None:
    await fill(stores, KEY, 1)
    newest = entry(2, "本番 db-01 \ud83d")
    await stores.journal.append(KEY, newest, expected_version=1)
    assert await stores.journal.head(KEY) == newest
    assert await stores.journal.get(KEY, 1) == entry(1)
    assert await stores.journal.get(KEY, 3) is None
    assert await stores.journal.get(KEY, 0) is None


async def test_another_commit_first_is_a_conflict_and_changes_nothing(stores: Stores) -> None:
    await fill(stores, KEY, 2)
    with pytest.raises(ConflictError, match="at version 2, not 1"):
        await stores.journal.append(KEY, entry(2, "late"), expected_version=1)
    assert await stores.journal.head(KEY) == entry(2)


async def test_an_entry_that_skips_a_version_is_refused(stores: Stores) -> None:
    with pytest.raises(StoreError, match="version 5 cannot follow version 0"):
        await stores.journal.append(KEY, entry(5), expected_version=0)
    assert await stores.journal.head(KEY) is None


async def test_of_many_that_append_at_once_one_wins(stores: Stores) -> None:
    results = await asyncio.gather(
        *(
            stores.journal.append(KEY, entry(1, f"writer {n}"), expected_version=0)
            for n in range(8)
        ),
        return_exceptions=True,
    )
    assert sum(result is None for result in results) == 1
    assert sum(isinstance(result, ConflictError) for result in results) == 7


async def test_history_pages_newest_first(stores: Stores) -> None:
    await fill(stores, KEY, 5)
    page = await stores.journal.history(KEY, limit=2)
    assert [item.state.version for item in page] == [5, 4]
    rest = await stores.journal.history(KEY, limit=10, before_version=4)
    assert [item.state.version for item in rest] == [3, 2, 1]
    assert await stores.journal.history(KEY, limit=0) == []


async def test_sessions_come_most_recently_changed_first(stores: Stores) -> None:
    keys = [SessionKey("shop", "aiko", f"s-{n}") for n in range(5)]
    for key in keys:
        await fill(stores, key, 1)
    await stores.journal.append(keys[1], entry(2), expected_version=1)
    first = await stores.journal.sessions(KEY.tenant, limit=2)
    assert [(session, head.state.version) for session, head in first] == [("s-1", 2), ("s-4", 1)]
    rest = await stores.journal.sessions(KEY.tenant, limit=10, before="s-4")
    assert [session for session, _ in rest] == ["s-3", "s-2", "s-0"]


async def test_paging_from_an_unknown_session_is_not_found(stores: Stores) -> None:
    with pytest.raises(NotFoundError, match="'nowhere'"):
        await stores.journal.sessions(KEY.tenant, before="nowhere")


async def test_sessions_users_and_apps_are_apart(stores: Stores) -> None:
    await fill(stores, KEY, 3)
    for key in (OTHER_SESSION, OTHER_USER, OTHER_APP):
        assert await stores.journal.head(key) is None
        await stores.journal.append(key, entry(1), expected_version=0)
    assert len(await stores.journal.sessions(OTHER_USER.tenant)) == 1
    assert len(await stores.journal.sessions(KEY.tenant)) == 2


async def test_erase_takes_one_session_or_the_whole_user(stores: Stores) -> None:
    for key in (KEY, OTHER_SESSION, OTHER_USER):
        await fill(stores, key, 2)
    assert await stores.journal.erase(KEY.tenant, KEY.session) == 2
    assert await stores.journal.head(KEY) is None
    assert [session for session, _ in await stores.journal.sessions(KEY.tenant)] == ["s-2"]
    assert await stores.journal.erase(KEY.tenant) == 2
    assert await stores.journal.head(OTHER_USER) == entry(2)
    await stores.journal.append(KEY, entry(1), expected_version=0)

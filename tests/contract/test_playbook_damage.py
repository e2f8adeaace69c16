"""A playbook that was altered or cut off from outside: a clear error that names what and where."""

import sqlite3
from collections.abc import Callable
from contextlib import closing

import psycopg
import pytest

from acc_ace.config import Settings
from acc_ace.errors import CorruptStoreError
from acc_ace.storage.create_stores import Stores
from acc_ace.storage.sqlite.database import DATABASE_FILE
from tests.contract.playbooks import BY, SHARED, add, archive

# What is in memory cannot be reached from outside.
pytestmark = pytest.mark.parametrize("store_settings", ["sqlite", "postgres"], indirect=True)

Outside = Callable[[str], None]


@pytest.fixture
def outside(store_settings: Settings) -> Outside:
    """Run a statement behind the program's back."""

    def in_sqlite(statement: str) -> None:
        path = store_settings.data_dir / DATABASE_FILE
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(statement)

    def in_postgres(statement: str) -> None:
        assert store_settings.database_url
        url = store_settings.database_url.get_secret_value()
        with psycopg.connect(url, options="-c search_path=acc_ace") as connection:
            connection.execute(statement.encode())

    return in_sqlite if store_settings.store == "sqlite" else in_postgres


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE playbook_bullets SET body = '{' WHERE bullet_id = 'b-00002'", "'b-00002' cannot"),
        ("UPDATE playbook_bullets SET body = replace(body, 'two', 'TWO')", "bullets do not match"),
        ("UPDATE playbook_bullets SET position = 3 - position", "version 2: its bullets do not"),
        ("DELETE FROM playbook_bullets WHERE bullet_id = 'b-00001'", "bullets do not match"),
        ("UPDATE playbooks SET next_id = 1", "version 2: its bullets and its id counter"),
        ("UPDATE playbooks SET version = 1", "version 1: its bullets do not match"),
        ("UPDATE playbooks SET digest = 'x'", "version 2: its bullets do not match"),
    ],
)
async def test_an_altered_playbook_is_refused(
    stores: Stores, other: Stores, outside: Outside, statement: str, message: str
) -> None:
    await add(stores, "one", "two")
    await add(stores, "three")
    outside(statement)
    with pytest.raises(CorruptStoreError, match=message):
        await other.playbooks.load(SHARED)
    with pytest.raises(CorruptStoreError, match=message):
        await add(other, "four")


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE playbook_deltas SET body = 'junk' WHERE seq = 2", "playbook delta 2 cannot"),
        ("UPDATE playbook_deltas SET body = replace(body, 'two', 'TWO')", "version 2: its delta"),
        ("DELETE FROM playbook_deltas WHERE seq = 1", "version 2: its delta log does not match"),
        (
            "UPDATE playbook_versions SET digest = 'x' WHERE version = 2",
            "version 2: its delta log does not match",
        ),
    ],
)
async def test_an_altered_log_is_noticed_when_an_old_version_is_read(
    stores: Stores, outside: Outside, statement: str, message: str
) -> None:
    await add(stores, "one")
    await add(stores, "two")
    current = await add(stores, "three")
    outside(statement)
    with pytest.raises(CorruptStoreError, match=message):
        await stores.playbooks.load(SHARED, version=2)
    with pytest.raises(CorruptStoreError, match=message):
        await stores.playbooks.rollback(SHARED, 2, expected_version=3, by=BY)
    assert await stores.playbooks.load(SHARED) == current


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("{", "playbook snapshot of version 64: not JSON"),
        ('{"schema_version": 99}', "schema_version 99 is newer than 1; upgrade acc-ace"),
    ],
)
async def test_a_snapshot_that_cannot_be_read_is_named(
    stores: Stores, outside: Outside, body: str, message: str
) -> None:
    for number in range(66):
        await add(stores, f"lesson {number}")
    outside(f"UPDATE playbook_snapshots SET body = '{body}'")  # noqa: S608 - a text of above
    with pytest.raises(CorruptStoreError, match=message):
        await stores.playbooks.load(SHARED, version=65)
    # The log alone leads there as well.
    assert len((await stores.playbooks.replay(SHARED, version=65)).bullets) == 65


@pytest.mark.parametrize("page", ["deltas", "archived"])
async def test_a_page_with_an_altered_record_names_it(
    stores: Stores, outside: Outside, page: str
) -> None:
    await add(stores, "one", "two")
    await archive(stores, "b-00001")
    outside("UPDATE playbook_deltas SET body = '[]' WHERE seq = 3")
    with pytest.raises(CorruptStoreError, match="playbook delta 3 cannot be read"):
        await getattr(stores.playbooks, page)(SHARED)


async def test_versions_that_cannot_be_read_are_damage(stores: Stores, outside: Outside) -> None:
    await add(stores, "one")
    outside("UPDATE playbook_versions SET counts = '{'")
    with pytest.raises(CorruptStoreError, match="playbook versions cannot be read"):
        await stores.playbooks.versions(SHARED)

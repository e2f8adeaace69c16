"""A database has one schema; everything of a user in it hangs on the user's row."""

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from acc_ace.errors import StoreError
from acc_ace.storage.create_stores import Stores, create_stores
from acc_ace.storage.sql_database import OLDEST, VERSION
from acc_ace.turn.ports import Ccm
from config import Settings
from tests.contract.values import ELSEWHERE, KEY, SMALL, entry
from tests.fakes import residue_postgres as postgres_residue
from tests.fakes import residue_sqlite as sqlite_residue
from tests.fakes.clock import FixedClock
from tests.fakes.residue_scan import Table

OF_NOBODY = {
    "tenants",
    "vector_models",
    "migrations",
    "sqlite_sequence",
    "artifact_terms_config",
    "artifact_terms_content",
    "artifact_terms_data",
    "artifact_terms_docsize",
    "artifact_terms_idx",
    "adk_app_state",
}
"""Tables that hold nothing of a user, or whose rows triggers delete."""


def path_of(settings: Settings) -> Path:
    return settings.data_dir / "memory.db"


def number_the_schema(settings: Settings, version: int) -> None:
    if settings.database_url is None:
        with closing(sqlite3.connect(path_of(settings))) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        return
    with psycopg.connect(settings.database_url.get_secret_value(), autocommit=True) as server:
        server.execute("UPDATE acc_ace.migrations SET version = %s", (version,))


TO_104 = (
    "DROP TABLE ccm_records",
    """CREATE TABLE ccm_records (
        app text NOT NULL, user_id text NOT NULL, model text NOT NULL, marks text NOT NULL,
        PRIMARY KEY (app, user_id, model),
        FOREIGN KEY (app, user_id) REFERENCES tenants (app, user_id) ON DELETE CASCADE
    )""",
    "INSERT INTO ccm_records SELECT app, user_id, 'openai/small', 'nS' FROM tenants",
)
"""The schema as it was before endpoints were told apart, with a record."""


def downgrade(settings: Settings, version: int, *statements: str) -> None:
    """Take a database back to an earlier schema."""
    if settings.database_url is None:
        with closing(sqlite3.connect(path_of(settings), isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)
    else:
        url = settings.database_url.get_secret_value()
        with psycopg.connect(url, autocommit=True) as server:
            server.execute("SET search_path = acc_ace")
            for statement in statements:
                server.execute(statement.encode())
    number_the_schema(settings, version)


async def add(stores: Stores, ccm: Ccm, marks: str) -> None:
    work = stores.unit_of_work()
    work.add(stores.ccm_records.add_write(KEY.tenant, ccm, marks))
    await work.commit()


def tables_of(settings: Settings) -> dict[str, Table]:
    if settings.database_url is None:
        with closing(sqlite3.connect(path_of(settings))) as connection:
            return dict(sqlite_residue.tables_of(connection))
    with psycopg.connect(settings.database_url.get_secret_value(), autocommit=True) as server:
        return dict(postgres_residue.tables_of(server))


@pytest.mark.parametrize(
    ("version", "words"),
    [
        (VERSION + 1, f"schema version {VERSION + 1}, this program knows up to {VERSION}; upgrade"),
        (6, "schema version 6, of a program before the first release, and cannot be upgraded"),
    ],
)
async def test_a_database_of_another_version_is_refused_and_left_as_it_is(
    store_settings: Settings, stores: Stores, version: int, words: str
) -> None:
    await stores.journal.append(KEY, entry(1), expected_version=0)
    number_the_schema(store_settings, version)
    other = create_stores(store_settings, FixedClock())
    with pytest.raises(StoreError, match=words):
        await other.journal.head(KEY)
    await other.close()
    number_the_schema(store_settings, VERSION)
    assert await stores.journal.head(KEY) == entry(1)


async def test_a_database_of_the_first_release_is_upgraded_and_keeps_its_data(
    store_settings: Settings, stores: Stores
) -> None:
    await stores.journal.append(KEY, entry(1), expected_version=0)
    tables = tables_of(store_settings)
    downgrade(store_settings, OLDEST, TO_104[0])
    newer = create_stores(store_settings, FixedClock())
    assert await newer.journal.head(KEY) == entry(1)
    assert tables_of(store_settings) == tables
    await add(newer, SMALL, "nS")
    assert await newer.ccm_records.of_app(KEY.tenant) == [(KEY.user, SMALL, "nS")]
    await newer.close()


async def test_a_record_of_before_endpoints_goes_to_the_first_that_adds_to_it(
    store_settings: Settings, stores: Stores
) -> None:
    await stores.journal.append(KEY, entry(1), expected_version=0)
    downgrade(store_settings, 104, *TO_104)
    newer = create_stores(store_settings, FixedClock())
    assert await newer.journal.head(KEY) == entry(1)
    (before,) = await newer.ccm_records.of_app(KEY.tenant)
    assert (before.ccm.endpoint, before.marks) == ("", "nS")
    await add(newer, SMALL, "n")
    await add(newer, ELSEWHERE, "sN")
    assert await newer.ccm_records.of_user(KEY.tenant) == [
        (KEY.user, SMALL, "nSn"),
        (KEY.user, ELSEWHERE, "sN"),
    ]
    await newer.close()


async def test_a_file_with_tables_of_somebody_else_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "memory.db")) as connection:
        connection.execute("CREATE TABLE theirs (name TEXT)")
    other = create_stores(Settings(store="sqlite", data_dir=tmp_path), FixedClock())
    with pytest.raises(StoreError, match=r"memory\.db has schema version 0, .* move the database"):
        await other.journal.head(KEY)
    await other.close()


async def test_everything_of_a_user_hangs_on_the_row_of_the_user(
    store_settings: Settings, stores: Stores
) -> None:
    await stores.journal.append(KEY, entry(1), expected_version=0)
    tables = tables_of(store_settings)
    hangs: set[str] = {"tenants"}
    while more := {
        name
        for name, table in tables.items()
        if name not in hangs and any(parent in hangs for parent in table.cascades)
    }:
        hangs |= more
    assert set(tables) - hangs <= OF_NOBODY

"""A database has one schema; everything of a user in it hangs on the user's row."""

import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from acc_ace.config import Settings
from acc_ace.errors import StoreError
from acc_ace.storage.create_stores import Stores, create_stores
from acc_ace.storage.sql_database import OLDEST, VERSION
from tests.contract.values import KEY, entry
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


def without_upgrades(settings: Settings) -> None:
    """The schema as the first release left it."""
    if settings.database_url is None:
        with closing(sqlite3.connect(path_of(settings))) as connection:
            connection.execute("DROP TABLE ccm_records")
    else:
        url = settings.database_url.get_secret_value()
        with psycopg.connect(url, autocommit=True) as server:
            server.execute("DROP TABLE acc_ace.ccm_records")
    number_the_schema(settings, OLDEST)


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
    without_upgrades(store_settings)
    newer = create_stores(store_settings, FixedClock())
    assert await newer.journal.head(KEY) == entry(1)
    await newer.ccm_records.add(KEY.tenant, "openai/small", "nS")
    assert await newer.ccm_records.marks(KEY.tenant, "openai/small") == ("nS", [])
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

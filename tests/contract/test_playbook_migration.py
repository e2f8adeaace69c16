"""A playbook of a program without branches is read, and all that can be told of it is told."""

import json
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing

import psycopg
import pytest

from config import Settings
from core.adapters.open_stores import open_stores
from core.adapters.postgres_schema import SCHEMA
from core.adapters.postgres_schema import migrations as postgres_migrations
from core.adapters.sqlite_database import DATABASE_FILE
from core.adapters.sqlite_database import migrations as sqlite_migrations
from core.domain.playbook_versions import numbered, playbook_digest
from schemas.delta import DeltaStatus
from schemas.playbook import DeltaRecord, Playbook
from tests.contract.playbooks import BY, SHARED, add, commit
from tests.contract.values import record
from tests.fakes.clock import FixedClock

# What is in memory is never old.
pytestmark = pytest.mark.parametrize("store_settings", ["sqlite", "postgres"], indirect=True)

NEW_FIELDS = {"merged_into", "operation", "resolves", "job"}
SQLITE_BEFORE, POSTGRES_BEFORE = 3, 4
"""The last migration before branches."""

Insert = Callable[[str, Mapping[str, object]], object]


def old_playbook() -> tuple[Playbook, list[DeltaRecord]]:
    """Two lessons, the last one removed again, so that the counter of ids is ahead."""
    one, first = Playbook().add_bullet("rules", '確認する \\ "first"')
    two, second = one.add_bullet("rules", "second")
    odd = record("ADD", status=DeltaStatus.HELD, proposed="half \ud83d a character", user="aiko")
    records = [
        record("ADD", after=first, user="aiko"),
        record("ADD", after=second),
        record("REMOVE", before=second),
    ]
    log = [
        *(
            item
            for version, one in enumerate(records, start=1)
            for item in numbered([one], first_seq=version, version=version)
        ),
        *numbered([odd], first_seq=4, version=3),
    ]
    return two.remove_bullet("b-00002"), log


def write_old(insert: Insert, user: str, **more: str) -> Playbook:
    """Write its rows as the older program did; `user` is how that named its column."""
    playbook, log = old_playbook()
    head = {"version": 3, "next_id": playbook.next_id, "digest": playbook_digest(playbook)}
    insert("playbooks", {"app": SHARED.app, "shared": True, user: "", **head})
    for item in log:
        plain = item.model_dump(mode="json", exclude=NEW_FIELDS)
        body = json.dumps(plain, ensure_ascii=bool(item.proposed), separators=(",", ":"))
        row = {"playbook": 1, "seq": item.seq, "version": item.version, user: item.user}
        insert("playbook_deltas", {**row, "body": body, **more})
    [bullet] = playbook.bullets
    row = {"playbook": 1, "bullet_id": bullet.id, "position": 0}
    insert("playbook_bullets", {**row, "body": bullet.model_dump_json()})
    whole = json.dumps(playbook.to_dict())
    insert("playbook_snapshots", {"playbook": 1, "version": 3, "body": whole})
    return playbook


def statement(table: str, row: Mapping[str, object], mark: str) -> str:
    """An INSERT of one row."""
    marks = ", ".join([mark] * len(row))
    return f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"  # noqa: S608 - names of above


def in_old_sqlite(settings: Settings) -> Playbook:
    """A file of the older program."""
    settings.data_dir.mkdir()
    with closing(sqlite3.connect(settings.data_dir / DATABASE_FILE)) as connection, connection:
        for number, script in sqlite_migrations()[:SQLITE_BEFORE]:
            connection.executescript(script)
            connection.execute(f"PRAGMA user_version = {number}")
        return write_old(
            lambda table, row: connection.execute(statement(table, row, "?"), [*row.values()]),
            user="user",
        )


def in_old_postgres(settings: Settings) -> Playbook:
    """A schema of the older program."""
    assert settings.database_url
    with psycopg.connect(settings.database_url.get_secret_value(), autocommit=True) as connection:
        for line in (
            f"CREATE SCHEMA {SCHEMA}",
            f"SET search_path = {SCHEMA}",
            "CREATE TABLE migrations (version integer PRIMARY KEY)",
        ):
            connection.execute(line.encode())
        for number, script in postgres_migrations()[:POSTGRES_BEFORE]:
            connection.execute(script.encode())
            connection.execute("INSERT INTO migrations (version) VALUES (%s)", (number,))
        return write_old(
            lambda table, row: connection.execute(
                statement(table, row, "%s").encode(), [*row.values()]
            ),
            user="user_id",
            commit_id="c",
        )


@pytest.fixture
def old(store_settings: Settings) -> Playbook:
    """What the older program left."""
    if store_settings.store == "sqlite":
        return in_old_sqlite(store_settings)
    return in_old_postgres(store_settings)


async def test_an_old_playbook_keeps_its_bullets_its_counter_and_its_versions(
    store_settings: Settings, old: Playbook, clock: FixedClock
) -> None:
    stores = open_stores(store_settings, clock)
    found = await stores.playbooks.load(SHARED)
    assert (found.version, found.playbook) == (3, old)
    assert await stores.playbooks.replay(SHARED) == old
    second = await stores.playbooks.load(SHARED, version=2)
    assert [bullet.content for bullet in second.playbook.bullets][1:] == ["second"]
    versions = await stores.playbooks.versions(SHARED)
    assert [(item.version, item.digest, item.bullets) for item in versions] == [
        (3, None, None),
        (2, None, None),
        (1, None, None),
    ]
    await stores.close()


async def test_the_log_of_an_old_playbook_can_be_searched(
    store_settings: Settings, old: Playbook, clock: FixedClock
) -> None:
    stores = open_stores(store_settings, clock)
    assert [item.kind for item in await stores.playbooks.history(SHARED, "b-00002")] == [
        "REMOVE",
        "ADD",
    ]
    [held] = await stores.playbooks.held(SHARED)
    assert (held.seq, held.proposed, held.user) == (4, "half \ud83d a character", "aiko")
    decided = record("ADD", status=DeltaStatus.REJECTED, resolves=4)
    await commit(stores, old, decided)
    assert await stores.playbooks.held(SHARED) == []
    await stores.close()


async def test_an_old_playbook_goes_on(
    store_settings: Settings, old: Playbook, clock: FixedClock
) -> None:
    stores = open_stores(store_settings, clock)
    await add(stores, "third")
    back = await stores.playbooks.rollback(SHARED, 3, expected_version=4, by=BY)
    assert back.playbook.bullets == old.bullets
    await stores.playbooks.fork(SHARED, "trial", by=BY)
    assert (await stores.playbooks.load(SHARED)).playbook.next_id == 4
    await stores.close()
    await _nothing_names_the_old_tables(store_settings)


async def _nothing_names_the_old_tables(settings: Settings) -> None:
    """A table made anew must not leave a reference to the one it replaced."""
    if settings.store == "sqlite":
        with closing(sqlite3.connect(settings.data_dir / DATABASE_FILE)) as connection:
            schema = connection.execute("SELECT sql FROM sqlite_master").fetchall()
            assert not any(made and "old_playbook" in made for (made,) in schema)
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []

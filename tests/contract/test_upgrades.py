"""A database of each landed schema is upgraded behind a backup, whole, or stays as it was."""

import asyncio
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from acc_ace.errors import StoreError
from acc_ace.storage.sqlite.database import SqliteDatabase
from schemas.base import SessionKey
from tests.e2e.processes import ROOT
from tests.fakes.extensions import needs
from tests.fakes.old_databases import SCHEMAS, rows_of, structure, talk_in, unpack

MONDAY = SessionKey("acc_ace", "aiko", "monday")
OLD = [schema for schema in SCHEMAS if schema < SCHEMAS[-1]]
KILLED = """
import os, signal, sqlite3, sys
connect = sqlite3.connect

def watched(*args, **kwargs):
    connection = connect(*args, **kwargs)
    die = lambda said: sys.argv[2] in said and os.kill(os.getpid(), signal.SIGKILL)
    connection.set_trace_callback(die)
    return connection

sqlite3.connect = watched
import asyncio, pathlib
from acc_ace.storage.sqlite.database import SqliteDatabase
asyncio.run(SqliteDatabase(pathlib.Path(sys.argv[1])).check())
"""
"""Opens a database, and is killed by the statement that holds some words."""


async def opened(path: Path) -> None:
    database = SqliteDatabase(path)
    await database.check()
    await database.close()


def names(folder: Path, schema: int) -> list[str]:
    return sorted(path.name for path in folder.glob(f"memory.db.schema-{schema}*"))


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (number,) = connection.execute("PRAGMA user_version").fetchone()
    return int(number)


def test_there_is_a_database_of_each_schema_from_the_first_release_on() -> None:
    assert list(range(103, 107)) == SCHEMAS


@needs("embedded")
@pytest.mark.parametrize("schema", SCHEMAS)
async def test_a_conversation_of_an_earlier_program_goes_on(tmp_path: Path, schema: int) -> None:
    before = rows_of(unpack(schema, tmp_path))
    talk = talk_in(tmp_path)
    state = await talk.state(MONDAY)
    assert rows_of(tmp_path / "memory.db") == before
    assert state is not None
    assert [pin.text for pin in state.pins if pin.origin_turn] == [
        "never restart the server during business hours."
    ]
    report = await talk.turn(MONDAY, "What is the host of the staging database?")
    assert (report.turn, "quokka-4711" in report.answer) == (4, True)
    assert {"answer in English", "never restart the server during business hours."} <= {
        rule.text for rule in report.constraints
    }
    await talk.close()


@pytest.mark.parametrize("schema", SCHEMAS)
async def test_an_upgraded_database_is_as_a_new_one(tmp_path: Path, schema: int) -> None:
    path = unpack(schema, tmp_path / "old")
    await opened(path)
    await opened(tmp_path / "new" / "memory.db")
    assert structure(path) == structure(tmp_path / "new" / "memory.db")


@pytest.mark.parametrize("schema", SCHEMAS)
async def test_no_copy_of_the_state_is_left_in_sessions(tmp_path: Path, schema: int) -> None:
    path = unpack(schema, tmp_path)
    await opened(path)
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT * FROM adk_session_state WHERE key = 'ccs'").fetchall()
    assert found == []


@pytest.mark.parametrize("schema", OLD)
async def test_the_backup_is_the_old_database_and_private(tmp_path: Path, schema: int) -> None:
    path = unpack(schema, tmp_path)
    before = rows_of(path)
    await opened(path)
    assert names(tmp_path, schema) == [f"memory.db.schema-{schema}.backup"]
    backup = tmp_path / f"memory.db.schema-{schema}.backup"
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert (version(backup), version(path)) == (schema, SCHEMAS[-1])
    assert rows_of(backup) == before


async def test_a_backup_is_never_overwritten_and_the_same_is_not_made_twice(tmp_path: Path) -> None:
    await opened(unpack(103, tmp_path))
    backup = tmp_path / "memory.db.schema-103.backup"
    first = backup.read_bytes()
    await opened(unpack(103, tmp_path))
    assert names(tmp_path, 103) == [backup.name]
    path = unpack(103, tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE user_rules SET rule_id = 'u-0009'")
        connection.commit()
    await opened(path)
    assert names(tmp_path, 103) == ["memory.db.schema-103.2.backup", backup.name]
    assert backup.read_bytes() == first


async def test_programs_that_start_at_once_upgrade_once(tmp_path: Path) -> None:
    path = unpack(103, tmp_path)
    before = rows_of(path)
    await asyncio.gather(*(opened(path) for _ in range(4)))
    assert (version(path), names(tmp_path, 103)) == (
        SCHEMAS[-1],
        ["memory.db.schema-103.backup"],
    )
    assert {name: rows for name, rows in rows_of(path).items() if rows} == {
        name: rows for name, rows in before.items() if rows
    }


@pytest.mark.parametrize("words", ["CREATE TABLE ccm_records (", "DROP TABLE", "user_version = "])
def test_a_program_that_is_killed_while_it_upgrades_leaves_the_old_database(
    tmp_path: Path, words: str
) -> None:
    path = unpack(103, tmp_path)
    before = rows_of(path)
    (tmp_path / "memory.db.schema-103.partial").write_bytes(b"of a program killed before")
    killed = subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-c", KILLED, str(path), words], cwd=ROOT, check=False, timeout=60
    )
    assert killed.returncode == -signal.SIGKILL
    assert (version(path), rows_of(path)) == (103, before)
    asyncio.run(opened(path))
    assert version(path) == SCHEMAS[-1]
    assert names(tmp_path, 103) == ["memory.db.schema-103.backup"]


async def test_a_disk_that_is_full_while_upgrading_leaves_the_old_database(tmp_path: Path) -> None:
    path = unpack(103, tmp_path)
    before = rows_of(path)
    database = SqliteDatabase(path, max_pages=1)
    with pytest.raises(StoreError, match=r"memory\.db cannot grow, the disk .* and is unchanged"):
        await database.check()
    await database.close()
    assert (version(path), rows_of(path)) == (103, before)
    await opened(path)


async def test_a_backup_that_cannot_be_written_leaves_the_old_database(tmp_path: Path) -> None:
    path = unpack(103, tmp_path)
    before = rows_of(path)
    (tmp_path / "memory.db.schema-103.partial").mkdir()
    with pytest.raises(StoreError, match=r"schema 103 is unchanged, .* free at least 0\.\d MB"):
        await opened(path)
    assert (version(path), rows_of(path)) == (103, before)
    os.rmdir(tmp_path / "memory.db.schema-103.partial")
    await opened(path)

"""A database that cannot be used: a clear error, and the last good state kept."""

import asyncio
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import pytest

from acc_ace.errors import ConflictError, CorruptStoreError, InputError, StoreError
from acc_ace.storage.playbooks.sql_playbook import SqlPlaybookStore
from acc_ace.storage.sql_artifacts import SqlArtifactStore
from acc_ace.storage.sql_evidence import SqlEvidenceStore
from acc_ace.storage.sql_journal import SqlJournal
from acc_ace.storage.sql_rows import on_connection
from acc_ace.storage.sqlite.artifact_writes import SqliteArtifactIndex
from acc_ace.storage.sqlite.database import SqliteDatabase
from schemas.base import PlaybookScope, SessionKey
from schemas.playbook import Playbook
from tests.contract.values import KEY, artifact, asking, entry, interaction, record

JUNK = b"this is not a database, whatever its name says" * 100


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "memory.db"


async def written(path: Path) -> None:
    """A database with one journal entry."""
    database = SqliteDatabase(path)
    await SqlJournal(database).append(KEY, entry(1, "last good"), expected_version=0)
    await database.close()


def outside(path: Path, sql: str, *values: object) -> None:
    """Change the file behind the program's back."""
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(sql, values)
    connection.close()


def content_of(path: Path) -> bytes:
    return path.read_bytes()


def junk(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(JUNK)


def damage(path: Path) -> None:
    """Overwrite every page but the first."""
    content = path.read_bytes()
    path.write_bytes(content[:4_096] + b"\xff" * (len(content) - 4_096))


async def test_nothing_is_opened_before_the_first_use(path: Path) -> None:
    database = SqliteDatabase(path)
    assert not path.parent.exists()
    await database.check()
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    await database.close()


async def test_what_was_committed_is_there_after_reopening(path: Path) -> None:
    await written(path)
    database = SqliteDatabase(path)
    assert await SqlJournal(database).head(KEY) == entry(1, "last good")
    await database.close()


async def test_a_crash_of_the_process_keeps_the_commit(path: Path, tmp_path: Path) -> None:
    database = SqliteDatabase(path)
    await SqlJournal(database).append(KEY, entry(1), expected_version=0)
    # The files as a killed process leaves them: no checkpoint, no goodbye.
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    for file in path.parent.iterdir():
        (crashed / file.name).write_bytes(file.read_bytes())
    reopened = SqliteDatabase(crashed / path.name)
    assert await SqlJournal(reopened).head(KEY) == entry(1)
    await reopened.close()
    await database.close()


async def test_a_commit_is_flushed_to_the_disk(path: Path) -> None:
    database = SqliteDatabase(path)
    modes = [
        await database.read(on_connection(partial(_pragma, name)))
        for name in ("synchronous", "journal_mode")
    ]
    assert modes == [_FULL, "wal"]
    await database.close()


_FULL = 2
"""As SQLite documents `PRAGMA synchronous`."""


def _pragma(name: str, connection: sqlite3.Connection) -> object:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


async def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a directory")
    database = SqliteDatabase(tmp_path / "file" / "memory.db")
    with pytest.raises(StoreError, match=r"file cannot be made .* set ACC_ACE_DATA_DIR"):
        await SqlJournal(database).head(KEY)
    await database.close()


async def test_a_path_that_is_no_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "memory.db").mkdir()
    database = SqliteDatabase(tmp_path / "memory.db")
    with pytest.raises(StoreError, match=r"memory\.db cannot be opened; check that ACC_ACE_DATA"):
        await SqlJournal(database).head(KEY)
    await database.close()


async def test_a_database_that_is_read_only_can_be_read_and_says_so(path: Path) -> None:
    await written(path)
    database = SqliteDatabase(path)
    journal = SqlJournal(database)
    await journal.head(KEY)
    await database.read(
        on_connection(lambda connection: connection.execute("PRAGMA query_only = ON"))
    )
    with pytest.raises(StoreError, match=r"memory\.db cannot be written; make the file"):
        await journal.append(KEY, entry(2), expected_version=1)
    assert await journal.head(KEY) == entry(1, "last good")
    await database.close()


async def test_a_full_disk_keeps_the_last_good_state(path: Path) -> None:
    await written(path)
    with closing(sqlite3.connect(path)) as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
    database = SqliteDatabase(path, max_pages=pages + 16)
    journal = SqlJournal(database)
    with pytest.raises(StoreError, match="disk or quota is full; free some space"):
        await journal.append(KEY, entry(2, "x" * 1_000_000), expected_version=1)
    with pytest.raises(StoreError, match="full"):
        await SqlArtifactStore(database, SqliteArtifactIndex()).add(
            [artifact("big", "word " * 200_000)]
        )
    assert await journal.head(KEY) == entry(1, "last good")
    assert await SqlArtifactStore(database, SqliteArtifactIndex()).count(KEY.tenant) == 0
    await journal.append(KEY, entry(2, "small"), expected_version=1)
    await database.close()


async def test_a_locked_database_says_who_to_stop_and_recovers(path: Path) -> None:
    await written(path)
    database = SqliteDatabase(path, busy_timeout_s=0.01)
    journal = SqlJournal(database)
    await journal.head(KEY)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="is locked by another process; stop it or try again"):
        await journal.append(KEY, entry(2), expected_version=1)
    assert await journal.head(KEY) == entry(1, "last good")
    other.execute("ROLLBACK")
    other.close()
    await journal.append(KEY, entry(2), expected_version=1)
    await database.close()


@pytest.mark.soak
async def test_a_lock_is_waited_for_and_readers_do_not_wait(path: Path) -> None:
    await written(path)
    database = SqliteDatabase(path, busy_timeout_s=60)
    journal = SqlJournal(database)
    await journal.head(KEY)
    with locked_elsewhere(path) as process:
        batches = [
            asyncio.create_task(
                journal.append(KEY._replace(session=f"s{n}"), entry(1), expected_version=0)
            )
            for n in range(20)
        ]
        _, waiting = await asyncio.wait(batches, timeout=_LONGER_S)
        assert len(waiting) == len(batches)
        assert await journal.head(KEY) == entry(1, "last good")
        assert process.poll() is None
    await asyncio.gather(*batches)
    assert len(await journal.sessions(KEY.tenant)) == 21
    await database.close()


_LONGER_S = 6.0
"""Longer than one statement waits by itself."""

_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


@contextmanager
def locked_elsewhere(path: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Another process has the write lock."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", _LOCK, str(path)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:  # noqa: S603 - our own
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        yield process
        process.kill()


async def test_junk_in_place_of_a_database_is_damage(path: Path) -> None:
    junk(path)
    database = SqliteDatabase(path)
    with pytest.raises(CorruptStoreError, match=r"memory\.db is damaged .* restore a copy"):
        await SqlJournal(database).head(KEY)
    await database.close()
    assert content_of(path) == JUNK


async def test_a_damaged_page_is_found_by_the_check(path: Path) -> None:
    await written(path)
    damage(path)
    database = SqliteDatabase(path)
    with pytest.raises(StoreError, match=r"memory\.db"):
        await database.check()
    await database.close()


async def test_a_database_of_a_newer_program_is_left_alone(path: Path) -> None:
    await written(path)
    outside(path, "PRAGMA user_version = 199")
    database = SqliteDatabase(path)
    with pytest.raises(
        StoreError, match=r"schema version 199, this program knows up to \d+; upgrade"
    ):
        await SqlJournal(database).head(KEY)
    await database.close()


async def test_two_programs_may_create_the_database_at_once(path: Path) -> None:
    databases = [SqliteDatabase(path) for _ in range(4)]
    keys = [SessionKey("shop", "aiko", f"s-{number}") for number in range(4)]
    await asyncio.gather(
        *(
            SqlJournal(database).append(key, entry(1), expected_version=0)
            for key, database in zip(keys, databases, strict=True)
        )
    )
    assert len(await SqlJournal(databases[0]).sessions(KEY.tenant)) == 4
    for database in databases:
        await database.close()


async def test_another_process_wins_the_compare_and_swap(path: Path) -> None:
    one, two = SqliteDatabase(path), SqliteDatabase(path)
    await SqlJournal(one).append(KEY, entry(1), expected_version=0)
    with pytest.raises(ConflictError):
        await SqlJournal(two).append(KEY, entry(1, "late"), expected_version=0)
    books, others = SqlPlaybookStore(one), SqlPlaybookStore(two)
    scope = PlaybookScope("shop")
    first = Playbook().add_bullet("rules", "first")
    assert (await others.load(scope)).version == 0
    await books.commit(
        scope, first.playbook, [record("ADD", after=first.bullet)], expected_version=0
    )
    assert (await others.load(scope)).playbook == first.playbook
    await one.close()
    await two.close()


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE journal SET body = replace(body, 'last good', 'forged')",
        "UPDATE journal SET digest = 'forged'",
        "UPDATE journal SET body = substr(body, 1, 50)",
        "UPDATE journal SET version = 7",
    ],
)
async def test_an_altered_journal_names_session_and_version(path: Path, sql: str) -> None:
    await written(path)
    outside(path, sql)
    database = SqliteDatabase(path)
    with pytest.raises(CorruptStoreError, match=r"journal of session 's-1', version \d"):
        await SqlJournal(database).head(KEY)
    await database.close()


async def test_altered_rows_of_other_stores_are_damage(path: Path) -> None:
    database = SqliteDatabase(path)
    await SqlEvidenceStore(database).record(KEY, interaction(1))
    await SqlArtifactStore(database, SqliteArtifactIndex()).add([artifact("a-1", "checkout")])
    added = Playbook().add_bullet("rules", "true")
    scope = PlaybookScope("shop")
    await SqlPlaybookStore(database).commit(
        scope, added.playbook, [record("ADD", after=added.bullet)], expected_version=0
    )
    outside(path, "UPDATE interactions SET body = '{}'")
    outside(path, "UPDATE artifacts SET body = 'junk'")
    outside(path, "UPDATE playbook_bullets SET body = replace(body, 'true', 'false')")
    with pytest.raises(CorruptStoreError, match="evidence of session 's-1'"):
        await SqlEvidenceStore(database).last(KEY)
    with pytest.raises(CorruptStoreError, match="artifact 'a-1'"):
        await SqlArtifactStore(database, SqliteArtifactIndex()).recall(asking("checkout"))
    with pytest.raises(CorruptStoreError, match="version 1: its bullets do not match"):
        await SqlPlaybookStore(database).load(scope)
    await database.close()


async def test_a_key_that_is_not_unicode_is_bad_input(path: Path) -> None:
    database = SqliteDatabase(path)
    with pytest.raises(InputError, match="not valid Unicode"):
        await SqlJournal(database).head(SessionKey("shop", "aiko", "\ud83d"))
    await database.close()


async def test_a_closed_database_says_so(path: Path) -> None:
    database = SqliteDatabase(path)
    await database.check()
    await database.close()
    await database.close()
    with pytest.raises(StoreError, match="is closed"):
        await database.check()


@pytest.mark.parametrize(
    ("damage_done", "head"),
    [
        ("DELETE FROM journal_heads", 0),
        ("DELETE FROM journal WHERE version = 2", 2),
    ],
    ids=["head", "last entry"],
)
async def test_a_deleted_journal_row_is_named_as_damage_and_not_as_another_turn(
    path: Path, damage_done: str, head: int
) -> None:
    await written(path)
    database = SqliteDatabase(path)
    journal = SqlJournal(database)
    await journal.append(KEY, entry(2), expected_version=1)
    outside(path, damage_done)
    newest = await journal.head(KEY)
    assert newest is not None
    version = newest.state.version
    with pytest.raises(CorruptStoreError) as reported:
        await journal.append(KEY, entry(version + 1), expected_version=version)
    await database.close()
    assert f"its head is at version {head}, its last entry is version {version}" in str(
        reported.value
    )
    assert "Restore the database" in str(reported.value)
    assert "delete the session" in str(reported.value)

"""A database of an older program is brought up to date, with all that it holds."""

import sqlite3
from contextlib import closing
from pathlib import Path

from core.adapters.json_codec import encode
from core.adapters.sqlite_artifacts import SqliteArtifactStore
from core.adapters.sqlite_database import SqliteDatabase, migrations
from core.adapters.sqlite_journal import SqliteJournal
from tests.contract.values import KEY, artifact, asking, entry


def of_the_first_program(path: Path) -> None:
    """A file with the first schema and one journal entry."""
    [(number, schema), *_] = migrations()
    old = entry(1, "kept")
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(schema)
        connection.execute(
            "INSERT INTO journal (app, user, session, version, digest, body) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (*KEY, old.state.version, old.state.digest, encode(old)),
        )
        connection.execute("INSERT INTO journal_heads VALUES (?, ?, ?, 1, 1)", tuple(KEY))
        connection.execute(f"PRAGMA user_version = {number}")


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        return version


def test_migrations_are_numbered_from_one_without_a_gap() -> None:
    numbers = [number for number, _ in migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


async def test_an_old_database_keeps_its_data_and_works_like_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    of_the_first_program(path)
    database = SqliteDatabase(path)
    journal, artifacts = SqliteJournal(database), SqliteArtifactStore(database)
    assert await journal.head(KEY) == entry(1, "kept")
    await journal.append(KEY, entry(2), expected_version=1)
    await artifacts.add([artifact("a-1", "The disk of db-01 is full.")])
    recalled = await artifacts.recall(asking("disk of db-01"))
    assert [found.artifact.artifact_id for found in recalled.candidates] == ["a-1"]
    await database.close()
    assert version_of(path) == migrations()[-1][0]

"""Writers that are killed at any point leave whole versions, and lose none that they told of."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.processes import ROOT, environment
from tests.fakes.postgres_server import PostgresServer

SQLITE_KILLS, POSTGRES_KILLS = 200, 25


def nursery(folder: Path, place: str, kills: int, *longest_life_s: str) -> dict[str, Any]:
    """What is there after so many writers were killed."""
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "tests.durability.nursery", place, str(kills), "7", *longest_life_s],
        cwd=ROOT,
        env=environment(folder, PYTHONWARNINGS="ignore"),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4_000:]
    said: dict[str, Any] = json.loads(done.stdout)
    return said


@pytest.mark.soak
def test_after_200_kills_sqlite_has_every_version_whole(tmp_path: Path) -> None:
    said = nursery(tmp_path, str(tmp_path / "data"), SQLITE_KILLS)
    assert said["problems"] == []
    assert int(said["versions"]) >= said["told"] >= SQLITE_KILLS // 2


@pytest.mark.soak
def test_after_25_kills_postgresql_has_every_version_whole(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    said = nursery(tmp_path, postgres.clean_database(), POSTGRES_KILLS, "0.4")
    assert said["problems"] == []
    assert int(said["versions"]) >= said["told"] >= POSTGRES_KILLS // 2


def test_after_some_kills_every_version_is_whole(tmp_path: Path) -> None:
    assert nursery(tmp_path, str(tmp_path / "data"), 5, "0.3")["problems"] == []


def test_whoever_looks_for_problems_finds_them(tmp_path: Path) -> None:
    place = tmp_path / "data"
    nursery(tmp_path, str(place), 3, "0.5")
    for statement, problem in (
        ("DELETE FROM playbook_versions WHERE version = 1", "a version is missing"),
        ("UPDATE playbook_versions SET digest = 'x' WHERE version = 2", "version 2 does not repl"),
        ("DELETE FROM playbook_deltas WHERE seq = 20", "version 4 is not one batch"),
    ):
        with closing(sqlite3.connect(place / "memory.db")) as connection, connection:
            connection.execute(statement)
        assert any(
            found.startswith(problem) for found in nursery(tmp_path, str(place), 0)["problems"]
        )

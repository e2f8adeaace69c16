"""Settings of background learning, in SQLite and in a database of PostgreSQL of its own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acc_ace.config import Settings
from tests.fakes.postgres_server import PostgresServer

Make = Callable[..., Settings]

QUICK: dict[str, Any] = {"poll_s": 0.05, "backoff_s": 0.05}
"""Tests wait for nobody."""


@pytest.fixture
def make_sqlite(tmp_path: Path) -> Make:
    """Makes settings over one SQLite file; keyword arguments are bounds of the background."""

    def make(**bounds: Any) -> Settings:
        return Settings(
            learning="background", data_dir=tmp_path / "data", background={**QUICK, **bounds}
        )

    return make


@pytest.fixture(params=["sqlite", "postgres"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    """Makes settings over one store, the same one each time."""
    if request.param == "sqlite":
        sqlite: Make = request.getfixturevalue("make_sqlite")
        return sqlite
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.new_database()

    def make_postgres(**bounds: Any) -> Settings:
        return Settings(
            learning="background",
            store="postgres",
            database_url=url,
            database_connections=4,
            data_dir=tmp_path / "data",
            background={**QUICK, **bounds},
        )

    return make_postgres

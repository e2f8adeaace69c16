"""Session services over one store of each kind, as one process after the other opens them."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.storage.sqlite.database import SqliteDatabase
from tests.fakes.extensions import server_database

Open = Callable[..., SqlSessionService]


@pytest.fixture(params=["sqlite", "postgres"])
async def open_service(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Open]:
    """Opens a service with the options of `SqlSessionService`."""
    if request.param == "sqlite":
        opened: list[SqlSessionService] = []

        def in_file(**options: Any) -> SqlSessionService:
            file = SqliteDatabase(tmp_path / "sessions.db")
            opened.append(SqlSessionService(file, owns_database=True, **options))
            return opened[-1]

        yield in_file
        for service in opened:
            await service.close()
    else:
        database = server_database(request)
        yield lambda **options: SqlSessionService(database, **options)
        await database.close()

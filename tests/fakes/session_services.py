"""Session services over one store of each kind, as one process after the other opens them.

The turns of the app `shop` have bounded memory; any other app is as with ADK's own services.
"""

from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from google.adk.sessions import BaseSessionService

from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.storage.sqlite.database import SqliteDatabase
from acc_ace.unit_of_work import Database
from tests.fakes.extensions import server_database

Open = Callable[..., SqlSessionService]


def in_file(folder: Path, **options: Any) -> SqlSessionService:
    """Ours over a file, with the options of `SqlSessionService`; it closes the file."""
    database = SqliteDatabase(folder / "sessions.db")
    return over(database, owns_database=True, **options)


def over(database: Database, **options: Any) -> SqlSessionService:
    """Ours over a database."""
    service = SqlSessionService(database, **options)
    service.bound("shop")
    return service


async def close(service: BaseSessionService) -> None:
    """Close one of ours; ADK's own hold nothing open."""
    if isinstance(service, SqlSessionService):
        await service.close()


@pytest.fixture(params=["sqlite", "postgres"])
async def open_service(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Open]:
    """Opens a service with the options of `SqlSessionService`."""
    if request.param == "sqlite":
        opened: list[SqlSessionService] = []

        def another(**options: Any) -> SqlSessionService:
            opened.append(in_file(tmp_path, **options))
            return opened[-1]

        yield another
        for service in opened:
            await service.close()
    else:
        database = server_database(request)
        yield partial(over, database)
        await database.close()

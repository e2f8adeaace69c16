"""ADK strips blanks around a session's id; what is deleted is then deleted everywhere."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from acc_ace.adk.sessions.sql_sessions import Forget, SqlSessionService
from acc_ace.core.schemas.base import SessionKey
from acc_ace.storage.sqlite.database import SqliteDatabase
from tests.fakes.extensions import server_database

USER: dict[str, Any] = {"app_name": "shop", "user_id": "aiko"}


@asynccontextmanager
async def opened(
    kind: str, request: pytest.FixtureRequest, path: Path, on_delete: Forget
) -> AsyncIterator[SqlSessionService]:
    if kind == "sqlite":
        service = SqlSessionService(
            SqliteDatabase(path / "sessions.db"), owns_database=True, on_delete=on_delete
        )
        yield service
        await service.close()
    else:
        database = server_database(request)
        yield SqlSessionService(database, on_delete=on_delete)
        await database.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_the_session_that_is_forgotten_is_the_one_that_is_deleted(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    forgotten: list[SessionKey] = []

    async def forget(key: SessionKey) -> None:
        forgotten.append(key)

    async with opened(kind, request, tmp_path, forget) as service:
        await service.create_session(**USER, session_id="s-2")
        await service.delete_session(**USER, session_id=" s-2\t")
    assert forgotten == [SessionKey("shop", "aiko", "s-2")]

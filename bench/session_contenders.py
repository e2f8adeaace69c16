"""Who takes the turns of `bench.session_curve`: our session services, ADK's, and our endpoint."""

import asyncio
import json
import sqlite3
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from google.adk.events import Event, EventActions
from google.adk.sessions import BaseSessionService
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types
from pydantic import SecretStr

from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.core.schemas.base import SessionKey
from acc_ace.storage.sql_rows import on_connection
from acc_ace.storage.sqlite.database import SqliteDatabase
from bench.workload import InstantLlm, answer, inputs, state

KEY = SessionKey("bench", "user", "s1")
_HERE: Mapping[str, Any] = {"app_name": KEY.app, "user_id": KEY.user, "session_id": KEY.session}

Turn = Callable[[int], Awaitable[None]]
Io = Callable[[], Awaitable[tuple[int, int]]]


@dataclass(frozen=True)
class Contender:
    """Something that takes turns."""

    turn: Turn
    io: Io
    fill: Callable[[int], None] | None = None
    """Adds turns without taking them; None: every turn is taken."""


Open = Callable[[Path], AbstractAsyncContextManager[Contender]]
"""Opens a contender that keeps its files in a folder."""


async def process_io() -> tuple[int, int]:
    """Bytes that this process has read and written so far."""
    return _process_io()


def _process_io() -> tuple[int, int]:
    fields = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(fields["rchar"]), int(fields["wchar"])


def service_turn(service: BaseSessionService) -> Turn:
    """One turn over a session service, as the Runner of `adk web` takes it."""

    async def turn(number: int) -> None:
        session = await service.get_session(**_HERE, config=None)
        if session is None:
            session = await service.create_session(**_HERE)
        for event in events(number):
            await service.append_event(session, event)

    return turn


def events(number: int) -> list[Event]:
    """The user's event of a turn and the answer with the state after it."""
    said = next(islice(inputs(number), 1, None))
    return [
        Event(author="user", invocation_id=f"i-{number}", content=types.UserContent(said)),
        Event(
            author="agent",
            invocation_id=f"i-{number}",
            content=types.ModelContent(answer()),
            actions=EventActions(state_delta={"ccs": state(number)}),
        ),
    ]


@asynccontextmanager
async def ours_sqlite(folder: Path) -> AsyncIterator[Contender]:
    """SqlSessionService."""
    database = SqliteDatabase(folder / "sessions.db")
    service = SqlSessionService(database, owns_database=True)
    service.bound(KEY.app)
    yield Contender(service_turn(service), process_io)
    await service.close()


@asynccontextmanager
async def ours_postgres(folder: Path) -> AsyncIterator[Contender]:
    """SqlSessionService over the test suite's own server."""
    # The server of the tests; its code is there in a checkout, where benchmarks are run.
    from acc_ace.ext.postgres.database import PostgresDatabase  # noqa: PLC0415
    from tests.fakes.postgres_server import running_postgres  # noqa: PLC0415

    del folder
    with running_postgres() as server:
        # One connection, so that the counters of one backend tell all.
        database = PostgresDatabase(server.new_database(), connections=1)
        service = SqlSessionService(database)
        service.bound(KEY.app)

        async def io() -> tuple[int, int]:
            # A backend tells its counters at the end of a transaction, once a second at most.
            await asyncio.sleep(1.1)
            await service.get_session(app_name="none", user_id="none", session_id="none")
            return _counted(
                await database.read(
                    on_connection(lambda connection: connection.execute(_SERVER_IO).fetchall())
                )
            )

        yield Contender(service_turn(service), io)
        await database.close()


_SERVER_IO = """
    SELECT blks_read + blks_hit, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')
      FROM pg_stat_database WHERE datname = current_database()
"""


def _counted(rows: Iterable[tuple[Any, ...]]) -> tuple[int, int]:
    """Bytes of the blocks that a PostgreSQL has touched, and of its write-ahead log."""
    [[blocks, log]] = rows
    return int(blocks) * 8_192, int(log)


@asynccontextmanager
async def adk_sqlite(folder: Path) -> AsyncIterator[Contender]:
    """ADK's SqliteSessionService."""
    path = folder / "sessions.db"
    service = SqliteSessionService(str(path))
    yield Contender(service_turn(service), process_io, lambda turns: copy_turns(path, turns))


@asynccontextmanager
async def adk_database(folder: Path) -> AsyncIterator[Contender]:
    """ADK's DatabaseSessionService on SQLite."""
    path = folder / "sessions.db"
    service = DatabaseSessionService(f"sqlite+aiosqlite:///{path}")
    yield Contender(service_turn(service), process_io, lambda turns: copy_turns(path, turns))
    await service.close()


@asynccontextmanager
async def endpoint(folder: Path) -> AsyncIterator[Contender]:
    """Our whole turn on SQLite."""
    async with _whole_turns(Settings(data_dir=folder, store="sqlite")) as turn:
        yield Contender(turn, process_io)


@asynccontextmanager
async def endpoint_postgres(folder: Path) -> AsyncIterator[Contender]:
    """Our whole turn on the test suite's own PostgreSQL."""
    # As in ours_postgres.
    from tests.fakes.postgres_server import running_postgres  # noqa: PLC0415

    with running_postgres() as server:
        url = server.new_database()

        async def io() -> tuple[int, int]:
            # Connections of a pool that are idle tell their counters after ten seconds.
            await asyncio.sleep(11)
            return _counted(server.execute(_SERVER_IO, url=url))

        settings = Settings(data_dir=folder, store="postgres", database_url=SecretStr(url))
        async with _whole_turns(settings) as turn:
            yield Contender(turn, io)


@asynccontextmanager
async def _whole_turns(settings: Settings) -> AsyncIterator[Turn]:
    """Takes turns of one conversation with models that answer at once."""
    container = build_container(settings)
    conversation = Conversation(container, models=dict.fromkeys(ROLES, InstantLlm()))
    said = inputs()

    async def turn(number: int) -> None:
        del number
        await conversation.turn(KEY._replace(app=APP_NAME), next(said))

    yield turn
    await conversation.close()


def copy_turns(path: Path, turns: int) -> None:
    """Add copies of the session's newest turn to the tables of one of ADK's services."""
    if turns <= 0:
        return
    with closing(sqlite3.connect(path)) as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(events)")]
        newest = database.execute(
            f"SELECT {', '.join(columns)} FROM events ORDER BY timestamp DESC LIMIT 2"  # noqa: S608 - names of the schema
        ).fetchall()
        rows = [dict(zip(columns, row, strict=True)) for row in reversed(newest)]
        # Before the newest turn, so that its time stays that of the session.
        for number in range(turns, 0, -1):
            for row in rows:
                copied = _copied(row, number)
                database.execute(
                    f"INSERT INTO events ({', '.join(columns)}) "  # noqa: S608 - names of the schema
                    f"VALUES ({', '.join('?' for _ in columns)})",
                    [copied[column] for column in columns],
                )
        database.commit()


def _copied(row: Mapping[str, Any], number: int) -> dict[str, Any]:
    """The row of an event of an earlier turn."""
    invocation, earlier = f"copy-{uuid.uuid4()}", number / 1_000
    new = dict(row) | {"id": str(uuid.uuid4()), "invocation_id": invocation}
    if isinstance(row["timestamp"], str):
        moved = datetime.fromisoformat(row["timestamp"]) - timedelta(seconds=earlier)
        new["timestamp"] = moved.isoformat(sep=" ")
    else:
        new["timestamp"] = row["timestamp"] - earlier
    body = json.loads(row["event_data"]) | {"id": new["id"], "invocation_id": invocation}
    body["timestamp"] = body.get("timestamp", 0.0) - earlier
    new["event_data"] = json.dumps(body)
    return new


CONTENDERS: Mapping[str, Open] = {
    "ours, SQLite": ours_sqlite,
    "ours, PostgreSQL": ours_postgres,
    "ADK SqliteSessionService": adk_sqlite,
    "ADK DatabaseSessionService": adk_database,
    "endpoint": endpoint,
    "endpoint, PostgreSQL": endpoint_postgres,
}

"""A session of 10,000 turns: CPU time and bytes of a turn, beside ADK's session services.

    python -m bench.session_curve [--turns 10000] [--only NAME ...] [--json]

Two kinds of contenders:

- Session services on the path of `adk web`, with the same events: load the session as the Runner
  does (`get_session` with `config=None`), append the user's event, append the answer with the
  state. Ours take every turn for real. ADK's read the whole past at each turn, so they are filled
  with copies of a turn's rows up to shortly before each mark, and measured there.
- `endpoint`: the whole turn of `/v1` with models that answer at once, learning included, SQLite.

Bytes are what the process read and wrote through the kernel (`rchar`, `wchar` of /proc/self/io),
from the page cache or not; SQLite does all its I/O so. PostgreSQL does its own in another
process: read are the 8 kB blocks that its backend touched, written is its write-ahead log.
"""

import argparse
import asyncio
import json
import sqlite3
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import psycopg
from google.adk.events import Event, EventActions
from google.adk.sessions import BaseSessionService
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from acc_ace.conversation import APP_NAME, Conversation
from bench.workload import InstantLlm, answer, inputs, state
from config import ROLES, Settings
from core.adapters.adk_session import BoundedSessionService
from core.bootstrap import build_container
from schemas.tenancy import SessionKey

KEY = SessionKey("bench", "user", "s1")
_HERE: Mapping[str, Any] = {"app_name": KEY.app, "user_id": KEY.user, "session_id": KEY.session}

WINDOW = 200
"""Turns before each mark whose median CPU time and mean bytes are taken; half of all at most.

Enough for several checkpoints of SQLite's write-ahead log, which would else be seen or not.
"""

SHORT_WINDOW = 20
SHORTEST_WINDOW = 3
"""The same for contenders that are filled; the latter where a turn takes seconds."""

SHORTEST_FROM = 1_000

Turn = Callable[[int], Awaitable[None]]
Io = Callable[[], Awaitable[tuple[int, int]]]


@dataclass(frozen=True)
class Point:
    """What a turn costs around a mark."""

    turn: int
    cpu_ms: float
    read_kb: float
    written_kb: float


@dataclass(frozen=True)
class Contender:
    """Something that takes turns."""

    turn: Turn
    io: Io
    fill: Callable[[int], None] | None = None
    """Adds turns without taking them; None: every turn is taken."""


Open = Callable[[Path], Any]


async def curve(contender: Contender, marks: list[int]) -> list[Point]:
    """Take turns up to the last mark; what they cost around each."""
    points: list[Point] = []
    done = 0
    for mark in marks:
        window = WINDOW
        if contender.fill is not None:
            window = SHORTEST_WINDOW if mark > SHORTEST_FROM else SHORT_WINDOW
        # Never the very first turns: they open databases.
        window = min(mark // 2, window)
        begin = max(done, mark - window)
        real = begin - done if contender.fill is None else min(1, begin - done)
        for number in range(done, done + real):
            await contender.turn(number)
        if contender.fill is not None:
            contender.fill(begin - done - real)
        points.append(await _measured(contender, begin, mark))
        done = mark
    return points


async def _measured(contender: Contender, begin: int, mark: int) -> Point:
    cpu: list[float] = []
    read, written = await contender.io()
    for number in range(begin, mark):
        started = time.process_time()
        await contender.turn(number)
        cpu.append((time.process_time() - started) * 1_000)
    read_after, written_after = await contender.io()
    turns = mark - begin
    return Point(
        turn=mark,
        cpu_ms=round(statistics.median(cpu), 2),
        read_kb=round((read_after - read) / turns / 1_024, 1),
        written_kb=round((written_after - written) / turns / 1_024, 1),
    )


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
    """BoundedSessionService."""
    service = BoundedSessionService(folder / "sessions.db")
    yield Contender(service_turn(service), process_io)
    await service.close()


@asynccontextmanager
async def ours_postgres(folder: Path) -> AsyncIterator[Contender]:
    """PostgresSessionService over the test suite's own server."""
    # The server of the tests; its code is there in a checkout, where benchmarks are run.
    from core.adapters.postgres_database import PostgresDatabase  # noqa: PLC0415
    from core.adapters.postgres_sessions import PostgresSessionService  # noqa: PLC0415
    from tests.fakes.postgres_server import running_postgres  # noqa: PLC0415

    del folder
    with running_postgres() as server:
        # One connection, so that the counters of one backend tell all.
        database = PostgresDatabase(server.new_database(), connections=1)
        service = PostgresSessionService(database)

        async def io() -> tuple[int, int]:
            # A backend tells its counters at the end of a transaction, once a second at most.
            await asyncio.sleep(1.1)
            await service.get_session(app_name="none", user_id="none", session_id="none")
            return await database.read(_server_io)

        yield Contender(service_turn(service), io)
        await database.close()


def _server_io(connection: "psycopg.Connection[tuple[Any, ...]]") -> tuple[int, int]:
    [[blocks, log]] = connection.execute(
        "SELECT blks_read + blks_hit, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') "
        "FROM pg_stat_database WHERE datname = current_database()"
    ).fetchall()
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
    container = build_container(Settings(data_dir=folder, store="sqlite"))
    conversation = Conversation(container, models=dict.fromkeys(ROLES, InstantLlm()))
    said = inputs()

    async def turn(number: int) -> None:
        del number
        await conversation.turn(KEY._replace(app=APP_NAME), next(said))

    yield Contender(turn, process_io)
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
}


async def run(names: list[str], marks: list[int]) -> dict[str, list[Point]]:
    """The contenders one after the other, in this process."""
    results = {}
    for name in names:
        with tempfile.TemporaryDirectory(prefix="acc-ace-bench-") as folder:
            async with CONTENDERS[name](Path(folder)) as contender:
                results[name] = await curve(contender, marks)
        show(name, results[name])
    return results


def show(name: str, points: list[Point]) -> None:
    """Print the line of a contender as a table's, and how late turns compare to early ones."""
    cells = [f"{p.cpu_ms} / {p.read_kb} / {p.written_kb}" for p in points]
    ratio = points[-1].cpu_ms / points[0].cpu_ms
    print(f"| {name} | {' | '.join(cells)} | {ratio:.2f} |", flush=True)


def marks_to(turns: int) -> list[int]:
    """20, 100, 1,000, 10,000: those below the last turn, and that."""
    return sorted({mark for mark in (20, 100, 1_000, 10_000) if mark < turns} | {turns})


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--only", help=f"some of: {', '.join(CONTENDERS)}", action="append")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    marks = marks_to(options.turns)
    print(f"| CPU ms / kB read / kB written | {' | '.join(map(str, marks))} | last ÷ first |")
    results = asyncio.run(run(options.only or list(CONTENDERS), marks))
    if options.json:
        told = {name: [asdict(point) for point in points] for name, points in results.items()}
        json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()

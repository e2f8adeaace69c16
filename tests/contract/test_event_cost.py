"""What a turn reads of a session's events does not grow with the session."""

import asyncio
from pathlib import Path

import aiosqlite
from google.adk.events import Event
from google.adk.sessions.sqlite_session_service import CREATE_SCHEMA_SQL

from core.adapters.adk_session import BoundedSessionService
from schemas.tenancy import SessionKey
from tests.fakes.scripted_llm import text_content

KEY = SessionKey("shop", "aiko", "s-1")


class _Steps:
    """Counts what SQLite's machine does for a service."""

    def __init__(self) -> None:
        self.taken = 0

    def __call__(self) -> int:
        self.taken += 1
        return 0


async def _steps(directory: Path, turns: int) -> dict[str, int]:
    """Steps of SQLite for what a turn asks of a session with so many turns behind it."""
    service = BoundedSessionService(directory / f"{turns}.db", recent_events=20)
    await service.create_session(app_name=KEY.app, user_id=KEY.user, session_id=KEY.session)
    async with aiosqlite.connect(directory / f"{turns}.db") as connection:
        await connection.executescript(CREATE_SCHEMA_SQL)
        await connection.executemany(
            "INSERT INTO events (id, app_name, user_id, session_id, invocation_id, timestamp, "
            "event_data) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (event.id, *KEY, event.invocation_id, event.timestamp, event.model_dump_json())
                for turn in range(turns)
                for event in _turn(turn)
            ],
        )
        await connection.commit()
    found: dict[str, int] = {}
    async with service._get_db_connection() as connection:
        await connection.set_progress_handler(counter := _Steps(), 1)
    session = await service.get_session(
        app_name=KEY.app, user_id=KEY.user, session_id=KEY.session, config=None
    )
    assert session is not None
    assert len(session.events) == 20
    found["load"], counter.taken = counter.taken, 0
    old = await service.old_events(KEY, turns=20, limit=100)
    assert len(old) == 100
    found["old"], counter.taken = counter.taken, 0
    await service.delete_events(KEY, [event.id for event in old])
    found["delete"] = counter.taken
    await service.close()
    return found


def _turn(number: int) -> list[Event]:
    return [
        Event(
            id=f"e-{number:06}-{place}",
            invocation_id=f"i-{number:06}",
            author=author,
            content=text_content("words " * 20),
            timestamp=float(2 * number + place),
        )
        for place, author in enumerate(("user", "desk"))
    ]


def test_what_a_turn_reads_of_its_events_does_not_grow_with_the_session(tmp_path: Path) -> None:
    short, long = (asyncio.run(_steps(tmp_path, turns)) for turns in (100, 3_000))
    assert {name: steps for name, steps in long.items() if steps > 1.5 * short[name] + 100} == {}

"""What a turn reads of a session's events does not grow with the session."""

import asyncio
from pathlib import Path

from google.adk.events import Event

from acc_ace.adk.sessions.event_buffer import write_events
from acc_ace.core.schemas.base import SessionKey
from acc_ace.storage.sqlite.database import SqliteDatabase
from tests.fakes.scripted_llm import text_content
from tests.fakes.session_services import over

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
    database = SqliteDatabase(directory / f"{turns}.db")
    service = over(database, recent_events=20)
    await service.create_session(app_name=KEY.app, user_id=KEY.user, session_id=KEY.session)
    events = [event for turn in range(turns) for event in _turn(turn)]
    await database.write(lambda rows: write_events(rows, KEY, events))
    counter = _Steps()
    await database.read(lambda rows: rows.connection.set_progress_handler(counter, 1))
    found: dict[str, int] = {}
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
    found["delete"], counter.taken = counter.taken, 0
    await service.append_event(session, _turn(turns)[0])
    found["append"] = counter.taken
    await database.close()
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

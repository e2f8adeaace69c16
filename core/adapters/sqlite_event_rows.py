"""The rows under ADK's events in SQLite: what a turn loads, what waits, what is old."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import aiosqlite

from core.adapters.event_calls import OPEN_CALLS, CallTraffic
from core.adapters.rewound_calls import RewoundCalls
from schemas.tenancy import SessionKey

SCHEMA = """
CREATE INDEX IF NOT EXISTS events_by_time
    ON events (app_name, user_id, session_id, timestamp, invocation_id);
CREATE INDEX IF NOT EXISTS events_by_invocation
    ON events (app_name, user_id, session_id, invocation_id);
-- Calls that wait for a person's answer. `answered_in` is the invocation that brought it.
CREATE TABLE IF NOT EXISTS open_calls (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    app_name      TEXT NOT NULL,
    user_id       TEXT NOT NULL,
    session_id    TEXT NOT NULL,
    call_id       TEXT NOT NULL,
    invocation_id TEXT NOT NULL,
    answered_in   TEXT,
    UNIQUE (app_name, user_id, session_id, call_id),
    FOREIGN KEY (app_name, user_id, session_id)
        REFERENCES sessions (app_name, user_id, id) ON DELETE CASCADE
);
-- The order of time is the order of storing: no clock that is put back makes an event older than
-- those before it. Its own text keeps what its clock said.
CREATE TRIGGER IF NOT EXISTS events_in_order AFTER INSERT ON events BEGIN
    UPDATE events SET timestamp = newest.at
      FROM (SELECT max(timestamp) AS at FROM events
             WHERE app_name = NEW.app_name AND user_id = NEW.user_id
               AND session_id = NEW.session_id) AS newest
     WHERE events.rowid = NEW.rowid AND events.timestamp < newest.at;
END;
"""
"""What is ours beside ADK's tables. Without the indexes ADK's queries read all of a session."""

_NEWEST = """
    SELECT rowid, invocation_id FROM events
     WHERE app_name = :app AND user_id = :user AND session_id = :session
     ORDER BY timestamp DESC, rowid DESC LIMIT :limit
"""
_TURNS_NEWEST_FIRST = """
    SELECT invocation_id FROM events
     WHERE app_name = :app AND user_id = :user AND session_id = :session
     ORDER BY timestamp DESC, rowid DESC
"""
_OLDEST = """
    SELECT rowid, invocation_id FROM events
     WHERE app_name = :app AND user_id = :user AND session_id = :session
       AND invocation_id NOT IN (SELECT value FROM json_each(:spared))
       AND (invocation_id <> '' OR timestamp < (
            SELECT min(timestamp) FROM events
             WHERE app_name = :app AND user_id = :user AND session_id = :session
               AND invocation_id IN (SELECT value FROM json_each(:kept))))
     ORDER BY timestamp, rowid LIMIT :limit
"""
# `+` keeps SQLite from an index in whose order it would read all of the session.
_EVENTS = """
    SELECT event_data FROM events
     WHERE rowid IN (
            SELECT rowid FROM events
             WHERE app_name = :app AND user_id = :user AND session_id = :session
               AND invocation_id IN (SELECT value FROM json_each(:turns))
            UNION SELECT value FROM json_each(:rows))
       AND +app_name = :app AND +user_id = :user AND +session_id = :session
     ORDER BY +timestamp, rowid
"""
_CALLS = """
    SELECT invocation_id, answered_in FROM open_calls
     WHERE app_name = :app AND user_id = :user AND session_id = :session
"""
_OPEN = """
    INSERT OR IGNORE INTO open_calls (app_name, user_id, session_id, call_id, invocation_id)
    SELECT :app, :user, :session, value, :turn FROM json_each(:calls)
"""
_FORGET_OLDEST = """
    DELETE FROM open_calls
     WHERE app_name = :app AND user_id = :user AND session_id = :session
       AND seq NOT IN (SELECT seq FROM open_calls
                        WHERE app_name = :app AND user_id = :user AND session_id = :session
                        ORDER BY seq DESC LIMIT :limit)
"""
_ANSWER = """
    UPDATE open_calls SET answered_in = :turn
     WHERE app_name = :app AND user_id = :user AND session_id = :session
       AND call_id IN (SELECT value FROM json_each(:calls))
"""
_END = """
    DELETE FROM open_calls
     WHERE app_name = :app AND user_id = :user AND session_id = :session
       AND invocation_id = :turn AND answered_in = :turn
"""
_FORGET_TURNS = """
    DELETE FROM open_calls
     WHERE app_name = :app AND user_id = :user AND session_id = :session
       AND invocation_id IN (SELECT value FROM json_each(:turns))
"""
_FORGET_ANSWERS = """
    DELETE FROM open_calls
     WHERE app_name = :app AND user_id = :user AND session_id = :session
       AND answered_in IN (SELECT invocation_id FROM events
            WHERE app_name = :app AND user_id = :user AND session_id = :session
              AND id IN (SELECT value FROM json_each(:events)))
"""
_DELETE = """
    DELETE FROM events
     WHERE app_name = :app AND user_id = :user AND session_id = :session
       AND id IN (SELECT value FROM json_each(:events))
"""


async def read_window(db: aiosqlite.Connection, key: SessionKey, *, recent: int) -> list[str]:
    """The newest `recent` events and those of turns that wait, each turn whole; oldest first."""
    newest = await _all(db, _NEWEST, key, limit=recent) if recent else []
    waiting = {turn for turn, answered in await _all(db, _CALLS, key) if answered in {None, turn}}
    turns = {turn for _, turn in newest if turn} | waiting
    if not newest and not turns:
        return []
    return await _bodies(db, key, turns, [row for row, _ in newest])


async def read_old(
    db: aiosqlite.Connection, key: SessionKey, *, turns: int, limit: int, spare: str
) -> list[str]:
    """Events of whole turns beyond the newest `turns` that nobody waits for, oldest first.

    None of the invocation `spare`.
    """
    kept = await _newest_turns(db, key, turns)
    if len(kept) < turns:
        return []
    spared = kept | {turn for turn, _ in await _all(db, _CALLS, key)} | ({spare} - {""})
    oldest = await _all(db, _OLDEST, key, spared=_listed(spared), kept=_listed(kept), limit=limit)
    names = {turn for _, turn in oldest if turn}
    return await _bodies(db, key, names, [row for row, turn in oldest if not turn])


async def delete_rows(db: aiosqlite.Connection, key: SessionKey, events: Sequence[str]) -> None:
    """Delete events, and what was noted of the calls that they answered."""
    await _run(db, _FORGET_ANSWERS, key, events=_listed(events))
    await _run(db, _DELETE, key, events=_listed(events))


async def write_opened(
    db: aiosqlite.Connection, key: SessionKey, turn: str, traffic: CallTraffic
) -> int:
    """Note calls that begin to wait; how many older ones are no longer kept for that."""
    await _run(db, _OPEN, key, turn=turn, calls=_listed(sorted(traffic.opened)))
    return await _run(db, _FORGET_OLDEST, key, limit=OPEN_CALLS)


async def write_answered(
    db: aiosqlite.Connection, key: SessionKey, turn: str, traffic: CallTraffic
) -> None:
    """Note answers; a call that its own turn has answered is forgotten at that turn's end."""
    if traffic.answered:
        await _run(db, _ANSWER, key, turn=turn, calls=_listed(traffic.answered))
    if traffic.ends_invocation:
        await _run(db, _END, key, turn=turn)


async def write_rewound(db: aiosqlite.Connection, key: SessionKey, calls: RewoundCalls) -> int:
    """Note what a rewind changed; how many older calls are no longer kept for that."""
    await _run(db, _FORGET_TURNS, key, turns=_listed(calls.turns))
    forgotten = 0
    for turn, traffic in calls.live:
        forgotten += await write_opened(db, key, turn, traffic)
        await write_answered(db, key, turn, traffic)
    return forgotten


async def has_calls(db: aiosqlite.Connection, key: SessionKey) -> bool:
    """Whether anything is noted of a session's calls."""
    return bool(await _all(db, _CALLS, key))


async def _newest_turns(db: aiosqlite.Connection, key: SessionKey, count: int) -> set[str]:
    """The newest turns, at most `count`; reads no more of the index than they take up."""
    found: set[str] = set()
    async with db.execute(_TURNS_NEWEST_FIRST, key._asdict()) as cursor:
        async for (turn,) in cursor:
            if turn:
                found.add(turn)
            if len(found) == count:
                break
    return found


async def _bodies(
    db: aiosqlite.Connection, key: SessionKey, turns: Iterable[str], rows: Iterable[int]
) -> list[str]:
    found = await _all(db, _EVENTS, key, turns=_listed(turns), rows=_listed(rows))
    return [body for (body,) in found]


async def _all(
    db: aiosqlite.Connection, query: str, key: SessionKey, **values: object
) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await db.execute_fetchall(query, {**key._asdict(), **values})]


async def _run(db: aiosqlite.Connection, query: str, key: SessionKey, **values: object) -> int:
    async with db.execute(query, {**key._asdict(), **values}) as cursor:
        return cursor.rowcount


def _listed(values: Iterable[str] | Iterable[int]) -> str:
    """Values for `json_each`, which takes any number of them in one parameter."""
    return json.dumps(list(values))

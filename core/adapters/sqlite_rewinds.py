"""What rewinds of ADK's sessions took back, in SQLite."""

import json
from collections.abc import Iterable, Sequence

import aiosqlite
from google.adk.events import Event

from core.adapters.rewinds import Rewind, counting
from core.adapters.rewound_calls import RewoundCalls, rewound_calls
from schemas.tenancy import SessionKey

SCHEMA = """
-- From where to where rewinds took events back; a place is an event's time and row. Rewinds that
-- count do not overlap.
CREATE TABLE IF NOT EXISTS rewinds (
    app_name      TEXT NOT NULL,
    user_id       TEXT NOT NULL,
    session_id    TEXT NOT NULL,
    since         REAL NOT NULL,
    since_row     INTEGER NOT NULL,
    until         REAL NOT NULL,
    until_row     INTEGER NOT NULL,
    counts        INTEGER NOT NULL,
    PRIMARY KEY (app_name, user_id, session_id, until, until_row),
    FOREIGN KEY (app_name, user_id, session_id)
        REFERENCES sessions (app_name, user_id, id) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS rewinds_that_count
    ON rewinds (app_name, user_id, session_id, until, until_row) WHERE counts;
"""

_TAKEN = """
    SELECT id FROM events
     WHERE app_name = :app AND user_id = :user AND session_id = :session
       AND id IN (SELECT value FROM json_each(:events))
       AND (SELECT (since, since_row) <= (events.timestamp, events.rowid) FROM rewinds
             WHERE app_name = :app AND user_id = :user AND session_id = :session AND counts
               AND (until, until_row) > (events.timestamp, events.rowid)
             ORDER BY until, until_row LIMIT 1)
"""
# `+` keeps SQLite from an index in whose order it would read all of the session.
_ADD = """
    INSERT OR IGNORE INTO rewinds
    SELECT app_name, user_id, session_id, first.timestamp, first.rowid, mine.timestamp, mine.rowid,
           1
      FROM events AS first JOIN events AS mine USING (app_name, user_id, session_id)
     WHERE app_name = :app AND user_id = :user AND session_id = :session
       AND first.invocation_id = :before AND mine.id = :rewind
       AND (first.timestamp, first.rowid) < (mine.timestamp, mine.rowid)
     ORDER BY +first.timestamp, first.rowid LIMIT 1
"""
_ALL = """
    SELECT since, since_row, until, until_row FROM rewinds
     WHERE app_name = :app AND user_id = :user AND session_id = :session
"""
_COUNT = """
    UPDATE rewinds SET counts = :counts
     WHERE app_name = :app AND user_id = :user AND session_id = :session
       AND until = :until AND until_row = :row AND counts <> :counts
"""
_DROP = """
    DELETE FROM rewinds
     WHERE app_name = :app AND user_id = :user AND session_id = :session
       AND until < (SELECT min(timestamp) FROM events
            WHERE app_name = :app AND user_id = :user AND session_id = :session)
"""


async def taken_back(db: aiosqlite.Connection, key: SessionKey, events: Iterable[str]) -> set[str]:
    """Those of some events that a rewind took back."""
    named = key._asdict() | {"events": json.dumps(list(events))}
    return {name for (name,) in await db.execute_fetchall(_TAKEN, named)}


async def add_rewind(
    db: aiosqlite.Connection, key: SessionKey, rewind: Event, past: Sequence[Event]
) -> RewoundCalls:
    """Note what a rewind, stored in this transaction, takes back of the events before it.

    Returns what that changes about the calls that wait.
    """
    names = [event.id for event in past]
    before = await taken_back(db, key, names)
    turn = rewind.actions.rewind_before_invocation_id
    await db.execute_fetchall(_ADD, key._asdict() | {"before": turn, "rewind": rewind.id})
    await _count(db, key)
    return rewound_calls(past, before, await taken_back(db, key, names))


async def drop_rewinds(db: aiosqlite.Connection, key: SessionKey) -> None:
    """Forget rewinds that are older than all events."""
    await db.execute_fetchall(_DROP, key._asdict())


async def _count(db: aiosqlite.Connection, key: SessionKey) -> None:
    """Note which rewinds count."""
    rows = [tuple(row) for row in await db.execute_fetchall(_ALL, key._asdict())]
    rewinds = [Rewind((row[0], row[1]), (row[2], row[3])) for row in rows]
    found = counting(rewinds)
    await db.executemany(
        _COUNT,
        [
            key._asdict() | {"counts": each in found, "until": each.until[0], "row": each.until[1]}
            for each in rewinds
        ],
    )

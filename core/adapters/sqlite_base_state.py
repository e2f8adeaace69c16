"""What ADK's sessions in SQLite began with, and what deleted events changed of their state."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import aiosqlite

from core.adapters.base_state import (
    BEGIN,
    Around,
    decoded_state,
    encoded_state,
    left_changes,
    with_changes,
)
from schemas.tenancy import SessionKey

SCHEMA = """
CREATE TABLE IF NOT EXISTS base_states (
    app_name      TEXT NOT NULL,
    user_id       TEXT NOT NULL,
    session_id    TEXT NOT NULL,
    state         TEXT NOT NULL,
    PRIMARY KEY (app_name, user_id, session_id),
    FOREIGN KEY (app_name, user_id, session_id)
        REFERENCES sessions (app_name, user_id, id) ON DELETE CASCADE
);
CREATE TRIGGER IF NOT EXISTS sessions_begin AFTER INSERT ON sessions WHEN NEW.state <> '{}' BEGIN
    INSERT OR REPLACE INTO base_states (app_name, user_id, session_id, state)
    VALUES (NEW.app_name, NEW.user_id, NEW.id, NEW.state);
END;
"""
"""ADK inserts a session with the state that it begins with."""

_READ = """
    SELECT state FROM base_states
     WHERE app_name = :app AND user_id = :user AND session_id = :session
"""
# From the event before them to the newest of them.
_AROUND = """
    WITH gone AS (
        SELECT min(timestamp) AS oldest, max(timestamp) AS newest FROM events
         WHERE app_name = :app AND user_id = :user AND session_id = :session
           AND id IN (SELECT value FROM json_each(:events)))
    SELECT id, CASE WHEN id IN (SELECT value FROM json_each(:events)) THEN event_data END
      FROM events
     WHERE app_name = :app AND user_id = :user AND session_id = :session
       AND timestamp BETWEEN coalesce((
            SELECT max(timestamp) FROM events
             WHERE app_name = :app AND user_id = :user AND session_id = :session
               AND timestamp < (SELECT oldest FROM gone)), (SELECT oldest FROM gone))
           AND (SELECT newest FROM gone)
     ORDER BY timestamp, rowid
"""
_BODY = """
    SELECT event_data FROM events
     WHERE app_name = :app AND user_id = :user AND session_id = :session AND id = :event
"""
_CHANGE = """
    UPDATE events SET event_data = :body
     WHERE app_name = :app AND user_id = :user AND session_id = :session AND id = :event
"""
# No row when the session was deleted meanwhile.
_WRITE = """
    INSERT OR REPLACE INTO base_states (app_name, user_id, session_id, state)
    SELECT app_name, user_id, id, :state FROM sessions
     WHERE app_name = :app AND user_id = :user AND id = :session
"""


async def read_base(db: aiosqlite.Connection, key: SessionKey) -> dict[str, Any]:
    """The session's own state before its oldest event; empty when nothing is known of it."""
    for (state,) in await db.execute_fetchall(_READ, key._asdict()):
        return decoded_state(state)
    return {}


async def keep_changes(db: aiosqlite.Connection, key: SessionKey, events: Sequence[str]) -> None:
    """Keep what events that are about to be deleted changed; begins a transaction."""
    # Another process may cut the same session.
    await db.execute_fetchall("BEGIN IMMEDIATE")
    named = key._asdict() | {"events": json.dumps(list(events))}
    rows = await db.execute_fetchall(_AROUND, named)
    for event, changes in left_changes(Around(*row) for row in rows).items():
        if event == BEGIN:
            state = {**await read_base(db, key), **changes}
            await db.execute_fetchall(_WRITE, key._asdict() | {"state": encoded_state(state)})
        else:
            await _change(db, key._asdict() | {"event": event}, changes)


async def _change(
    db: aiosqlite.Connection, event: Mapping[str, str], changes: Mapping[str, Any]
) -> None:
    for (body,) in await db.execute_fetchall(_BODY, event):
        await db.execute_fetchall(_CHANGE, {**event, "body": with_changes(body, changes)})

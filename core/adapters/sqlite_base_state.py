"""What the state of ADK's sessions in SQLite was before their oldest event."""

import json
from collections.abc import Sequence
from typing import Any

import aiosqlite

from core.adapters.base_state import decoded_state, encoded_state, with_deleted
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
_BODIES = """
    SELECT event_data FROM events
     WHERE app_name = :app AND user_id = :user AND session_id = :session
       AND id IN (SELECT value FROM json_each(:events))
     ORDER BY timestamp, rowid
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


async def keep_base(db: aiosqlite.Connection, key: SessionKey, events: Sequence[str]) -> None:
    """Keep what events that are about to be deleted left of the state; begins a transaction."""
    # Another process may cut the same session.
    await db.execute_fetchall("BEGIN IMMEDIATE")
    named = key._asdict() | {"events": json.dumps(list(events))}
    bodies = [body for (body,) in await db.execute_fetchall(_BODIES, named)]
    base = await read_base(db, key)
    if (kept := with_deleted(base, bodies)) != base:
        await db.execute_fetchall(_WRITE, key._asdict() | {"state": encoded_state(kept)})

"""What ADK's sessions in PostgreSQL began with, and what deleted events changed of their state."""

from collections.abc import Mapping, Sequence
from typing import Any

from core.adapters.base_state import (
    BEGIN,
    Around,
    decoded_state,
    encoded_state,
    left_changes,
    with_changes,
)
from core.adapters.postgres_schema import Connection
from schemas.tenancy import SessionKey

_READ = """
    SELECT state FROM base_states
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
"""
# Another process may cut the same session.
_HOLD = """
    SELECT FROM sessions WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
       FOR NO KEY UPDATE
"""
# From the event before them to the newest of them.
_AROUND = """
    WITH gone AS (
        SELECT min(happened_at) AS oldest, max(happened_at) AS newest FROM events
         WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
           AND event_id = ANY(%(events)s))
    SELECT event_id, CASE WHEN event_id = ANY(%(events)s) THEN body END
      FROM events
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
       AND happened_at BETWEEN coalesce((
            SELECT max(happened_at) FROM events
             WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
               AND happened_at < (SELECT oldest FROM gone)), (SELECT oldest FROM gone))
           AND (SELECT newest FROM gone)
     ORDER BY happened_at, seq
"""
_BODY = """
    SELECT body FROM events
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
       AND event_id = %(event)s
"""
_CHANGE = """
    UPDATE events SET body = %(body)s
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
       AND event_id = %(event)s
"""
# No row when the session was deleted meanwhile.
_WRITE = """
    INSERT INTO base_states (app, user_id, session, state)
    SELECT app, user_id, session, %(state)s FROM sessions
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
    ON CONFLICT (app, user_id, session) DO UPDATE SET state = excluded.state
"""


def read_base(connection: Connection, key: SessionKey) -> dict[str, Any]:
    """The session's own state before its oldest event; empty when nothing is known of it."""
    row = connection.execute(_READ, key._asdict()).fetchone()
    return decoded_state(row[0]) if row else {}


def write_base(connection: Connection, key: SessionKey, state: Mapping[str, Any]) -> None:
    """Keep the state that a session begins with."""
    if state:
        connection.execute(_WRITE, key._asdict() | {"state": encoded_state(state)})


def keep_changes(connection: Connection, key: SessionKey, events: Sequence[str]) -> None:
    """Keep what events that are about to be deleted changed."""
    connection.execute(_HOLD, key._asdict())
    rows = connection.execute(_AROUND, key._asdict() | {"events": list(events)}).fetchall()
    for event, changes in left_changes(Around(*row) for row in rows).items():
        if event == BEGIN:
            write_base(connection, key, {**read_base(connection, key), **changes})
        else:
            _change(connection, key._asdict() | {"event": event}, changes)


def _change(connection: Connection, event: Mapping[str, str], changes: Mapping[str, Any]) -> None:
    for (body,) in connection.execute(_BODY, event).fetchall():
        connection.execute(_CHANGE, {**event, "body": with_changes(body, changes)})

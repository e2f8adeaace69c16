"""What the state of ADK's sessions in PostgreSQL was before their oldest event."""

from collections.abc import Mapping, Sequence
from typing import Any

from core.adapters.base_state import decoded_state, encoded_state, with_deleted
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
_BODIES = """
    SELECT body FROM events
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
       AND event_id = ANY(%(events)s)
     ORDER BY happened_at, seq
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


def keep_base(connection: Connection, key: SessionKey, events: Sequence[str]) -> None:
    """Keep what events that are about to be deleted left of the state."""
    connection.execute(_HOLD, key._asdict())
    rows = connection.execute(_BODIES, key._asdict() | {"events": list(events)}).fetchall()
    base = read_base(connection, key)
    if (kept := with_deleted(base, [body for (body,) in rows])) != base:
        write_base(connection, key, kept)

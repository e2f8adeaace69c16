"""The rows under ADK's sessions in PostgreSQL: sessions, and state key by key."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from google.adk.sessions import State

from core.adapters.postgres_schema import Connection
from schemas.tenancy import SessionKey, Tenant

_SESSIONS = """
    SELECT user_id, session, updated_at,
           (SELECT json_object_agg(key, value) FROM session_state AS own
             WHERE (own.app, own.user_id, own.session)
                 = (sessions.app, sessions.user_id, sessions.session)),
           (SELECT json_object_agg(key, value) FROM shared_state AS own
             WHERE (own.app, own.user_id) = (sessions.app, sessions.user_id))
      FROM sessions
     WHERE app = %(app)s AND (%(everybody)s OR user_id = %(user)s)
       AND (%(session)s::text IS NULL OR session = %(session)s)
     ORDER BY updated_at, user_id, session
"""
_ONE_SESSION = """
    SELECT user_id, session, updated_at,
           (SELECT json_object_agg(key, value) FROM session_state
             WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s),
           (SELECT json_object_agg(key, value) FROM shared_state
             WHERE app = %(app)s AND user_id = %(user)s)
      FROM sessions WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
"""
_WRITE_OF_APP = """
    INSERT INTO shared_state (app, user_id, key, value) VALUES (%s, %s, %s, %s)
    ON CONFLICT (app, key) WHERE user_id IS NULL DO UPDATE SET value = excluded.value
"""
_WRITE_OF_USER = """
    INSERT INTO shared_state (app, user_id, key, value) VALUES (%s, %s, %s, %s)
    ON CONFLICT (app, user_id, key) WHERE user_id IS NOT NULL
    DO UPDATE SET value = excluded.value
"""


class SessionRow(NamedTuple):
    """A session with its whole state, the shared one under its prefixes."""

    user: str
    session: str
    updated_at: float
    state: dict[str, Any]


def read_sessions(
    connection: Connection, tenant: Tenant, session: str | None, everybody: bool = False
) -> list[SessionRow]:
    """One session, all sessions of a user, or those of everybody; least recently changed first."""
    values = {"app": tenant.app, "user": tenant.user, "session": session, "everybody": everybody}
    statement = _SESSIONS if session is None else _ONE_SESSION
    rows = connection.execute(statement.encode(), values).fetchall()
    if not rows:
        return []
    of_app = _prefixed(State.APP_PREFIX, _app_state(connection, tenant.app))
    return [
        SessionRow(
            user,
            name,
            updated_at,
            _decoded(own) | of_app | _prefixed(State.USER_PREFIX, _decoded(shared)),
        )
        for user, name, updated_at, own, shared in rows
    ]


def read_user_state(connection: Connection, tenant: Tenant) -> dict[str, Any]:
    """What all sessions of a user share."""
    rows = connection.execute(
        "SELECT key, value FROM shared_state WHERE app = %s AND user_id = %s", tenant
    ).fetchall()
    return _decoded(dict(rows))


def write_session(connection: Connection, key: SessionKey, now: float) -> bool:
    """Add a session; False when there is one of that name, unless it is this very one."""
    connection.execute(
        "INSERT INTO sessions (app, user_id, session, created_at, updated_at) "
        "VALUES (%s, %s, %s, %s, %s) ON CONFLICT DO NOTHING",
        (*key, now, now),
    )
    row = connection.execute(
        "SELECT created_at FROM sessions WHERE app = %s AND user_id = %s AND session = %s", key
    ).fetchone()
    # If the answer to an earlier COMMIT was lost, the time tells that it was ours.
    return row is not None and row[0] == now


def write_state(connection: Connection, key: SessionKey, values: Mapping[str, str]) -> None:
    """Write keys of a session's own state; values are JSON."""
    for name in sorted(values):
        connection.execute(
            "INSERT INTO session_state (app, user_id, session, key, value) "
            "VALUES (%s, %s, %s, %s, %s) ON CONFLICT (app, user_id, session, key) "
            "DO UPDATE SET value = excluded.value",
            (*key, name, values[name]),
        )


def write_shared_state(
    connection: Connection, app: str, user: str | None, values: Mapping[str, str]
) -> None:
    """Write keys that all sessions of a user share, or (`user` None) all of an app."""
    # In one order for every writer, so that no two wait for each other.
    for name in sorted(values):
        connection.execute(
            _WRITE_OF_APP if user is None else _WRITE_OF_USER, (app, user, name, values[name])
        )


def delete_session(connection: Connection, key: SessionKey) -> None:
    """Delete a session; one that is gone is no error."""
    connection.execute("DELETE FROM sessions WHERE app = %s AND user_id = %s AND session = %s", key)


def delete_user_state(connection: Connection, tenant: Tenant) -> None:
    """Delete what all sessions of a user share."""
    connection.execute("DELETE FROM shared_state WHERE app = %s AND user_id = %s", tenant)


def _app_state(connection: Connection, app: str) -> dict[str, Any]:
    rows = connection.execute(
        "SELECT key, value FROM shared_state WHERE app = %s AND user_id IS NULL", (app,)
    ).fetchall()
    return _decoded(dict(rows))


def _decoded(values: Mapping[str, str] | None) -> dict[str, Any]:
    return {name: json.loads(value) for name, value in (values or {}).items()}


def _prefixed(prefix: str, values: Mapping[str, Any]) -> dict[str, Any]:
    return {prefix + name: value for name, value in values.items()}

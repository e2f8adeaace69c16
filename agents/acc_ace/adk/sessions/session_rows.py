"""The rows of ADK's sessions and of their state, key by key, and ids that sort by time.

ADK's own ids are random (UUID version 4). Two indexes of events and one of evidence have them as
keys, so each row goes to another page, and the longer a session, the fewer rows share a page that
must be written: at 10,000 turns a third more bytes a turn than at 100. Ids of version 7 (RFC 9562)
go to the end of an index of any size.
"""

import json
import secrets
import threading
import time
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

from google.adk.errors import StaleSessionError
from google.adk.platform import uuid as adk_ids
from google.adk.sessions import State

from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.storage.sql_rows import Rows, reading
from acc_ace.storage.tenant_rows import ensure_tenant


class SessionRow(NamedTuple):
    """A session with its own state."""

    id: int
    key: SessionKey
    created_at: float
    updated_at: float
    state: dict[str, Any]


_KEY = "app = ? AND user_id = ? AND session = ?"
_COLUMNS = "id, app, user_id, session, created_at, updated_at"


def session_id(rows: Rows, key: SessionKey, *, locked: bool = False) -> int | None:
    """The row of a session; `locked` takes a row lock until this transaction ends."""
    lock = rows.lock if locked else ""
    row = rows.one(f"SELECT id FROM adk_sessions WHERE {_KEY}{lock}", key)  # noqa: S608 - constants
    return row[0] if row else None


def add_session(
    rows: Rows, key: SessionKey, *, at: float, base_state: Mapping[str, Any]
) -> int | None:
    """Insert a session; None if its name is taken, unless by this same insert."""
    ensure_tenant(rows, key.tenant)
    rows.run(
        "INSERT INTO adk_sessions (app, user_id, session, created_at, updated_at, base_state) "
        "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (*key, at, at, json.dumps(base_state)),
    )
    # If the reply to an earlier COMMIT was lost, the time identifies our own insert.
    row = rows.one(
        "SELECT id FROM adk_sessions WHERE app = ? AND user_id = ? AND session = ? "
        "AND created_at = ?",
        (*key, at),
    )
    return row[0] if row else None


def touch_session(
    rows: Rows, key: SessionKey, *, at: float, loaded_at: float | None = None
) -> int | None:
    """Set the time of a session; return its row, or None when there is no such session.

    With `loaded_at`, raises StaleSessionError when it was changed at another time since.
    """
    row = rows.one(
        f"SELECT id, updated_at FROM adk_sessions WHERE {_KEY}{rows.lock}",  # noqa: S608 - constants
        key,
    )
    if row is None:
        return None
    session: int = row[0]
    # Its own time: this write, done again after the reply to its COMMIT was lost.
    if loaded_at is not None and row[1] not in {loaded_at, at}:
        raise StaleSessionError(
            f"session {key.session} was changed since it was loaded; load it again"
        )
    rows.run("UPDATE adk_sessions SET updated_at = ? WHERE id = ?", (at, session))
    return session


def read_time(rows: Rows, key: SessionKey) -> float | None:
    """When a session was changed last; None for one that does not exist."""
    row = rows.one(f"SELECT updated_at FROM adk_sessions WHERE {_KEY}", key)  # noqa: S608 - constants
    return row[0] if row else None


def read_session(rows: Rows, key: SessionKey) -> SessionRow | None:
    """One session with its own state."""
    row = rows.one(
        f"SELECT {_COLUMNS} FROM adk_sessions WHERE app = ? AND user_id = ? AND session = ?",  # noqa: S608 - a constant
        key,
    )
    if row is None:
        return None
    state = rows.all("SELECT key, value FROM adk_session_state WHERE session_id = ?", row[:1])
    return _row(row, dict(state))


def read_sessions(rows: Rows, app: str, user: str | None) -> list[SessionRow]:
    """The sessions of a user, or of all users, least recently changed first."""
    whose, values = (
        ("app = ?", (app,)) if user is None else ("app = ? AND user_id = ?", (app, user))
    )
    records = rows.all(
        f"SELECT {_COLUMNS} FROM adk_sessions WHERE {whose} "  # noqa: S608 - constants
        "ORDER BY updated_at, user_id, session",
        values,
    )
    return _with_states(rows, records, whose, values)


def read_page(rows: Rows, tenant: Tenant, *, limit: int, after: str) -> list[SessionRow]:
    """A page of a user's sessions by name; `after` ended the previous page."""
    records = rows.all(
        f"SELECT {_COLUMNS} FROM adk_sessions "  # noqa: S608 - a constant
        "WHERE app = ? AND user_id = ? AND session > ? ORDER BY session LIMIT ?",
        (*tenant, after, limit),
    )
    if not records:
        return []
    whose = "app = ? AND user_id = ? AND session > ? AND session <= ?"
    return _with_states(rows, records, whose, (*tenant, after, records[-1][3]))


def read_user_state(rows: Rows, tenant: Tenant) -> dict[str, Any]:
    """The state shared by all sessions of a user; keys without their prefix."""
    return _decoded(
        rows.all("SELECT key, value FROM adk_user_state WHERE app = ? AND user_id = ?", tenant)
    )


def read_shared_state(rows: Rows, tenant: Tenant) -> dict[str, Any]:
    """The state that a session shares with its user and its app, under ADK's prefixes."""
    of_app = _decoded(rows.all("SELECT key, value FROM adk_app_state WHERE app = ?", tenant[:1]))
    of_user = read_user_state(rows, tenant)
    return {State.APP_PREFIX + key: value for key, value in of_app.items()} | {
        State.USER_PREFIX + key: value for key, value in of_user.items()
    }


def write_state(rows: Rows, session: int, tenant: Tenant, delta: Mapping[str, Any]) -> None:
    """Write each key of a change where it belongs: to its session, its user or its app."""
    # All writers use one order, so that they cannot deadlock.
    for name in sorted(delta):
        value = json.dumps(delta[name])
        if name.startswith(State.APP_PREFIX):
            rows.run(
                "INSERT INTO adk_app_state (app, key, value) VALUES (?, ?, ?) "
                "ON CONFLICT (app, key) DO UPDATE SET value = excluded.value",
                (tenant.app, name.removeprefix(State.APP_PREFIX), value),
            )
        elif name.startswith(State.USER_PREFIX):
            rows.run(
                "INSERT INTO adk_user_state (app, user_id, key, value) VALUES (?, ?, ?, ?) "
                "ON CONFLICT (app, user_id, key) DO UPDATE SET value = excluded.value",
                (*tenant, name.removeprefix(State.USER_PREFIX), value),
            )
        elif not name.startswith(State.TEMP_PREFIX):
            rows.run(
                "INSERT INTO adk_session_state (session_id, key, value) VALUES (?, ?, ?) "
                "ON CONFLICT (session_id, key) DO UPDATE SET value = excluded.value",
                (session, name, value),
            )


def delete_session(rows: Rows, key: SessionKey) -> None:
    """Delete a session and its rows, by cascade; a missing one is no error."""
    rows.run("DELETE FROM adk_sessions WHERE app = ? AND user_id = ? AND session = ?", key)


def delete_user_state(rows: Rows, tenant: Tenant) -> None:
    """Delete the state shared by all sessions of a user."""
    rows.run("DELETE FROM adk_user_state WHERE app = ? AND user_id = ?", tenant)


def apps_of(rows: Rows, user: str) -> set[str]:
    """The apps in which a user has sessions or state."""
    records = rows.all(
        "SELECT app FROM adk_sessions WHERE user_id = ? "
        "UNION SELECT app FROM adk_user_state WHERE user_id = ?",
        (user, user),
    )
    return {app for (app,) in records}


def _with_states(
    rows: Rows, sessions: list[tuple[Any, ...]], whose: str, values: tuple[str, ...]
) -> list[SessionRow]:
    states: dict[int, dict[str, str]] = {}
    for session, name, value in rows.all(
        "SELECT session_id, key, value FROM adk_session_state "  # noqa: S608 - constants
        f"WHERE session_id IN (SELECT id FROM adk_sessions WHERE {whose})",
        values,
    ):
        states.setdefault(session, {})[name] = value
    return [_row(session, states.get(session[0], {})) for session in sessions]


def _row(columns: tuple[Any, ...], state: Mapping[str, str]) -> SessionRow:
    row, app, user, session, created_at, updated_at = columns
    key = SessionKey(app, user, session)
    return SessionRow(row, key, created_at, updated_at, _decoded(state.items()))


def _decoded(pairs: Any) -> dict[str, Any]:  # noqa: ANN401 - rows of a key and JSON
    with reading("the state of a session"):
        return {name: json.loads(value) for name, value in pairs}


_FRACTION_BITS = 12
_RANDOM_BITS = 62
_VERSION = 7
_VARIANT = 0b10
_NS_A_MS = 1_000_000


class TimeOrderedIds:
    """Generates UUIDv7 ids: unique across processes, monotonic in this one.

    48 bits of milliseconds, 12 of their fraction (RFC 9562, section 6.2, method 3), 62 random.
    """

    def __init__(self) -> None:
        self._last = 0
        self._mutex = threading.Lock()

    def __call__(self, *, now_ns: int | None = None) -> str:
        """A new id, at `now_ns` nanoseconds since 1970 (None: now)."""
        tick = ((time.time_ns() if now_ns is None else now_ns) << _FRACTION_BITS) // _NS_A_MS
        with self._mutex:
            # The order holds even if the clock stops or goes backwards.
            self._last = tick = max(tick, self._last + 1)
        milliseconds, fraction = tick >> _FRACTION_BITS, tick & ((1 << _FRACTION_BITS) - 1)
        high = milliseconds << 16 | _VERSION << _FRACTION_BITS | fraction
        return str(uuid.UUID(int=high << 64 | _VARIANT << 62 | secrets.randbits(_RANDOM_BITS)))


_ids = TimeOrderedIds()


def use_time_ordered_ids() -> None:
    """Let ADK give such ids in the caller's context: this task, and the tasks that it starts.

    A provider that the program itself gave to ADK (to replay a run, say) stays.
    """
    # ADK has a public way to set the provider, and none to see whether one was set. An ADK that
    # stores it elsewhere keeps its random ids: more bytes a turn, nothing else.
    given = getattr(adk_ids, "_id_provider_context_var", None)
    default = getattr(adk_ids, "_default_id_provider", None)
    if given is not None and default is not None and given.get() is default:
        adk_ids.set_id_provider(_ids)

"""Which part of an event's state is stored and where, and what a client may write of it.

A rewind computes the earlier state from the events before it. A session's initial state is in none
of them, so its row holds that. The changes of a deleted event move to the event before it, so that
they keep their order among the remaining ones; those of the first move to the initial state.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any

from google.adk.events import Event
from google.adk.events._internal_metadata import RESTORED_EVENT_KEY
from google.adk.sessions import State

from acc_ace.adk.sessions.event_rows import events_of
from acc_ace.core.schemas.base import OWN_APP, Authority, SessionKey
from acc_ace.core.schemas.state import (
    CURATOR_OUTPUT,
    GENERATOR_OUTPUT,
    INPUT_AUTHORITY,
    JUDGEMENT,
    PERSISTED,
    REFLECTOR_OUTPUT,
    USER_QUERY,
)
from acc_ace.errors import StoreError
from acc_ace.storage.sql_rows import Rows, marks, reading

Projection = Callable[[SessionKey], Awaitable[dict[str, Any]]]
"""What session.state shows of our other stores, by its keys; none for a session of another app.

Raises StoreError.
"""

_CLIENT = "user"
_OURS = PERSISTED | {USER_QUERY, GENERATOR_OUTPUT, REFLECTOR_OUTPUT, CURATOR_OUTPUT}
_OF_WEB_UI = "__session_metadata__"
"""ADK's web UI stores the display name of a session under this key."""


def is_from_client(event: Event) -> bool:
    """Whether a client made the event: a user's message, a state patch, or a restored event."""
    restored = (event.custom_metadata or {}).get(RESTORED_EVENT_KEY, False)
    return event.author == _CLIENT or bool(restored)


def allowed(app: str, key: str, value: object) -> bool:
    """Whether a client may write this.

    None of our keys. The authority of an input may be lowered, never raised above the user's
    own, and the turn's answer judged. In our own app nothing else persists; any other app has its
    own keys, `app:`, `user:` and `temp:` among them, as ADK has them.
    """
    if key in JUDGEMENT:
        return True
    if key == INPUT_AUTHORITY:
        # An invalid authority stays and is refused, lest a typo for 'tool' count as user.
        return value != Authority.SYSTEM.value
    if app == OWN_APP:
        return key == _OF_WEB_UI
    return key not in _OURS


_ELSEWHERE = (State.APP_PREFIX, State.USER_PREFIX, State.TEMP_PREFIX)

_log = logging.getLogger(__name__)


def take_projection(event: Event, names: Collection[str]) -> dict[str, Any]:
    """Remove some of our keys from an event: they are read through from their stores."""
    delta = event.actions.state_delta
    return {name: delta.pop(name) for name in names if name in delta}


def is_bare(event: Event) -> bool:
    """Whether the event says no more than who made it, and when."""
    names = ("id", "timestamp", "author", "invocation_id", "branch", "node_info")
    return event == Event(**{name: getattr(event, name) for name in names})


async def shown_projection(read: Projection, key: SessionKey) -> dict[str, Any]:
    """Our keys for session.state; none if they cannot be read: a turn loads them itself."""
    try:
        return await read(key)
    except StoreError as error:
        _log.warning("memory_not_shown session=%s: %s", key.session, error)
        return {}


def lasting(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state without temporary keys."""
    return {key: value for key, value in state.items() if not key.startswith(State.TEMP_PREFIX)}


def unshared(state: Mapping[str, Any]) -> dict[str, Any]:
    """The session's own part of a state."""
    return {key: value for key, value in state.items() if not key.startswith(_ELSEWHERE)}


def protected(
    state: Mapping[str, Any] | None, key: SessionKey, *, has_tokens: bool
) -> dict[str, Any]:
    """The state without the keys that a client may not write; they are named in the log.

    Where tokens tell users apart, none writes `app:`, which is read for all of them.
    """
    state = state or {}
    values = {name: value for name, value in state.items() if allowed(key.app, name, value)}
    if has_tokens:
        shared = State.APP_PREFIX
        values = {name: value for name, value in values.items() if not name.startswith(shared)}
    if len(values) < len(state):
        dropped = sorted(set(state) - set(values))
        _log.warning("client_state_dropped session=%s keys=%s", key.session, ",".join(dropped))
    return values


def protect(event: Event, key: SessionKey, *, has_tokens: bool) -> None:
    """Drop from an event the state that its author may not write.

    In our own app only our keys persist; what its tools and callbacks write is in the live session
    while the turn runs.
    """
    delta = event.actions.state_delta
    if is_from_client(event):
        event.actions.state_delta = protected(delta, key, has_tokens=has_tokens)
    elif key.app == OWN_APP and (foreign := lasting(delta).keys() - PERSISTED - {_OF_WEB_UI}):
        event.actions.state_delta = {n: v for n, v in delta.items() if n not in foreign}
        names = ",".join(sorted(foreign))
        _log.warning("tool_state_dropped session=%s keys=%s", key.session, names)


def own_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that a rewind may restore: those of the session itself, none of ours."""
    return {key: value for key, value in unshared(state).items() if key not in PERSISTED}


def own_changes(events: Iterable[Event]) -> dict[str, Any]:
    """The keys of the session's own state that events changed, with their last values."""
    changes: dict[str, Any] = {}
    for event in events:
        changes |= own_state(event.actions.state_delta)
    return changes


def read_base(rows: Rows, session: int) -> dict[str, Any]:
    """The session's own state before its oldest event."""
    row = rows.one("SELECT base_state FROM adk_sessions WHERE id = ?", (session,))
    with reading("the state of a session"):
        state: dict[str, Any] = json.loads(row[0]) if row else {}
    return state


def keep_changes(rows: Rows, session: int, events: Collection[str]) -> None:
    """Preserve the state changes of events that are about to be deleted."""
    stays: int | None = None
    left: dict[int | None, dict[str, Any]] = {}
    for seq, event, body in _around(rows, session, events):
        if event not in events:
            stays = seq
        elif changes := own_changes(events_of([body])):
            left[stays] = left.get(stays, {}) | changes
    for seq, changes in left.items():
        if seq is None:
            _write_base(rows, session, read_base(rows, session) | changes)
        else:
            _add_changes(rows, seq, changes)


def _around(rows: Rows, session: int, events: Collection[str]) -> list[tuple[Any, ...]]:
    """The events from the one before the oldest of some up to the newest of them."""
    ends = rows.one(
        "SELECT min(seq), max(seq) FROM adk_events "  # noqa: S608 - marks of values
        f"WHERE session_id = ? AND event_id IN {marks(events)}",
        (session, *events),
    )
    if ends is None or ends[0] is None:
        return []
    return rows.all(
        "SELECT seq, event_id, body FROM adk_events WHERE session_id = ? AND seq <= ? "
        "AND seq >= (SELECT coalesce(max(seq), 0) FROM adk_events "
        "WHERE session_id = ? AND seq < ?) ORDER BY seq",
        (session, ends[1], session, ends[0]),
    )


def _write_base(rows: Rows, session: int, state: Mapping[str, Any]) -> None:
    rows.run("UPDATE adk_sessions SET base_state = ? WHERE id = ?", (json.dumps(state), session))


def _add_changes(rows: Rows, seq: int, changes: Mapping[str, Any]) -> None:
    """Merge changes into the state delta of a stored event, over its own."""
    for (body,) in rows.all("SELECT body FROM adk_events WHERE seq = ?", (seq,)):
        event: dict[str, Any] = json.loads(body)
        event.setdefault("actions", {}).setdefault("state_delta", {}).update(changes)
        rows.run(
            "UPDATE adk_events SET body = ? WHERE seq = ?",
            (json.dumps(event, ensure_ascii=False), seq),
        )

"""What events change of a session's own state, and how that is kept when they are deleted.

A rewind finds what the state was in the events before it. What a session began with is in none of
them, so its row keeps that. What a deleted event changed becomes a change of the event before it,
so that it stays where it was between those that are kept; of the first it becomes what the session
began with.
"""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from google.adk.events import Event

from acc_ace.adk.sessions.stored_state import encoded, unshared
from acc_ace.schemas.state import PERSISTED
from acc_ace.storage.sql_rows import Rows, marks


def own_state(state: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that a rewind may bring back: those of the session itself, none of ours."""
    return {key: value for key, value in unshared(state).items() if key not in PERSISTED}


def own_changes(events: Iterable[Event]) -> dict[str, Any]:
    """The keys of the session's own state that events changed, as they left them."""
    changes: dict[str, Any] = {}
    for event in events:
        changes |= own_state(event.actions.state_delta)
    return changes


def read_base(rows: Rows, session: int) -> dict[str, Any]:
    """The session's own state before its oldest event."""
    row = rows.one("SELECT base_state FROM adk_sessions WHERE id = ?", (session,))
    state: dict[str, Any] = json.loads(row[0]) if row else {}
    return state


def keep_changes(rows: Rows, session: int, events: Collection[str]) -> None:
    """Keep what events that are about to be deleted changed."""
    stays: int | None = None
    left: dict[int | None, dict[str, Any]] = {}
    for seq, event, body in _around(rows, session, events):
        if event not in events:
            stays = seq
        elif changes := own_changes([Event.model_validate_json(body)]):
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
    rows.run("UPDATE adk_sessions SET base_state = ? WHERE id = ?", (encoded(state), session))


def _add_changes(rows: Rows, seq: int, changes: Mapping[str, Any]) -> None:
    """Let a stored event change the state once more, last."""
    for (body,) in rows.all("SELECT body FROM adk_events WHERE seq = ?", (seq,)):
        event: dict[str, Any] = json.loads(body)
        event.setdefault("actions", {}).setdefault("state_delta", {}).update(changes)
        rows.run(
            "UPDATE adk_events SET body = ? WHERE seq = ?",
            (json.dumps(event, ensure_ascii=False), seq),
        )

"""Write events of ADK's with what they change: state, waiting calls, what a rewind takes back."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event

from acc_ace.adk.sessions.event_rows import add_event
from acc_ace.adk.sessions.pending_tool_calls import OPEN_CALLS
from acc_ace.adk.sessions.rewinds import apply_rewind, rewound_state
from acc_ace.adk.sessions.session_rows import touch_session, write_state
from acc_ace.schemas.base import SessionKey
from acc_ace.storage.sql_rows import Rows

_log = logging.getLogger(__name__)


def write_events(
    rows: Rows, key: SessionKey, events: Sequence[Event], shared: Mapping[str, Any]
) -> None:
    """Write events in order, and `shared` state that stands in none of them.

    Written again, the same events change nothing. Raises SessionNotFoundError.
    """
    changed_at = max((event.timestamp for event in events), default=0.0)
    session = touch_session(rows, key, at=changed_at)
    if session is None:
        raise SessionNotFoundError(f"Session {key.session} not found.")
    forgotten = sum(_write_event(rows, session, key, event) for event in events)
    write_state(rows, session, key.tenant, shared)
    if forgotten:
        # They can no longer be answered once their events are out of the window.
        _log.warning(
            "waiting_calls_forgotten session=%s count=%d limit=%d",
            key.session,
            forgotten,
            OPEN_CALLS,
        )


def _write_event(rows: Rows, session: int, key: SessionKey, event: Event) -> int:
    """Write an event; how many older calls no longer wait."""
    before = event.actions.rewind_before_invocation_id
    state = rewound_state(rows, session, before) if before else None
    if state is not None:
        event.actions.state_delta = state
    forgotten = add_event(rows, session, event)
    if state is not None:
        forgotten += apply_rewind(rows, session, event)
    write_state(rows, session, key.tenant, event.actions.state_delta)
    return forgotten

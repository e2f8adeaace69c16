"""The events of a running turn, buffered, then written with the state and calls they change."""

import logging
from collections.abc import Collection, Sequence
from enum import Enum, auto

from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event

from acc_ace.adk.sessions.event_retention import apply_rewind
from acc_ace.adk.sessions.event_rows import OPEN_CALLS, add_event, body_of, under_free_id
from acc_ace.adk.sessions.json_safe import make_storable
from acc_ace.adk.sessions.masked_event import masked_event
from acc_ace.adk.sessions.session_rows import touch_session, write_state
from acc_ace.adk.sessions.stored_state import lasting, take_projection
from acc_ace.core.schemas.base import SessionKey
from acc_ace.storage.sql_rows import Rows
from acc_ace.unit_of_work import Write

_log = logging.getLogger(__name__)


def write_events(rows: Rows, key: SessionKey, events: Sequence[Event]) -> None:
    """Write the events of a turn in order; idempotent, a changed one takes the place of its id.

    Raises SessionNotFoundError.
    """
    session = _touched(rows, key, events[-1])
    _warn(key, sum(_write_event(rows, session, key, event) for event in events))


def write_event(rows: Rows, key: SessionKey, event: Event, *, loaded_at: float | None) -> None:
    """Write an event that is of no turn that is held; idempotent.

    Another event under a stored id gets an id of its own. Raises SessionNotFoundError, and with
    `loaded_at`, the last change that the writer knows, StaleSessionError after a later one.
    """
    session = _touched(rows, key, event, loaded_at=loaded_at)
    _warn(key, _write_event(rows, session, key, under_free_id(rows, session, event)))


def _touched(rows: Rows, key: SessionKey, event: Event, *, loaded_at: float | None = None) -> int:
    session = touch_session(rows, key, at=event.timestamp, loaded_at=loaded_at)
    if session is None:
        raise SessionNotFoundError(f"Session {key.session} not found.")
    return session


def _warn(key: SessionKey, forgotten: int) -> None:
    if forgotten:
        # They can no longer be answered once their events are out of the window.
        _log.warning(
            "waiting_calls_forgotten session=%s count=%d limit=%d",
            key.session,
            forgotten,
            OPEN_CALLS,
        )


def _write_event(rows: Rows, session: int, key: SessionKey, event: Event) -> int:
    """Write an event; return how many older calls no longer wait."""
    if event.actions.rewind_before_invocation_id:
        apply_rewind(rows, session, event)
    forgotten = add_event(rows, session, event)
    write_state(rows, session, key.tenant, event.actions.state_delta)
    return forgotten


class _Stage(Enum):
    OPEN = auto()
    WRITTEN = auto()
    DISCARDED = auto()


class TurnBuffer:
    """Write buffer of the events that one invocation has appended to its session."""

    def __init__(
        self,
        key: SessionKey,
        invocation_id: str,
        *,
        projected: Collection[str] = (),
        masks_secrets: bool = False,
    ) -> None:
        """`projected` are the keys of state that are in other stores."""
        self.key, self.invocation_id, self._projected = key, invocation_id, projected
        self._masks_secrets = masks_secrets
        self._events: list[Event] = []
        self._ahead: dict[str, str] = {}
        self._stage = _Stage.OPEN

    @property
    def is_open(self) -> bool:
        """Whether it is neither written nor discarded yet."""
        return self._stage is _Stage.OPEN

    def write(self, *ahead: Event) -> Write:
        """The write of all buffered events, for the unit of work of the turn.

        `ahead` are events that ADK will append next: the answer is committed before the Runner
        has it. After the commit call `written`.
        """
        events = list(self._events)
        for each in ahead:
            event = each.model_copy(deep=True)
            make_storable(event)
            take_projection(event, self._projected)
            event.actions.state_delta = lasting(event.actions.state_delta)
            events.append(event)
        if self._masks_secrets:
            # With its answer the turn has run all its calls.
            events = [masked_event(event, ran=bool(ahead)) for event in events]
        self._ahead = {event.id: body_of(event) for event in events[len(self._events) :]}

        def work(rows: Rows) -> None:
            if events:
                write_events(rows, self.key, events)

        return work

    def written(self) -> None:
        """Note the commit: later events of the invocation are stored at once."""
        self._end(_Stage.WRITTEN)

    def discard(self) -> None:
        """Drop the buffer, and later events of the invocation: the turn has failed."""
        self._end(_Stage.DISCARDED)

    def keeps_back(self, event: Event) -> bool:
        """Buffer or drop an event; False for one to be stored now.

        For the session service alone.
        """
        if self._stage is _Stage.WRITTEN:
            return self._ahead.pop(event.id, None) == body_of(event)
        if self._stage is _Stage.OPEN:
            # A copy: the caller may change its event before the commit.
            self._events.append(event.model_copy(deep=True))
        return True

    def _end(self, stage: _Stage) -> None:
        self._stage = stage
        self._events.clear()

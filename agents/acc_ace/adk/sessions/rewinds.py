"""Rewinds of ADK's: which events they take back, and the state that they bring.

A rewind takes back what was stored from the first event of the invocation that it names up to
itself. Its event notes where that is, so it stays known when the invocation has left the window or
is deleted; ADK's rule, which asks for both, would bring the rest back.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from google.adk.events import Event

from acc_ace.adk.sessions.event_rows import note_all_calls, read_all
from acc_ace.adk.sessions.state_history import own_changes, read_base
from acc_ace.storage.sql_rows import Rows


class _Span(NamedTuple):
    """What a rewind takes back: from `first`, up to itself."""

    first: int
    rewind: int


def rewound_state(rows: Rows, session: int, before: str) -> dict[str, Any] | None:
    """The state that a rewind brings; None when nothing of the invocation it names is stored.

    What the events that it takes back changed becomes what it was before them. ADK compares with
    the events that the Runner has loaded; of ours those are the newest few, so it would delete
    every key that was last written before them.
    """
    events = [Event.model_validate_json(row.body) for row in read_all(rows, session)]
    invocations = [event.invocation_id for event in events]
    if before not in invocations:
        return None
    begin = invocations.index(before)
    held = {**read_base(rows, session), **own_changes(events[:begin])}
    return {name: held.get(name) for name in sorted(own_changes(events[begin:]))}


def apply_rewind(rows: Rows, session: int, rewind: Event) -> int:
    """Take back what a stored rewind names; how many waiting calls are no longer kept for that."""
    rows.run(
        "UPDATE adk_events SET rewinds_to = (SELECT min(seq) FROM adk_events AS named "
        "WHERE named.session_id = ? AND named.invocation_id = ?) "
        "WHERE session_id = ? AND event_id = ?",
        (session, rewind.actions.rewind_before_invocation_id, session, rewind.id),
    )
    found = rows.all(
        "SELECT rewinds_to, seq FROM adk_events WHERE session_id = ? AND rewinds_to < seq",
        (session,),
    )
    rows.run("UPDATE adk_events SET undone = 0 WHERE session_id = ? AND undone = 1", (session,))
    rows.many(
        "UPDATE adk_events SET undone = 1 WHERE session_id = ? AND seq >= ? AND seq < ?",
        [(session, *span) for span in _counting(_Span(*row) for row in found)],
    )
    return note_all_calls(rows, session)


def _counting(spans: Iterable[_Span]) -> list[_Span]:
    """The rewinds that count: the newest does, and one that is taken back takes nothing back."""
    found: list[_Span] = []
    for span in sorted(spans, key=lambda span: span.rewind, reverse=True):
        if not found or span.rewind < found[-1].first:
            found.append(span)
    return found

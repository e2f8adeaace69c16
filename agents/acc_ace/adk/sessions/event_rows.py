"""The rows of ADK's events: what a turn loads, which calls wait for a person, and which are old.

ADK marks such calls as long-running: tool confirmations, requests for input, credentials, and
LongRunningFunctionTool. A result that the agent itself adds ("pending, ticket 7") does not answer
a call, and neither does ADK when it seals all calls of an aborted run: the person may still
answer.
"""

import json
import uuid
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from google.adk.events import Event

from acc_ace.storage.sql_rows import Rows, marks, reading

OPEN_CALLS = 32
"""Maximum of resumable waiting calls of a session; the newest are kept."""

_PERSON = "user"


class PendingToolCalls(NamedTuple):
    """An event's changes to the waiting calls."""

    opened: frozenset[str]
    answered: frozenset[str]
    ends_invocation: bool
    """Whether the event is an answer of the agent, after which nothing is resumed."""


def pending_tool_calls(event: Event) -> PendingToolCalls:
    """Read the ids of calls that an event opens and answers."""
    opened = frozenset(event.long_running_tool_ids or ())
    answered: frozenset[str] = frozenset()
    if event.author == _PERSON:
        answered = frozenset(r.id for r in event.get_function_responses() if r.id)
    says = event.content is not None or event.output is not None
    ends = event.author != _PERSON and not opened and says and event.is_final_response()
    return PendingToolCalls(opened, answered, ends)


def starts_turn(event: Event) -> bool:
    """Whether the event is a person's words, not an answer to a call or a change of state."""
    return (
        event.author == _PERSON
        and bool(event.content and event.content.parts)
        and not event.get_function_responses()
    )


_PAGE = 500
_STEP = 8
_BEYOND = 2**63 - 1
"""Greater than every sequence number."""
_LONG_AGO = float("-inf")
_NO_ID = " "
"""An invocation id that does not exist."""


class EventRow(NamedTuple):
    """An event and its place in the order of all events."""

    seq: int
    body: str


def add_event(rows: Rows, session: int, event: Event) -> int:
    """Upsert an event by its id; return how many older calls no longer wait.

    The caller has updated the session's row in this transaction, which serialises its writers.
    """
    rows.run(
        "INSERT INTO adk_events (session_id, event_id, invocation_id, happened_at, body) "
        "VALUES (?, ?, ?, ?, ?) "
        "ON CONFLICT (session_id, event_id) DO UPDATE SET body = excluded.body",
        (session, event.id, event.invocation_id, event.timestamp, body_of(event)),
    )
    return note_calls(rows, session, event.invocation_id, pending_tool_calls(event))


def under_free_id(rows: Rows, session: int, event: Event) -> Event:
    """The event, or a copy with an id of its own where another event is stored under its id.

    The copy's id follows from the event, so that writing it again makes no second one.
    """
    body = body_of(event)
    row = rows.one(
        "SELECT body FROM adk_events WHERE session_id = ? AND event_id = ?", (session, event.id)
    )
    if row is None or row[0] == body:
        return event
    return event.model_copy(update={"id": str(uuid.uuid5(uuid.NAMESPACE_OID, body))})


def body_of(event: Event) -> str:
    """The stored form of an event."""
    return event.model_dump_json(exclude_none=True)


def read_all(
    rows: Rows, session: int, *, after: int = 0, limit: int | None = None
) -> list[EventRow]:
    """Events in order; `after` ended the previous page."""
    records = rows.all(
        "SELECT seq, body FROM adk_events WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?",
        (session, after, _limit(limit)),
    )
    return [EventRow(*row) for row in records]


def read_newest(rows: Rows, session: int, *, limit: int | None, since: float | None) -> list[str]:
    """The newest events, in order."""
    records = rows.all(
        "SELECT body FROM adk_events WHERE session_id = ? AND happened_at >= ? "
        "ORDER BY seq DESC LIMIT ?",
        (session, since or _LONG_AGO, _limit(limit)),
    )
    return [body for (body,) in reversed(records)]


def read_window(rows: Rows, session: int, *, recent: int) -> list[str]:
    """The newest `recent` events, the last answer, and what waits; each invocation whole.

    By the last answer ADK's Runner finds the agent that the conversation goes on with.
    """
    newest = [*_newest(rows, session, recent), *_last_answer(rows, session)]
    waiting = {
        invocation
        for invocation, answered in _calls(rows, session)
        if answered in {None, invocation}
    }
    invocations = {invocation for _, invocation in newest if invocation} | waiting
    unnamed = [seq for seq, invocation in newest if not invocation]
    return _bodies(rows, session, invocations, unnamed)


def read_old(rows: Rows, session: int, *, turns: int, limit: int, spare: str) -> list[str]:
    """Events of whole invocations beyond the newest `turns` without waiting calls, in order.

    None of the invocation `spare`.
    """
    newest = _newest_invocations(rows, session, turns)
    if len(newest) < turns:
        return []
    spared = newest | {invocation for invocation, _ in _calls(rows, session)} | {spare or _NO_ID}
    oldest = rows.all(
        "SELECT seq, invocation_id FROM adk_events "  # noqa: S608 - marks of values
        f"WHERE session_id = ? AND invocation_id NOT IN {marks(spared)} "
        "AND (invocation_id <> '' OR seq < (SELECT coalesce(min(seq), ?) FROM adk_events "
        f"WHERE session_id = ? AND invocation_id IN {marks(newest)})) ORDER BY seq LIMIT ?",
        (session, *spared, _BEYOND, session, *newest, limit),
    )
    invocations = {invocation for _, invocation in oldest if invocation}
    unnamed = [seq for seq, invocation in oldest if not invocation]
    return _bodies(rows, session, invocations, unnamed)


def delete_events(rows: Rows, session: int, events: Collection[str]) -> None:
    """Delete events, and the rows of the calls that they answered."""
    named = (session, *events)
    where = f"session_id = ? AND event_id IN {marks(events)}"
    rows.run(
        "DELETE FROM adk_open_calls WHERE session_id = ? AND answered_in IN "  # noqa: S608 - marks of values
        f"(SELECT invocation_id FROM adk_events WHERE {where})",
        (session, *named),
    )
    rows.run(f"DELETE FROM adk_events WHERE {where}", named)  # noqa: S608 - marks of values


def note_calls(rows: Rows, session: int, invocation: str, traffic: PendingToolCalls) -> int:
    """Record waiting calls and their answers; return how many older calls no longer wait.

    A call that its own invocation has answered is deleted at the end of that invocation.
    """
    if traffic.opened:
        rows.many(
            "INSERT INTO adk_open_calls (session_id, call_id, invocation_id) VALUES (?, ?, ?) "
            "ON CONFLICT DO NOTHING",
            [(session, call, invocation) for call in sorted(traffic.opened)],
        )
    if traffic.answered:
        rows.run(
            "UPDATE adk_open_calls SET answered_in = ? "  # noqa: S608 - marks of values
            f"WHERE session_id = ? AND call_id IN {marks(traffic.answered)}",
            (invocation, session, *traffic.answered),
        )
    if traffic.ends_invocation:
        rows.run(
            "DELETE FROM adk_open_calls "
            "WHERE session_id = ? AND invocation_id = ? AND answered_in = invocation_id",
            (session, invocation),
        )
    return _forget_oldest_calls(rows, session) if traffic.opened else 0


def note_all_calls(rows: Rows, session: int, events: Iterable[Event]) -> None:
    """Rebuild the rows of waiting calls from the events left after a rewind."""
    rows.run("DELETE FROM adk_open_calls WHERE session_id = ?", (session,))
    for event in events:
        note_calls(rows, session, event.invocation_id, pending_tool_calls(event))


def _forget_oldest_calls(rows: Rows, session: int) -> int:
    return rows.run(
        "DELETE FROM adk_open_calls WHERE session_id = ? AND seq NOT IN "
        "(SELECT seq FROM adk_open_calls WHERE session_id = ? ORDER BY seq DESC LIMIT ?)",
        (session, session, OPEN_CALLS),
    )


def _newest(rows: Rows, session: int, count: int) -> list[tuple[Any, ...]]:
    if not count:
        return []
    return rows.all(
        "SELECT seq, invocation_id FROM adk_events WHERE session_id = ? ORDER BY seq DESC LIMIT ?",
        (session, count),
    )


def events_of(bodies: Iterable[str]) -> list[Event]:
    """The events of rows; raises CorruptStoreError."""
    with reading("an event of a session"):
        return [Event.model_validate_json(body) for body in bodies]


def _last_answer(rows: Rows, session: int) -> list[tuple[Any, ...]]:
    """The newest event in which an agent said something; reads few more than come after it."""
    before = _BEYOND
    while page := rows.all(
        "SELECT seq, invocation_id, body FROM adk_events WHERE session_id = ? AND seq < ? "
        "ORDER BY seq DESC LIMIT ?",
        (session, before, _STEP),
    ):
        for seq, invocation, body in page:
            with reading("an event of a session"):
                event = json.loads(body)
                if event["author"] != _PERSON and "content" in event:
                    return [(seq, invocation)]
        before = page[-1][0]
    return []


def _calls(rows: Rows, session: int) -> list[tuple[Any, ...]]:
    return rows.all(
        "SELECT invocation_id, answered_in FROM adk_open_calls WHERE session_id = ?", (session,)
    )


def _newest_invocations(rows: Rows, session: int, count: int) -> set[str]:
    """The newest invocations, at most `count`; reads few more events than they take up."""
    names: set[str] = set()
    before = _BEYOND
    while len(names) < count:
        page = rows.all(
            "SELECT seq, invocation_id FROM adk_events WHERE session_id = ? AND seq < ? "
            "ORDER BY seq DESC LIMIT ?",
            (session, before, _PAGE),
        )
        for _, invocation in page:
            if invocation and len(names) < count:
                names.add(invocation)
        if len(page) < _PAGE:
            break
        before = page[-1][0]
    return names


def _bodies(
    rows: Rows, session: int, invocations: Collection[str], seqs: Collection[int]
) -> list[str]:
    if not invocations and not seqs:
        return []
    records = rows.all(
        "SELECT body FROM adk_events "  # noqa: S608 - marks of values
        "WHERE session_id = ? AND seq IN ("
        f"SELECT seq FROM adk_events WHERE session_id = ? "
        f"AND invocation_id IN {marks(invocations)} "
        f"UNION SELECT seq FROM adk_events WHERE session_id = ? AND seq IN {marks(seqs)}) "
        "ORDER BY seq",
        (session, session, *invocations, session, *seqs),
    )
    return [body for (body,) in records]


def _limit(limit: int | None) -> int:
    return _BEYOND if limit is None else limit

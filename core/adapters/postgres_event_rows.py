"""The rows under ADK's events in PostgreSQL: what a turn loads, what waits, what is old."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from core.adapters.event_calls import OPEN_CALLS, CallTraffic
from core.adapters.postgres_schema import Connection
from core.adapters.rewound_calls import RewoundCalls
from schemas.tenancy import SessionKey

_PAGE = 500

_NEWEST = """
    SELECT seq, invocation_id FROM events
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
     ORDER BY happened_at DESC, seq DESC LIMIT %(limit)s
"""
_OLDER = """
    SELECT seq, happened_at, invocation_id FROM events
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
       AND (happened_at, seq) < (%(at)s, %(seq)s)
     ORDER BY happened_at DESC, seq DESC LIMIT %(limit)s
"""
_OLDEST = """
    SELECT seq, invocation_id FROM events
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
       AND invocation_id <> ALL(%(spared)s)
       AND (invocation_id <> '' OR happened_at < (
            SELECT min(happened_at) FROM events
             WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
               AND invocation_id = ANY(%(kept)s)))
     ORDER BY happened_at, seq LIMIT %(limit)s
"""
_EVENTS = """
    SELECT event_id, body FROM events
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
       AND (invocation_id = ANY(%(turns)s) OR seq = ANY(%(rows)s))
     ORDER BY happened_at, seq
"""
# Whoever inserts holds the session's row, so nobody else inserts meanwhile.
_INSERT = """
    INSERT INTO events (app, user_id, session, event_id, invocation_id, happened_at, body)
    VALUES (%(app)s, %(user)s, %(session)s, %(event_id)s, %(invocation_id)s,
            greatest(%(happened_at)s, (
                SELECT max(happened_at) FROM events
                 WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s)),
            %(body)s)
    ON CONFLICT DO NOTHING
"""
_CALLS = """
    SELECT invocation_id, answered_in FROM open_calls
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
"""
_OPEN = """
    INSERT INTO open_calls (app, user_id, session, call_id, invocation_id)
    SELECT %(app)s, %(user)s, %(session)s, call, %(turn)s FROM unnest(%(calls)s::text[]) AS call
    ON CONFLICT DO NOTHING
"""
_FORGET_OLDEST = """
    DELETE FROM open_calls
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
       AND seq NOT IN (SELECT seq FROM open_calls
                        WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
                        ORDER BY seq DESC LIMIT %(limit)s)
"""
_ANSWER = """
    UPDATE open_calls SET answered_in = %(turn)s
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
       AND call_id = ANY(%(calls)s)
"""
_END = """
    DELETE FROM open_calls
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
       AND invocation_id = %(turn)s AND answered_in = %(turn)s
"""
_FORGET_TURNS = """
    DELETE FROM open_calls
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
       AND invocation_id = ANY(%(turns)s)
"""
_FORGET_ANSWERS = """
    DELETE FROM open_calls
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
       AND answered_in IN (SELECT invocation_id FROM events
            WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
              AND event_id = ANY(%(events)s))
"""
_DELETE = """
    DELETE FROM events
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
       AND event_id = ANY(%(events)s)
"""


class StoredEvent(NamedTuple):
    """An event as a turn loads it."""

    event_id: str
    body: str


class NewEvent(NamedTuple):
    """An event as it is stored."""

    event_id: str
    invocation_id: str
    happened_at: float
    body: str


def read_events(
    connection: Connection, key: SessionKey, *, limit: int | None, since: float | None
) -> list[StoredEvent]:
    """The newest events, oldest first; of the same moment in the order in which they came."""
    rows = connection.execute(
        "SELECT event_id, body FROM events WHERE app = %s AND user_id = %s AND session = %s "
        "AND happened_at >= %s ORDER BY happened_at DESC, seq DESC LIMIT %s",
        (*key, since or float("-inf"), limit),
    ).fetchall()
    return [StoredEvent(*row) for row in reversed(rows)]


def read_window(connection: Connection, key: SessionKey, *, recent: int) -> list[StoredEvent]:
    """The newest `recent` events and those of turns that wait, each turn whole; oldest first."""
    named = key._asdict()
    newest = connection.execute(_NEWEST, named | {"limit": recent}).fetchall() if recent else []
    calls = connection.execute(_CALLS, named).fetchall()
    waiting = {turn for turn, answered in calls if answered in {None, turn}}
    turns = {turn for _, turn in newest if turn} | waiting
    if not newest and not turns:
        return []
    return _stored(connection, key, turns, [row for row, _ in newest])


def read_old(
    connection: Connection, key: SessionKey, *, turns: int, limit: int, spare: str
) -> list[str]:
    """Events of whole turns beyond the newest `turns` that nobody waits for, oldest first.

    None of the invocation `spare`.
    """
    kept = _newest_turns(connection, key, turns)
    if len(kept) < turns:
        return []
    named = key._asdict()
    spared = kept | {turn for turn, _ in connection.execute(_CALLS, named).fetchall()}
    spared |= {spare} - {""}
    oldest = connection.execute(
        _OLDEST, named | {"spared": list(spared), "kept": list(kept), "limit": limit}
    ).fetchall()
    names = {turn for _, turn in oldest if turn}
    found = _stored(connection, key, names, [row for row, turn in oldest if not turn])
    return [event.body for event in found]


def delete_rows(connection: Connection, key: SessionKey, events: Sequence[str]) -> None:
    """Delete events, and what was noted of the calls that they answered."""
    named = key._asdict() | {"events": list(events)}
    connection.execute(_FORGET_ANSWERS, named)
    connection.execute(_DELETE, named)


def write_event(connection: Connection, key: SessionKey, event: NewEvent) -> bool:
    """Add an event, once; False when there is no such session.

    The order of time is the order of storing: no clock that is put back makes an event older than
    those before it. Its own text keeps what its clock said.
    """
    found = connection.execute(
        "UPDATE sessions SET updated_at = greatest(updated_at, %s) "
        "WHERE app = %s AND user_id = %s AND session = %s",
        (event.happened_at, *key),
    ).rowcount
    if not found:
        return False
    connection.execute(_INSERT, key._asdict() | event._asdict())
    return True


def write_calls(connection: Connection, key: SessionKey, turn: str, traffic: CallTraffic) -> int:
    """Note calls that wait and answers that came; how many older calls no longer wait.

    A call that its own turn has answered is forgotten at the end of that turn.
    """
    named = key._asdict() | {"turn": turn}
    forgotten = 0
    if traffic.opened:
        connection.execute(_OPEN, named | {"calls": sorted(traffic.opened)})
        forgotten = connection.execute(_FORGET_OLDEST, named | {"limit": OPEN_CALLS}).rowcount
    if traffic.answered:
        connection.execute(_ANSWER, named | {"calls": sorted(traffic.answered)})
    if traffic.ends_invocation:
        connection.execute(_END, named)
    return forgotten


def write_rewound(connection: Connection, key: SessionKey, calls: RewoundCalls) -> int:
    """Note what a rewind changed; how many older calls are no longer kept for that."""
    connection.execute(_FORGET_TURNS, key._asdict() | {"turns": list(calls.turns)})
    return sum(write_calls(connection, key, turn, traffic) for turn, traffic in calls.live)


def _newest_turns(connection: Connection, key: SessionKey, count: int) -> set[str]:
    """The newest turns, at most `count`; reads no more of the index than they take up."""
    found: set[str] = set()
    at, seq = float("inf"), 0
    while page := connection.execute(
        _OLDER, key._asdict() | {"at": at, "seq": seq, "limit": _PAGE}
    ).fetchall():
        for _, _, turn in page:
            if turn:
                found.add(turn)
            if len(found) == count:
                return found
        seq, at, _ = page[-1]
    return found


def _stored(
    connection: Connection, key: SessionKey, turns: Iterable[str], rows: Iterable[int]
) -> list[StoredEvent]:
    found = connection.execute(
        _EVENTS, key._asdict() | {"turns": list(turns), "rows": list(rows)}
    ).fetchall()
    return [StoredEvent(*row) for row in found]

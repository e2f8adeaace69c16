"""What rewinds of ADK's sessions took back, in PostgreSQL."""

from collections.abc import Iterable, Sequence

from google.adk.events import Event

from core.adapters.postgres_schema import Connection
from core.adapters.rewinds import Rewind, counting
from core.adapters.rewound_calls import RewoundCalls, rewound_calls
from schemas.tenancy import SessionKey

_TAKEN = """
    SELECT event_id FROM events
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
       AND event_id = ANY(%(events)s)
       AND (SELECT (since, since_seq) <= (happened_at, seq) FROM rewinds
             WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s AND counts
               AND (until, until_seq) > (happened_at, seq)
             ORDER BY until, until_seq LIMIT 1)
"""
_ADD = """
    INSERT INTO rewinds
    SELECT app, user_id, session, first.happened_at, first.seq, mine.happened_at, mine.seq, true
      FROM events AS first JOIN events AS mine USING (app, user_id, session)
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
       AND first.invocation_id = %(before)s AND mine.event_id = %(rewind)s
       AND (first.happened_at, first.seq) < (mine.happened_at, mine.seq)
     ORDER BY first.happened_at, first.seq LIMIT 1
    ON CONFLICT DO NOTHING
"""
_ALL = """
    SELECT since, since_seq, until, until_seq FROM rewinds
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
"""
_COUNT = """
    UPDATE rewinds SET counts = until_seq = ANY(%(found)s)
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
       AND counts <> (until_seq = ANY(%(found)s))
"""
_DROP = """
    DELETE FROM rewinds
     WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s
       AND until < (SELECT min(happened_at) FROM events
            WHERE app = %(app)s AND user_id = %(user)s AND session = %(session)s)
"""


def taken_back(connection: Connection, key: SessionKey, events: Iterable[str]) -> set[str]:
    """Those of some events that a rewind took back."""
    named = key._asdict() | {"events": list(events)}
    return {name for (name,) in connection.execute(_TAKEN, named).fetchall()}


def add_rewind(
    connection: Connection, key: SessionKey, rewind: Event, past: Sequence[Event]
) -> RewoundCalls:
    """Note what a stored rewind takes back of the events before it.

    Returns what that changes about the calls that wait.
    """
    names = [event.id for event in past]
    before = taken_back(connection, key, names)
    turn = rewind.actions.rewind_before_invocation_id
    connection.execute(_ADD, key._asdict() | {"before": turn, "rewind": rewind.id})
    _count(connection, key)
    return rewound_calls(past, before, taken_back(connection, key, names))


def drop_rewinds(connection: Connection, key: SessionKey) -> None:
    """Forget rewinds that are older than all events."""
    connection.execute(_DROP, key._asdict())


def _count(connection: Connection, key: SessionKey) -> None:
    """Note which rewinds count."""
    rows = connection.execute(_ALL, key._asdict()).fetchall()
    found = counting(Rewind((row[0], row[1]), (row[2], row[3])) for row in rows)
    seqs = [rewind.until[1] for rewind in found]
    connection.execute(_COUNT, key._asdict() | {"found": seqs})

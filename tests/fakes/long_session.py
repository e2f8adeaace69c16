"""Make a stored session long at once: the rows that so many turns leave, written in bulk."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from acc_ace.core.schemas.commit import CcsDiff, FieldChange, JournalEntry
from acc_ace.core.schemas.interaction import Interaction

_SAID = "Status of turn {}: replication lag is {} seconds."


def said(turn: int) -> str:
    """What the user said at a turn of a session that was made long."""
    return _SAID.format(turn, turn % 90)


def lengthen(database: Path, session: str, turns: int) -> None:
    """Append turns to a session in SQLite until it has so many; its last turn is their pattern.

    Journal, evidence, costs and ADK's events grow as real turns let them; what recall reads does
    not, as of turns that were offloaded.
    """
    with closing(sqlite3.connect(database)) as connection, connection:
        entry, turn = _patterns(connection, session)
        fresh = range(turn.turn + 1, turns + 1)
        for table, rows in (
            ("journal", _journal(entry, fresh)),
            ("interactions", _evidence(turn, fresh)),
        ):
            _copy(connection, table, session, rows)
        _copy_costs(connection, session, turn.turn, fresh)
        _copy_events(connection, session, turn, fresh)
        connection.execute(
            "UPDATE journal_heads SET version = ?, seq = (SELECT max(seq) FROM journal) "
            "WHERE session = ?",
            (turns, session),
        )


def _patterns(connection: sqlite3.Connection, session: str) -> tuple[JournalEntry, Interaction]:
    query = "SELECT body FROM {} WHERE session = ? ORDER BY seq DESC LIMIT 1"
    bodies = [
        connection.execute(query.format(table), (session,)).fetchone()[0]
        for table in ("journal", "interactions")
    ]
    return JournalEntry.model_validate_json(bodies[0]), Interaction.model_validate_json(bodies[1])


def _journal(pattern: JournalEntry, turns: Sequence[int]) -> Iterator[dict[str, Any]]:
    before = pattern.state.ccs.episodic_trace
    for turn in turns:
        trace = f"Input: {said(turn)}"
        ccs = pattern.state.ccs.model_copy(update={"episodic_trace": trace})
        state = pattern.state.model_copy(update={"version": turn, "turn": turn, "ccs": ccs})
        change = FieldChange(field="episodic_trace", before=before, after=trace)
        update = {
            "state": state,
            "diff": CcsDiff(changes=[change]),
            "invocation_id": _invocation(turn),
        }
        entry, before = pattern.model_copy(update=update), trace
        yield {"version": turn, "digest": state.digest, "body": entry.model_dump_json()}


def _evidence(pattern: Interaction, turns: Sequence[int]) -> Iterator[dict[str, Any]]:
    for turn in turns:
        update = {
            "turn": turn,
            "ccs_version": turn,
            "invocation_id": _invocation(turn),
            "input": pattern.input.model_copy(update={"text": said(turn)}),
        }
        body = pattern.model_copy(update=update).model_dump_json()
        yield {"turn": turn, "invocation_id": _invocation(turn), "body": body}


def _copy_costs(
    connection: sqlite3.Connection, session: str, pattern: int, turns: Sequence[int]
) -> None:
    query = "SELECT * FROM model_uses WHERE session = ? AND turn = ?"
    cursor = connection.execute(query, (session, pattern))
    names = [column[0] for column in cursor.description]
    used = [dict(zip(names, row, strict=True)) for row in cursor]
    rows = ({**each, "turn": turn, "run": f"run-{turn}"} for turn in turns for each in used)
    _insert(connection, "model_uses", names, rows)


def _copy_events(
    connection: sqlite3.Connection, session: str, pattern: Interaction, turns: Sequence[int]
) -> None:
    query = "SELECT session_id, event_id, happened_at, body FROM adk_events WHERE invocation_id = ?"
    events = connection.execute(query, (pattern.invocation_id,)).fetchall()
    rows = (
        {
            "session_id": session_id,
            "event_id": f"{event_id}-{turn}",
            "invocation_id": _invocation(turn),
            "happened_at": happened_at,
            "body": body.replace(event_id, f"{event_id}-{turn}")
            .replace(pattern.invocation_id, _invocation(turn))
            .replace(pattern.input.text, said(turn)),
        }
        for turn in turns
        for session_id, event_id, happened_at, body in events
    )
    names = ("session_id", "event_id", "invocation_id", "happened_at", "body")
    _insert(connection, "adk_events", names, rows)


def _copy(
    connection: sqlite3.Connection, table: str, session: str, rows: Iterator[dict[str, Any]]
) -> None:
    """Insert rows that differ from the newest one of the session in what they give."""
    query = f"SELECT * FROM {table} WHERE session = ? ORDER BY seq DESC LIMIT 1"  # noqa: S608
    cursor = connection.execute(query, (session,))
    names = [column[0] for column in cursor.description]
    pattern = dict(zip(names, cursor.fetchone(), strict=True))
    pattern["seq"] = None
    _insert(connection, table, names, ({**pattern, **row} for row in rows))


def _insert(
    connection: sqlite3.Connection,
    table: str,
    names: Sequence[str],
    rows: Iterator[dict[str, Any]],
) -> None:
    values = ", ".join(f":{name}" for name in names)
    columns = ", ".join(names)
    connection.executemany(f"INSERT INTO {table} ({columns}) VALUES ({values})", rows)  # noqa: S608


def _invocation(turn: int) -> str:
    return f"e-long-{turn:07d}"

"""Model calls and candidates of the newest turns, a compressed row for each commit of a turn.

Each distinct text stands once in a row: the calls of a tool loop share most of theirs. Rows are
bounded, and older ones go in the transaction that adds a newer one.
"""

import json
import zlib
from collections.abc import Sequence
from typing import Any, Final

from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.trace import TurnTrace, clipped
from acc_ace.errors import CorruptStoreError
from acc_ace.storage.sql_rows import Rows, problem_of
from acc_ace.storage.tenant_rows import ensure_tenant
from acc_ace.unit_of_work import Database, Write

KEPT_TURNS: Final = 50
"""Turns of a session that are kept, newest first."""

_KEPT_RUNS: Final = 4 * KEPT_TURNS
"""Rows of a session, as a turn may be run again and again."""

_ROW_BYTES: Final = 65_536
_LEVELS: Final = (32_000, 4_000, 500, 0)
"""Characters of a text, tried in turn until the row fits."""

_KEY = "app = ? AND user_id = ? AND session = ?"
_PUT = """
    INSERT INTO turn_traces (app, user_id, session, turn, run, invocation_id, body)
    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (app, user_id, session, turn, run) DO UPDATE
       SET invocation_id = excluded.invocation_id, body = excluded.body
"""
_TRIM = f"""
    DELETE FROM turn_traces WHERE {_KEY} AND (
           turn = ? AND invocation_id <> ?
        OR turn <> ? AND turn NOT IN (
               SELECT turn FROM turn_traces WHERE {_KEY} AND turn <> ?
                GROUP BY turn ORDER BY max(seq) DESC LIMIT {KEPT_TURNS - 1})
        OR seq <= (SELECT seq FROM turn_traces WHERE {_KEY}
                    ORDER BY seq DESC LIMIT 1 OFFSET {_KEPT_RUNS - 1}))
"""  # noqa: S608 - constants


class SqlTraceStore:
    """A TraceStore in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put_write(self, key: SessionKey, trace: TurnTrace) -> Write:
        """Keep a run of a turn, also again with more; what it takes the place of goes."""
        turn, row = trace.turn, (*key, trace.turn, trace.run, trace.invocation_id, _packed(trace))

        def write(rows: Rows) -> None:
            ensure_tenant(rows, key.tenant)
            # First, so that the new row takes the pages of those that go.
            rows.run(_TRIM, (*key, turn, trace.invocation_id, turn, *key, turn, *key))
            rows.run(_PUT, row)

        return write

    async def of_turn(self, key: SessionKey, turn: int) -> Sequence[TurnTrace]:
        """The kept runs of a turn, oldest first."""
        statement = f"SELECT body FROM turn_traces WHERE {_KEY} AND turn = ? ORDER BY seq"  # noqa: S608
        records = await self._database.read(lambda rows: rows.all(statement, (*key, turn)))
        return [_unpacked(key, bytes(body)) for (body,) in records]

    async def turns(self, key: SessionKey) -> Sequence[int]:
        """The turns of a session of which something is kept, in order."""
        statement = f"SELECT DISTINCT turn FROM turn_traces WHERE {_KEY} ORDER BY turn"  # noqa: S608
        records = await self._database.read(lambda rows: rows.all(statement, key))
        return [turn for (turn,) in records]


def _packed(trace: TurnTrace) -> bytes:
    """The row: with texts as long as fit, or without any."""
    for chars in _LEVELS:
        body = _compressed(trace, chars)
        if len(body) <= _ROW_BYTES:
            return body
    calls = tuple(call.model_copy(update={"parts": ()}) for call in trace.calls)
    return _compressed(trace.model_copy(update={"calls": calls}), 0)


def _compressed(trace: TurnTrace, chars: int) -> bytes:
    texts: dict[str, int] = {}
    form = trace.model_dump(mode="json", exclude={"calls": {"__all__": {"parts"}}})
    for call, shown in zip(trace.calls, form["calls"], strict=True):
        parts = clipped(call.parts, chars)
        shown["reply"] = call.reply[:chars]
        shown["parts"] = [[p.kind, texts.setdefault(p.text, len(texts)), p.cut] for p in parts]
    form["texts"] = list(texts)
    # Lone surrogates are kept: `json.loads` reads them so too.
    text = json.dumps(form, ensure_ascii=False, separators=(",", ":"))
    return zlib.compress(text.encode("utf-8", "surrogatepass"))


def _unpacked(key: SessionKey, body: bytes) -> TurnTrace:
    """Read a row; raises CorruptStoreError."""
    try:
        form: dict[str, Any] = json.loads(zlib.decompress(body))
        for call in form["calls"]:
            call["parts"] = [
                {"kind": kind, "text": form["texts"][at], "cut": cut}
                for kind, at, cut in call["parts"]
            ]
        return TurnTrace.model_validate(form)
    except (zlib.error, KeyError, IndexError, TypeError) as error:
        problem = type(error).__name__
    except ValueError as error:
        problem = problem_of(error)
    raise CorruptStoreError(
        f"the requests of a turn of session {key.session!r} cannot be read ({problem}); restore "
        "the database from a copy"
    )

"""Evidence and started tool calls in a SQL database."""

import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from pydantic_core import to_jsonable_python

from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.core.schemas.interaction import Interaction, Outcome, ToolStart
from acc_ace.storage.sql_rows import Rows, decode, encode, page_size, reading
from acc_ace.storage.tenant_rows import ensure_tenant
from acc_ace.unit_of_work import Database, Write

_MAX_TURN = 2**31 - 1
"""Above every turn."""

_INSERT = """
    INSERT INTO interactions (app, user_id, session, invocation_id, turn, outcome, request, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (app, user_id, session, invocation_id) DO UPDATE
       SET turn = excluded.turn, outcome = excluded.outcome, request = excluded.request,
           body = excluded.body
"""
_UNLESS_COMMITTED = " WHERE interactions.outcome = ?"
"""A failed turn never replaces a committed one with the same key."""
_SELECT = "SELECT outcome, body FROM interactions WHERE app = ? AND user_id = ? AND session = ?"
_NEWEST_FIRST = " ORDER BY turn DESC, seq DESC LIMIT ?"
_OLDEST_FIRST = " ORDER BY turn, seq LIMIT ?"
_CURSOR = (
    "(SELECT turn, seq FROM interactions "
    "WHERE app = ? AND user_id = ? AND session = ? AND invocation_id = ?)"
)
_UNDO = """
    UPDATE interactions SET outcome = ?, request = NULL
     WHERE app = ? AND user_id = ? AND session = ? AND turn > ? AND outcome IN (?, ?)
"""
_DELETE = """
    DELETE FROM interactions WHERE app = ? AND user_id = ? AND session = coalesce(?, session)
"""


class SqlEvidenceStore:
    """An EvidenceStore in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def record(self, key: SessionKey, interaction: Interaction) -> None:
        """Store an interaction; the same (session, invocation_id) again replaces it."""
        await self._database.write(self.record_write(key, interaction))

    def record_write(self, key: SessionKey, interaction: Interaction) -> Write:
        """`record` as a part of a unit of work."""
        failed = interaction.outcome is Outcome.FAILED
        statement = _INSERT + (_UNLESS_COMMITTED if failed else "")
        row = (
            *key,
            interaction.invocation_id,
            interaction.turn,
            interaction.outcome.value,
            interaction.idempotency_key or None,
            encode(interaction),
            *([Outcome.FAILED.value] if failed else []),
        )

        def write(rows: Rows) -> None:
            ensure_tenant(rows, key.tenant)
            rows.run(statement, row)

        return write

    async def last(self, key: SessionKey) -> Interaction | None:
        """The newest answered interaction that was not undone, or None."""
        page = await self._page(key, " AND outcome = ?", (Outcome.ANSWERED.value,), limit=1)
        return page[0] if page else None

    async def find(self, key: SessionKey, invocation_id: str) -> Interaction | None:
        """The interaction of an invocation, or None."""
        page = await self._page(key, " AND invocation_id = ?", (invocation_id,), limit=1)
        return page[0] if page else None

    async def of_request(self, key: SessionKey, idempotency_key: str) -> Interaction | None:
        """The committed turn of an idempotency key, or None."""
        page = await self._page(key, " AND request = ?", (idempotency_key,), limit=1)
        return page[0] if page else None

    async def list(
        self,
        key: SessionKey,
        *,
        limit: int = 50,
        before_turn: int | None = None,
        before: str | None = None,
        after: str | None = None,
    ) -> Sequence[Interaction]:
        """A page of interactions, at most `limit`: newest first, or oldest first with `after`."""
        where, values = "", list[object]()
        if before_turn is not None:
            where, values = " AND turn < ?", [min(before_turn, _MAX_TURN)]
        sign, cursor = ("<", before) if after is None else (">", after)
        if cursor:
            where, values = f"{where} AND (turn, seq) {sign} {_CURSOR}", [*values, *key, cursor]
        order = _NEWEST_FIRST if after is None else _OLDEST_FIRST
        return await self._page(key, where, values, limit=limit, order=order)

    async def mark_undone(self, key: SessionKey, after_turn: int) -> int:
        """Mark the committed interactions after turn `after_turn` as UNDONE; return how many."""
        return await self._database.write(lambda rows: _undo(rows, key, after_turn))

    def undone_write(self, key: SessionKey, after_turn: int) -> Write:
        """`mark_undone` as a part of a unit of work."""

        def write(rows: Rows) -> None:
            _undo(rows, key, after_turn)

        return write

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's interactions (of one session); return how many."""
        erased = await self._database.write(lambda rows: erase_evidence(rows, tenant, session))
        await self._database.scrub()
        return erased

    async def _page(
        self,
        key: SessionKey,
        where: str,
        values: Sequence[object],
        *,
        limit: int,
        order: str = _NEWEST_FIRST,
    ) -> Sequence[Interaction]:
        records = await self._database.read(
            lambda rows: rows.all(_SELECT + where + order, (*key, *values, page_size(limit)))
        )
        return [_interaction(key, *row) for row in records]


def _undo(rows: Rows, key: SessionKey, after_turn: int) -> int:
    committed = (Outcome.ANSWERED.value, Outcome.PAUSED.value)
    return rows.run(_UNDO, (Outcome.UNDONE.value, *key, after_turn, *committed))


def erase_evidence(rows: Rows, tenant: Tenant, session: str | None = None) -> int:
    """Delete the tenant's interactions (of one session); return how many."""
    return rows.run(_DELETE, (*tenant, session))


def _interaction(key: SessionKey, outcome: str, body: str) -> Interaction:
    interaction = decode(Interaction, body, what=f"evidence of session {key.session!r}")
    if interaction.outcome.value == outcome:
        return interaction
    # The column is authoritative: undo updates it and leaves the body unchanged.
    with reading(f"evidence of session {key.session!r}"):
        return interaction.model_copy(update={"outcome": Outcome(outcome)})


_KEY = "app = ? AND user_id = ? AND session = ?"
_INSERT_START = """
    INSERT INTO tool_starts (app, user_id, session, turn, call_id, name, args, started_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (app, user_id, session, call_id) DO UPDATE
       SET turn = excluded.turn, name = excluded.name, args = excluded.args,
           started_at = excluded.started_at
"""
_SELECT_STARTS = f"""
    SELECT call_id, name, args, turn, started_at FROM tool_starts
     WHERE {_KEY} ORDER BY started_at, call_id
"""  # noqa: S608 - a constant


class SqlToolStarts:
    """ToolStarts in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def start(self, key: SessionKey, start: ToolStart) -> None:
        """Record a call durably; replaces one with the same call id."""
        args = to_jsonable_python(
            start.args, serialize_unknown=True, inf_nan_mode="null", bytes_mode="base64"
        )
        row = (
            *key,
            start.turn,
            start.call_id,
            start.name,
            json.dumps(args),
            start.started_at.timestamp(),
        )

        def work(rows: Rows) -> None:
            ensure_tenant(rows, key.tenant)
            rows.run(_INSERT_START, row)

        await self._database.write(work)

    async def unsettled(self, key: SessionKey) -> Sequence[ToolStart]:
        """The session's calls that no commit has settled, in order of start."""
        records = await self._database.read(lambda rows: rows.all(_SELECT_STARTS, key))
        with reading(f"a call of session {key.session!r}"):
            return [
                ToolStart(
                    call_id=call_id,
                    name=name,
                    args=json.loads(args),
                    turn=turn,
                    started_at=datetime.fromtimestamp(started_at, UTC),
                )
                for call_id, name, args, turn, started_at in records
            ]

    def settle_write(self, key: SessionKey, call_ids: Collection[str]) -> Write:
        """Delete calls whose outcome is part of the same unit of work."""
        values = [(*key, call_id) for call_id in sorted(call_ids)]

        def write(rows: Rows) -> None:
            rows.many(f"DELETE FROM tool_starts WHERE {_KEY} AND call_id = ?", values)  # noqa: S608

        return write

    async def erase(self, key: SessionKey) -> int:
        """Delete all calls of a session; return how many."""
        return await self._database.write(
            lambda rows: rows.run(f"DELETE FROM tool_starts WHERE {_KEY}", key)  # noqa: S608
        )

"""Evidence in a SQL database."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from core.adapters.json_codec import decode, encode
from core.adapters.sql_database import Database
from core.adapters.sql_rows import Rows
from schemas.interaction import Interaction, Outcome
from schemas.tenancy import SessionKey, Tenant

C = TypeVar("C")

_MOST = 2**31 - 1
"""Above every turn and every page."""

_INSERT = """
    INSERT INTO interactions (app, {user}, session, invocation_id, turn, outcome, body)
    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (app, {user}, session, invocation_id) DO UPDATE
       SET turn = excluded.turn, outcome = excluded.outcome, body = excluded.body
"""
_SELECT = "SELECT outcome, body FROM interactions WHERE app = ? AND {user} = ? AND session = ?"
_NEWEST_FIRST = " ORDER BY turn DESC, seq DESC LIMIT ?"
_BEFORE = (
    " AND (turn, seq) < (SELECT turn, seq FROM interactions "
    "WHERE app = ? AND {user} = ? AND session = ? AND invocation_id = ?)"
)
_UNDO = """
    UPDATE interactions SET outcome = ?
     WHERE app = ? AND {user} = ? AND session = ? AND turn > ? AND outcome = ?
"""
_DELETE = """
    DELETE FROM interactions WHERE app = ? AND {user} = ? AND session = coalesce(?, session)
"""


class SqlEvidenceStore(Generic[C]):
    """An EvidenceStore in a database."""

    def __init__(self, database: Database[C], rows_of: Callable[[C], Rows]) -> None:
        self._database, self._rows_of = database, rows_of

    async def record(self, key: SessionKey, interaction: Interaction) -> None:
        """Store an interaction; the same (session, invocation_id) again replaces it."""
        row = (
            *key,
            interaction.invocation_id,
            interaction.turn,
            interaction.outcome.value,
            encode(interaction),
        )
        await self._write(_INSERT, row)

    async def last(self, key: SessionKey) -> Interaction | None:
        """The newest interaction that was answered and not undone, or None."""
        found = await self._newest(key, " AND outcome = ?", (Outcome.ANSWERED.value,), limit=1)
        return found[0] if found else None

    async def find(self, key: SessionKey, invocation_id: str) -> Interaction | None:
        """The interaction of an invocation, or None."""
        found = await self._newest(key, " AND invocation_id = ?", (invocation_id,), limit=1)
        return found[0] if found else None

    async def list(
        self,
        key: SessionKey,
        *,
        limit: int = 50,
        before_turn: int | None = None,
        before: str | None = None,
    ) -> Sequence[Interaction]:
        """A page of interactions, newest first, at most `limit`."""
        earlier = _MOST if before_turn is None else min(before_turn, _MOST)
        where, values = " AND turn < ?", (earlier,)
        if before is None:
            return await self._newest(key, where, values, limit=limit)
        return await self._newest(key, where + _BEFORE, (*values, *key, before), limit=limit)

    async def mark_undone(self, key: SessionKey, after_turn: int) -> int:
        """Mark the answered interactions of turns later than `after_turn` UNDONE; how many."""
        values = (Outcome.UNDONE.value, *key, after_turn, Outcome.ANSWERED.value)
        return await self._write(_UNDO, values)

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's interactions (of one session); how many."""
        return await self._write(_DELETE, (*tenant, session))

    async def _newest(
        self, key: SessionKey, where: str, values: Sequence[object], *, limit: int
    ) -> Sequence[Interaction]:
        def work(connection: C) -> Sequence[tuple[Any, ...]]:
            rows = self._rows_of(connection)
            statement = (_SELECT + where + _NEWEST_FIRST).format(user=rows.user)
            return rows.all(statement, (*key, *values, min(max(limit, 0), _MOST)))

        return [_interaction(key, *row) for row in await self._database.read(work)]

    async def _write(self, statement: str, values: Sequence[object]) -> int:
        def work(connection: C) -> int:
            rows = self._rows_of(connection)
            return rows.run(statement.format(user=rows.user), values)

        return await self._database.write(work)


def _interaction(key: SessionKey, outcome: str, body: str) -> Interaction:
    interaction = decode(Interaction, body, what=f"evidence of session {key.session!r}")
    if interaction.outcome.value == outcome:
        return interaction
    # The column is the truth: undoing changes it and leaves the body as it was recorded.
    return interaction.model_copy(update={"outcome": Outcome(outcome)})

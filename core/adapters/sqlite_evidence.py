"""Evidence in SQLite."""

import sqlite3
from collections.abc import Sequence

from core.adapters.json_codec import decode, encode
from core.adapters.sqlite_database import SqliteDatabase
from schemas.interaction import Interaction, Outcome
from schemas.tenancy import SessionKey, Tenant

_NEWEST = 2**62

_SELECT = "SELECT outcome, body FROM interactions WHERE app = ? AND user = ? AND session = ?"
_NEWEST_FIRST = " ORDER BY turn DESC, seq DESC LIMIT ?"
_BEFORE = (
    " AND (turn, seq) < (SELECT turn, seq FROM interactions "
    "WHERE app = ? AND user = ? AND session = ? AND invocation_id = ?)"
)
_Row = tuple[str, str]


class SqliteEvidenceStore:
    """An EvidenceStore in a SqliteDatabase."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def record(self, key: SessionKey, interaction: Interaction) -> None:
        """Store an interaction; the same (session, invocation_id) again replaces it."""
        row = (
            *key,
            interaction.invocation_id,
            interaction.turn,
            interaction.outcome.value,
            encode(interaction),
        )

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO interactions (app, user, session, invocation_id, turn, outcome, body) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (app, user, session, invocation_id) DO UPDATE SET "
                "turn = excluded.turn, outcome = excluded.outcome, body = excluded.body",
                row,
            )

        await self._database.write(work)

    async def last(self, key: SessionKey) -> Interaction | None:
        """The newest interaction that was answered and not undone, or None."""

        def work(connection: sqlite3.Connection) -> list[_Row]:
            return connection.execute(
                _SELECT + " AND outcome = ?" + _NEWEST_FIRST, (*key, Outcome.ANSWERED.value, 1)
            ).fetchall()

        rows = await self._database.read(work)
        return _interaction(key, rows[0]) if rows else None

    async def find(self, key: SessionKey, invocation_id: str) -> Interaction | None:
        """The interaction of an invocation, or None."""
        rows = await self._database.read(
            lambda connection: connection.execute(
                _SELECT + " AND invocation_id = ?", (*key, invocation_id)
            ).fetchall()
        )
        return _interaction(key, rows[0]) if rows else None

    async def list(
        self,
        key: SessionKey,
        *,
        limit: int = 50,
        before_turn: int | None = None,
        before: str | None = None,
    ) -> Sequence[Interaction]:
        """A page of interactions, newest first, at most `limit`."""

        def work(connection: sqlite3.Connection) -> Sequence[_Row]:
            earlier = _NEWEST if before_turn is None else before_turn
            where = " AND turn < ?"
            values: tuple[object, ...] = (*key, earlier)
            if before is not None:
                where, values = where + _BEFORE, (*values, *key, before)
            return connection.execute(
                _SELECT + where + _NEWEST_FIRST, (*values, max(limit, 0))
            ).fetchall()

        return [_interaction(key, row) for row in await self._database.read(work)]

    async def mark_undone(self, key: SessionKey, after_turn: int) -> int:
        """Mark the answered interactions of turns later than `after_turn` UNDONE; how many."""

        def work(connection: sqlite3.Connection) -> int:
            return connection.execute(
                "UPDATE interactions SET outcome = ? WHERE app = ? AND user = ? AND session = ? "
                "AND turn > ? AND outcome = ?",
                (Outcome.UNDONE.value, *key, after_turn, Outcome.ANSWERED.value),
            ).rowcount

        return await self._database.write(work)

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's interactions (of one session); how many."""

        def work(connection: sqlite3.Connection) -> int:
            return connection.execute(
                "DELETE FROM interactions "
                "WHERE app = ? AND user = ? AND session = ifnull(?, session)",
                (*tenant, session),
            ).rowcount

        erased = await self._database.write(work)
        await self._database.scrub()
        return erased


def _interaction(key: SessionKey, row: _Row) -> Interaction:
    outcome, body = row
    interaction = decode(Interaction, body, what=f"evidence of session {key.session!r}")
    if interaction.outcome.value == outcome:
        return interaction
    # The column is the truth: undoing changes it and leaves the body as it was recorded.
    return interaction.model_copy(update={"outcome": Outcome(outcome)})

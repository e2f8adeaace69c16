"""Evidence in PostgreSQL."""

from collections.abc import Sequence
from typing import Any

from core.adapters.json_codec import decode, encode
from core.adapters.postgres_database import PostgresDatabase, page_size
from core.adapters.postgres_schema import Connection
from schemas.interaction import Interaction, Outcome
from schemas.tenancy import SessionKey, Tenant

_NEWEST = 2**31 - 1

_SELECT = "SELECT outcome, body FROM interactions WHERE app = %s AND user_id = %s AND session = %s "
_NEWEST_FIRST = " ORDER BY turn DESC, seq DESC LIMIT %s"
_BEFORE = (
    " AND (turn, seq) < (SELECT turn, seq FROM interactions "
    "WHERE app = %s AND user_id = %s AND session = %s AND invocation_id = %s)"
)
_Row = tuple[Any, ...]


class PostgresEvidenceStore:
    """An EvidenceStore in a PostgresDatabase."""

    def __init__(self, database: PostgresDatabase) -> None:
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

        def work(connection: Connection) -> None:
            connection.execute(
                "INSERT INTO interactions "
                "(app, user_id, session, invocation_id, turn, outcome, body) "
                "VALUES (%s, %s, %s, %s, %s, %s, %s) "
                "ON CONFLICT (app, user_id, session, invocation_id) DO UPDATE SET "
                "turn = excluded.turn, outcome = excluded.outcome, body = excluded.body",
                row,
            )

        await self._database.write(work)

    async def last(self, key: SessionKey) -> Interaction | None:
        """The newest interaction that was answered and not undone, or None."""

        def work(connection: Connection) -> list[_Row]:
            return connection.execute(
                _SELECT + "AND outcome = %s" + _NEWEST_FIRST, (*key, Outcome.ANSWERED.value, 1)
            ).fetchall()

        rows = await self._database.read(work)
        return _interaction(key, rows[0]) if rows else None

    async def find(self, key: SessionKey, invocation_id: str) -> Interaction | None:
        """The interaction of an invocation, or None."""
        rows = await self._database.read(
            lambda connection: connection.execute(
                _SELECT + "AND invocation_id = %s", (*key, invocation_id)
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
        earlier = _NEWEST if before_turn is None else min(before_turn, _NEWEST)

        def work(connection: Connection) -> Sequence[_Row]:
            where = "AND turn < %s"
            values: tuple[object, ...] = (*key, earlier)
            if before is not None:
                where, values = where + _BEFORE, (*values, *key, before)
            return connection.execute(
                (_SELECT + where + _NEWEST_FIRST).encode(), (*values, page_size(limit))
            ).fetchall()

        return [_interaction(key, row) for row in await self._database.read(work)]

    async def mark_undone(self, key: SessionKey, after_turn: int) -> int:
        """Mark the answered interactions of turns later than `after_turn` UNDONE; how many."""

        def work(connection: Connection) -> int:
            return connection.execute(
                "UPDATE interactions SET outcome = %s "
                "WHERE app = %s AND user_id = %s AND session = %s AND turn > %s AND outcome = %s",
                (Outcome.UNDONE.value, *key, after_turn, Outcome.ANSWERED.value),
            ).rowcount

        return await self._database.write(work)

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's interactions (of one session); how many."""

        def work(connection: Connection) -> int:
            return connection.execute(
                "DELETE FROM interactions "
                "WHERE app = %s AND user_id = %s AND session = coalesce(%s, session)",
                (*tenant, session),
            ).rowcount

        return await self._database.write(work)


def _interaction(key: SessionKey, row: _Row) -> Interaction:
    outcome, body = row
    interaction = decode(Interaction, body, what=f"evidence of session {key.session!r}")
    if interaction.outcome.value == outcome:
        return interaction
    # The column is the truth: undoing changes it and leaves the body as it was recorded.
    return interaction.model_copy(update={"outcome": Outcome(outcome)})

"""The journal in PostgreSQL: append-only rows, compare-and-swap on the version."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from core.adapters.journal_rows import entry_of
from core.adapters.json_codec import encode
from core.adapters.postgres_database import PostgresDatabase, page_size
from core.adapters.postgres_schema import Connection
from core.domain.journal_rules import check_expected_version, check_next_version
from core.errors import NotFoundError
from schemas.commit import JournalEntry
from schemas.tenancy import SessionKey, Tenant

_NEWEST_VERSION = 2**31 - 1
_NEWEST_CHANGE = 2**62

_SELECT = (
    "SELECT version, digest, body FROM journal WHERE app = %s AND user_id = %s AND session = %s "
)


class PostgresJournal:
    """A Journal in a PostgresDatabase. Every state is checked against its digest when read."""

    def __init__(
        self,
        database: PostgresDatabase,
        *,
        confirm: Callable[[SessionKey], Awaitable[None]] | None = None,
    ) -> None:
        """`confirm` raises ConflictError when the turn that commits has lost its session."""
        self.database = database
        self._confirm = confirm

    async def head(self, key: SessionKey) -> JournalEntry | None:
        """The newest entry, or None before the first commit."""
        entries = await self.history(key, limit=1)
        return entries[0] if entries else None

    async def stamp(self, key: SessionKey) -> str | None:
        """SHA-256 of the newest entry's stored text, made by the server."""
        rows = await self.database.read(
            lambda connection: connection.execute(
                "SELECT encode(sha256(convert_to(body, 'UTF8')), 'hex') FROM journal "
                "WHERE app = %s AND user_id = %s AND session = %s ORDER BY version DESC LIMIT 1",
                key,
            ).fetchall()
        )
        return str(rows[0][0]) if rows else None

    async def append(self, key: SessionKey, entry: JournalEntry, *, expected_version: int) -> None:
        """Append in one transaction.

        Raises ConflictError when the newest version is not the expected one, or when the session
        was lost to another process.
        """
        if self._confirm is not None:
            await self._confirm(key)
        check_next_version(key, entry, expected_version)
        version, digest, body = entry.state.version, entry.state.digest, encode(entry)
        runs = 0

        def work(connection: Connection) -> None:
            nonlocal runs
            runs += 1
            if runs > 1 and _stands(connection, key, version, body):
                return  # The earlier run was committed, and only its answer was lost.
            check_expected_version(key, _newest_version(connection, key), expected_version)
            # The unique constraint stops a second first entry; there is no row to lock yet.
            connection.execute(
                "WITH added AS ("
                "  INSERT INTO journal (app, user_id, session, version, digest, body) "
                "  VALUES (%s, %s, %s, %s, %s, %s) RETURNING app, user_id, session, version, seq) "
                "INSERT INTO journal_heads (app, user_id, session, version, seq) "
                "SELECT * FROM added ON CONFLICT (app, user_id, session) DO UPDATE "
                "SET version = excluded.version, seq = excluded.seq",
                (*key, version, digest, body),
            )

        await self.database.write(work)

    async def get(self, key: SessionKey, version: int) -> JournalEntry | None:
        """The entry of a version, or None."""

        def work(connection: Connection) -> list[tuple[Any, ...]]:
            return connection.execute(
                _SELECT + "AND version = %s", (*key, min(version, _NEWEST_VERSION))
            ).fetchall()

        rows = await self.database.read(work)
        return entry_of(key.session, *rows[0]) if rows else None

    async def history(
        self, key: SessionKey, *, limit: int = 50, before_version: int | None = None
    ) -> Sequence[JournalEntry]:
        """A page of entries, newest first, at most `limit`."""
        before = _NEWEST_VERSION if before_version is None else before_version

        def work(connection: Connection) -> list[tuple[Any, ...]]:
            return connection.execute(
                _SELECT + "AND version < %s ORDER BY version DESC LIMIT %s",
                (*key, min(before, _NEWEST_VERSION), page_size(limit)),
            ).fetchall()

        return [entry_of(key.session, *row) for row in await self.database.read(work)]

    async def sessions(
        self, tenant: Tenant, *, limit: int = 50, before: str | None = None
    ) -> Sequence[tuple[str, JournalEntry]]:
        """A page of (session, newest entry), most recently changed first."""

        def work(connection: Connection) -> list[tuple[Any, ...]]:
            changed = _NEWEST_CHANGE if before is None else _last_change(connection, tenant, before)
            return connection.execute(
                "SELECT journal.session, journal.version, digest, body FROM journal_heads "
                "JOIN journal USING (seq) WHERE journal_heads.app = %s "
                "AND journal_heads.user_id = %s AND journal_heads.seq < %s "
                "ORDER BY journal_heads.seq DESC LIMIT %s",
                (*tenant, changed, page_size(limit)),
            ).fetchall()

        rows = await self.database.read(work)
        return [(session, entry_of(session, *row)) for session, *row in rows]

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's entries (of one session); how many."""

        def work(connection: Connection) -> int:
            return connection.execute(
                "DELETE FROM journal "
                "WHERE app = %s AND user_id = %s AND session = coalesce(%s, session)",
                (*tenant, session),
            ).rowcount

        return await self.database.write(work)


def _newest_version(connection: Connection, key: SessionKey) -> int:
    """The newest version; the row is locked, so that others wait for this transaction."""
    row = connection.execute(
        "SELECT version FROM journal_heads "
        "WHERE app = %s AND user_id = %s AND session = %s FOR UPDATE",
        key,
    ).fetchone()
    return int(row[0]) if row else 0


def _stands(connection: Connection, key: SessionKey, version: int, body: str) -> bool:
    row = connection.execute(_SELECT + "AND version = %s", (*key, version)).fetchone()
    return row is not None and row[2] == body


def _last_change(connection: Connection, tenant: Tenant, session: str) -> int:
    row = connection.execute(
        "SELECT seq FROM journal_heads WHERE app = %s AND user_id = %s AND session = %s",
        (*tenant, session),
    ).fetchone()
    if row is None:
        raise NotFoundError(f"no session {session!r} to page from")
    return int(row[0])

"""The journal in SQLite: append-only rows, compare-and-swap on the version."""

import sqlite3
from collections.abc import Sequence
from hashlib import sha256

from core.adapters.journal_rows import entry_of
from core.adapters.json_codec import encode
from core.adapters.sqlite_database import SqliteDatabase
from core.domain.journal_rules import check_expected_version, check_next_version
from core.errors import NotFoundError
from schemas.commit import JournalEntry
from schemas.tenancy import SessionKey, Tenant

_NEWEST = 2**62

_SELECT = "SELECT version, digest, body FROM journal WHERE app = ? AND user = ? AND session = ?"
_Row = tuple[int, str, str]


class SqliteJournal:
    """A Journal in a SqliteDatabase. Every state is checked against its digest when it is read."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def head(self, key: SessionKey) -> JournalEntry | None:
        """The newest entry, or None before the first commit."""
        entries = await self.history(key, limit=1)
        return entries[0] if entries else None

    async def stamp(self, key: SessionKey) -> str | None:
        """SHA-256 of the newest entry's stored text."""
        rows = await self._database.read(
            lambda connection: connection.execute(
                "SELECT body FROM journal WHERE app = ? AND user = ? AND session = ? "
                "ORDER BY version DESC LIMIT 1",
                key,
            ).fetchall()
        )
        return sha256(rows[0][0].encode()).hexdigest() if rows else None

    async def append(self, key: SessionKey, entry: JournalEntry, *, expected_version: int) -> None:
        """Append in one transaction; ConflictError when the newest version is not the expected."""
        check_next_version(key, entry, expected_version)
        version, digest, body = entry.state.version, entry.state.digest, encode(entry)

        def work(connection: sqlite3.Connection) -> None:
            check_expected_version(key, _newest_version(connection, key), expected_version)
            seq = connection.execute(
                "INSERT INTO journal (app, user, session, version, digest, body) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (*key, version, digest, body),
            ).lastrowid
            connection.execute(
                "INSERT OR REPLACE INTO journal_heads (app, user, session, version, seq) "
                "VALUES (?, ?, ?, ?, ?)",
                (*key, version, seq),
            )

        await self._database.write(work)

    async def get(self, key: SessionKey, version: int) -> JournalEntry | None:
        """The entry of a version, or None."""
        entries = await self.history(key, limit=1, before_version=version + 1)
        return entries[0] if entries and entries[0].state.version == version else None

    async def history(
        self, key: SessionKey, *, limit: int = 50, before_version: int | None = None
    ) -> Sequence[JournalEntry]:
        """A page of entries, newest first, at most `limit`."""

        def work(connection: sqlite3.Connection) -> list[_Row]:
            return connection.execute(
                _SELECT + " AND version < ? ORDER BY version DESC LIMIT ?",
                (*key, _NEWEST if before_version is None else before_version, max(limit, 0)),
            ).fetchall()

        return [entry_of(key.session, *row) for row in await self._database.read(work)]

    async def sessions(
        self, tenant: Tenant, *, limit: int = 50, before: str | None = None
    ) -> Sequence[tuple[str, JournalEntry]]:
        """A page of (session, newest entry), most recently changed first."""

        def work(connection: sqlite3.Connection) -> list[tuple[str, int, str, str]]:
            changed = _NEWEST if before is None else _last_change(connection, tenant, before)
            return connection.execute(
                "SELECT journal.session, journal.version, digest, body FROM journal_heads "
                "JOIN journal USING (seq) WHERE journal_heads.app = ? AND journal_heads.user = ? "
                "AND journal_heads.seq < ? ORDER BY journal_heads.seq DESC LIMIT ?",
                (*tenant, changed, max(limit, 0)),
            ).fetchall()

        rows = await self._database.read(work)
        return [
            (session, entry_of(session, version, digest, body))
            for session, version, digest, body in rows
        ]

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's entries (of one session); how many."""

        def work(connection: sqlite3.Connection) -> int:
            return connection.execute(
                "DELETE FROM journal WHERE app = ? AND user = ? AND session = ifnull(?, session)",
                (*tenant, session),
            ).rowcount

        erased = await self._database.write(work)
        await self._database.scrub()
        return erased


def _newest_version(connection: sqlite3.Connection, key: SessionKey) -> int:
    row = connection.execute(
        "SELECT version FROM journal_heads WHERE app = ? AND user = ? AND session = ?", key
    ).fetchone()
    return row[0] if row else 0


def _last_change(connection: sqlite3.Connection, tenant: Tenant, session: str) -> int:
    row = connection.execute(
        "SELECT seq FROM journal_heads WHERE app = ? AND user = ? AND session = ?",
        (*tenant, session),
    ).fetchone()
    if row is None:
        raise NotFoundError(f"no session {session!r} to page from")
    seq: int = row[0]
    return seq

"""The session directory in SQLite."""

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from hashlib import sha256

from core.adapters.directory_rows import (
    MOST_UNREADABLE,
    Idle,
    Row,
    idle_of,
    page_of,
    place_of,
    record_of,
)
from core.adapters.json_codec import encode
from core.adapters.record_changes import RecordChanges
from core.adapters.sqlite_database import SqliteDatabase
from core.domain import session_record as rules
from schemas.memory_name import MemoryName
from schemas.session import SessionRecord
from schemas.tenancy import SessionKey, Tenant

_KEY = "app = ? AND user = ? AND session = ?"


class SqliteSessionDirectory(RecordChanges):
    """A SessionDirectory in a SqliteDatabase."""

    def __init__(self, database: SqliteDatabase) -> None:
        self._database = database

    async def open(self, key: SessionKey, *, at: datetime, memory: MemoryName) -> SessionRecord:
        """Find or create the session and note that it is active."""

        def work(connection: sqlite3.Connection) -> SessionRecord:
            record = rules.opened(_read(connection, key), key.session, at=at, memory=memory)
            _write(connection, key, record)
            return record

        return await self._database.write(work)

    async def renew(self, key: SessionKey, record: SessionRecord) -> None:
        """Put a record in the place of the session's own."""
        await self._database.write(lambda connection: _write(connection, key, record))

    async def find(self, key: SessionKey) -> SessionRecord | None:
        """The session, or None."""
        record = await self._database.read(lambda connection: _read(connection, key))
        return None if record is None or record.deleted_at is not None else record

    async def stamp(self, key: SessionKey) -> str | None:
        """SHA-256 of the record's stored text."""
        record = await self.find(key)
        return None if record is None else sha256(encode(record).encode()).hexdigest()

    async def list(
        self, tenant: Tenant, *, limit: int = 50, before: str | None = None
    ) -> Sequence[SessionRecord]:
        """A page of sessions, most recently active first."""

        def read(connection: sqlite3.Connection, size: int, passed: int) -> list[Row]:
            return connection.execute(
                "SELECT session, CAST(body AS BLOB) FROM session_directory "
                "WHERE app = ?1 AND user = ?2 AND (?3 IS NULL "
                "OR (active_at, session) < (SELECT active_at, session FROM session_directory "
                "WHERE app = ?1 AND user = ?2 AND session = ?3)) "
                "ORDER BY active_at DESC, session DESC LIMIT ?4 OFFSET ?5",
                (*tenant, before, size, passed),
            ).fetchall()

        return await self._database.read(
            lambda connection: page_of(tenant, partial(read, connection), limit=limit)
        )

    async def idle(
        self, app: str, *, since: datetime, limit: int = 50, after: Idle | None = None
    ) -> Sequence[Idle]:
        """Sessions not active since then, whose history has not been offloaded."""

        def work(connection: sqlite3.Connection) -> Sequence[Idle]:
            rows = connection.execute(
                "SELECT user, session, CAST(body AS BLOB) FROM session_directory WHERE app = ? "
                "AND to_offload = 1 AND active_at < ? AND (active_at, user, session) > (?, ?, ?) "
                "ORDER BY active_at, user, session LIMIT ?",
                (app, since.timestamp(), *place_of(after), max(limit, 0) + MOST_UNREADABLE),
            )
            return idle_of(app, rows, limit=limit)

        return await self._database.read(work)

    async def delete(self, key: SessionKey, *, at: datetime, keep_notes: bool) -> None:
        """Delete the record, or all of it but the ids of notes that outlive the session."""

        def work(connection: sqlite3.Connection) -> None:
            record = _read(connection, key)
            left = rules.deleted(record, at, keep_notes=keep_notes) if record is not None else None
            if left is not None:
                _write(connection, key, left)
            else:
                connection.execute(f"DELETE FROM session_directory WHERE {_KEY}", key)  # noqa: S608 - a constant

        await self._database.write(work)
        await self._database.scrub()

    async def names(self, tenant: Tenant) -> Sequence[str]:
        """All sessions of a user that have a record, also one that cannot be read."""
        rows = await self._database.read(
            lambda connection: connection.execute(
                "SELECT session FROM session_directory WHERE app = ? AND user = ?", tenant
            ).fetchall()
        )
        return [name for (name,) in rows]

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the user's records (of one session); how many."""
        erased = await self._database.write(
            lambda connection: (
                connection.execute(
                    "DELETE FROM session_directory "
                    "WHERE app = ? AND user = ? AND session = coalesce(?, session)",
                    (*tenant, session),
                ).rowcount
            )
        )
        await self._database.scrub()
        return erased

    async def _change(
        self, key: SessionKey, change: Callable[[SessionRecord], SessionRecord]
    ) -> None:
        def work(connection: sqlite3.Connection) -> None:
            record = _read(connection, key)
            if record is not None:
                _write(connection, key, change(record))

        await self._database.write(work)


def _read(connection: sqlite3.Connection, key: SessionKey) -> SessionRecord | None:
    row = connection.execute(
        f"SELECT CAST(body AS BLOB) FROM session_directory WHERE {_KEY}",  # noqa: S608 - a constant
        key,
    ).fetchone()
    return None if row is None else record_of(key.session, row[0])


def _write(connection: sqlite3.Connection, key: SessionKey, record: SessionRecord) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO session_directory (app, user, session, active_at, to_offload, body)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (
            *key,
            record.active_at.timestamp(),
            int(rules.must_be_offloaded(record)),
            encode(record),
        ),
    )

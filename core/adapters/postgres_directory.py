"""The session directory in PostgreSQL."""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

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
from core.adapters.postgres_database import PostgresDatabase, page_size
from core.adapters.postgres_schema import Connection
from core.adapters.record_changes import RecordChanges
from core.domain import session_record as rules
from schemas.memory_name import MemoryName
from schemas.session import SessionRecord
from schemas.tenancy import SessionKey, Tenant

_PAGE = """
    SELECT session, body FROM session_directory
     WHERE app = %(app)s AND user_id = %(user)s AND (%(before)s::text IS NULL
           OR (active_at, session) < (SELECT active_at, session FROM session_directory
               WHERE app = %(app)s AND user_id = %(user)s AND session = %(before)s))
     ORDER BY active_at DESC, session DESC LIMIT %(size)s OFFSET %(passed)s
"""

_DELETE = "DELETE FROM session_directory WHERE app = %s AND user_id = %s AND session = %s"


class PostgresSessionDirectory(RecordChanges):
    """A SessionDirectory in a PostgresDatabase."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    async def open(self, key: SessionKey, *, at: datetime, memory: MemoryName) -> SessionRecord:
        """Find or create the session and note that it is active."""

        def work(connection: Connection) -> SessionRecord:
            known = _read(connection, key, lock=True)
            record = rules.opened(known, key.session, at=at, memory=memory)
            _write(connection, key, record, new=known is None)
            return record

        return await self._database.write(work)

    async def renew(self, key: SessionKey, record: SessionRecord) -> None:
        """Put a record in the place of the session's own."""

        def work(connection: Connection) -> None:
            connection.execute(_DELETE, key)
            _write(connection, key, record, new=True)

        await self._database.write(work)

    async def find(self, key: SessionKey) -> SessionRecord | None:
        """The session, or None."""
        record = await self._database.read(lambda connection: _read(connection, key))
        return None if record is None or record.deleted_at is not None else record

    async def stamp(self, key: SessionKey) -> str | None:
        """SHA-256 of the record's stored text, made by the server."""
        # Searched, not parsed: the server reads neither damaged JSON nor half surrogate pairs.
        rows = await self._database.read(
            lambda connection: connection.execute(
                "SELECT encode(sha256(convert_to(body, 'UTF8')), 'hex'), "
                "position('\"deleted_at\":null' in body) > 0 FROM session_directory "
                "WHERE app = %s AND user_id = %s AND session = %s",
                key,
            ).fetchall()
        )
        if not rows:
            return None
        [(stamp, stands)] = rows
        return str(stamp) if stands or await self.find(key) is not None else None

    async def list(
        self, tenant: Tenant, *, limit: int = 50, before: str | None = None
    ) -> Sequence[SessionRecord]:
        """A page of sessions, most recently active first."""

        def read(connection: Connection, size: int, passed: int) -> list[Row]:
            values = {
                "app": tenant.app,
                "user": tenant.user,
                "before": before,
                "size": size,
                "passed": passed,
            }
            return connection.execute(_PAGE, values).fetchall()

        return await self._database.read(
            lambda connection: page_of(tenant, partial(read, connection), limit=page_size(limit))
        )

    async def idle(
        self, app: str, *, since: datetime, limit: int = 50, after: Idle | None = None
    ) -> Sequence[Idle]:
        """Sessions not active since then, whose history has not been offloaded."""

        def work(connection: Connection) -> Sequence[Idle]:
            rows = connection.execute(
                "SELECT user_id, session, body FROM session_directory WHERE app = %s "
                "AND to_offload AND active_at < %s AND (active_at, user_id, session) > (%s, %s, %s)"
                " ORDER BY active_at, user_id, session LIMIT %s",
                (app, since.timestamp(), *place_of(after), page_size(limit + MOST_UNREADABLE)),
            ).fetchall()
            return idle_of(app, rows, limit=limit)

        return await self._database.read(work)

    async def delete(self, key: SessionKey, *, at: datetime, keep_notes: bool) -> None:
        """Delete the record, or all of it but the ids of notes that outlive the session."""

        def work(connection: Connection) -> None:
            record = _read(connection, key, lock=True)
            left = rules.deleted(record, at, keep_notes=keep_notes) if record is not None else None
            if left is not None:
                _write(connection, key, left)
                return
            connection.execute(_DELETE, key)

        await self._database.write(work)

    async def names(self, tenant: Tenant) -> Sequence[str]:
        """All sessions of a user that have a record, also one that cannot be read."""
        rows = await self._database.read(
            lambda connection: connection.execute(
                "SELECT session FROM session_directory WHERE app = %s AND user_id = %s", tenant
            ).fetchall()
        )
        return [name for (name,) in rows]

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the user's records (of one session); how many."""
        return await self._database.write(
            lambda connection: (
                connection.execute(
                    "DELETE FROM session_directory "
                    "WHERE app = %s AND user_id = %s AND session = coalesce(%s, session)",
                    (*tenant, session),
                ).rowcount
            )
        )

    async def _change(
        self, key: SessionKey, change: Callable[[SessionRecord], SessionRecord]
    ) -> None:
        def work(connection: Connection) -> None:
            record = _read(connection, key, lock=True)
            if record is not None:
                _write(connection, key, change(record))

        await self._database.write(work)


def _read(connection: Connection, key: SessionKey, *, lock: bool = False) -> SessionRecord | None:
    statement = (
        "SELECT session, body FROM session_directory "
        "WHERE app = %s AND user_id = %s AND session = %s"
    )
    row = connection.execute(f"{statement}{' FOR UPDATE' if lock else ''}".encode(), key).fetchone()
    return None if row is None else record_of(*row)


def _write(
    connection: Connection, key: SessionKey, record: SessionRecord, *, new: bool = False
) -> None:
    """Write a record. A new one that somebody else just made is a race, which is run again."""
    values = (
        record.active_at.timestamp(),
        rules.must_be_offloaded(record),
        encode(record),
        *key,
    )
    if new:
        connection.execute(
            "INSERT INTO session_directory (active_at, to_offload, body, app, user_id, session) "
            "VALUES (%s, %s, %s, %s, %s, %s)",
            values,
        )
        return
    connection.execute(
        "UPDATE session_directory SET active_at = %s, to_offload = %s, body = %s "
        "WHERE app = %s AND user_id = %s AND session = %s",
        values,
    )

"""The session directory in a SQL database."""

import logging
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Final

from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.core.schemas.session import ReadThrough, SessionRecord
from acc_ace.errors import CorruptStoreError
from acc_ace.storage.sql_rows import Rows, decode, encode, page_size, raw
from acc_ace.storage.tenant_rows import ensure_tenant
from acc_ace.turn import session_directory as rules
from acc_ace.unit_of_work import Database, Write

logger = logging.getLogger(__name__)

_MORE_ROWS: Final = 100
"""Rows per page read to replace unreadable ones."""

Change = Callable[[SessionRecord], SessionRecord]
_Row = tuple[str, str | bytes]
"""Session and body."""

_KEY = "app = ? AND user_id = ? AND session = ?"
_INSERT = """
    INSERT INTO session_directory (app, user_id, session, active_at, idle_since, body)
    VALUES (?, ?, ?, ?, ?, ?)
"""
_REPLACE = (
    _INSERT
    + """ ON CONFLICT (app, user_id, session) DO UPDATE
    SET active_at = excluded.active_at, idle_since = excluded.idle_since, body = excluded.body
"""
)
_PAGE = "SELECT session, {body} FROM session_directory WHERE app = ? AND user_id = ?"
_BEFORE = """
    AND (active_at, session) < (SELECT active_at, session FROM session_directory
         WHERE app = ? AND user_id = ? AND session = ?)
"""
_NEWEST_FIRST = " ORDER BY active_at DESC, session DESC LIMIT ? OFFSET ?"
_IDLE = """
    SELECT user_id, session, idle_since FROM session_directory
     WHERE app = ? AND idle_since < ? ORDER BY idle_since, user_id, session LIMIT 1
"""
_KNOWS_APP = """
    SELECT EXISTS (SELECT 1 FROM tenants WHERE app = ?)
        OR EXISTS (SELECT 1 FROM playbooks WHERE app = ?)
"""
_APPS = "SELECT app FROM tenants UNION SELECT app FROM playbooks ORDER BY app LIMIT 100"
_TAKE = f"""
    UPDATE session_directory SET idle_since = ? WHERE {_KEY} AND idle_since = ? RETURNING session
"""  # noqa: S608 - a constant


class SqlSessionDirectory:
    """A SessionDirectory in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self, key: SessionKey, *, at: datetime) -> SessionRecord:
        """Find or create the session and mark it active."""
        return await self._database.write(lambda rows: _open(rows, key, at))

    def open_write(self, key: SessionKey, *, at: datetime) -> Write:
        """`open` as a part of a unit of work."""

        def write(rows: Rows) -> None:
            _open(rows, key, at)

        return write

    async def find(self, key: SessionKey) -> SessionRecord | None:
        """The session, or None."""
        record = await self._database.read(lambda rows: _read(rows, key))
        return None if record is None or record.deleted_at is not None else record

    async def list(
        self, tenant: Tenant, *, limit: int = 50, before: str | None = None
    ) -> Sequence[SessionRecord]:
        """A page of sessions, most recently active first."""
        return await self._database.read(
            lambda rows: _page(rows, tenant, limit=page_size(limit), before=before)
        )

    async def take_idle(self, app: str, *, since: datetime, retry_s: float) -> SessionKey | None:
        """Claim the longest idle session due for offload, by compare-and-swap."""
        at = since.timestamp()
        while row := await self._database.read(lambda rows: rows.one(_IDLE, (app, at))):
            user, session, idle_since = row
            key = SessionKey(app, user, session)
            if await self._take(key, idle_since, at + retry_s):
                return key
        return None

    async def _take(self, key: SessionKey, idle_since: float, until: float) -> bool:
        values = (until, *key, idle_since)
        return await self._database.write(lambda rows: rows.one(_TAKE, values)) is not None

    def restored_write(
        self, key: SessionKey, *, turn: int, history_from: int | None, notes: Collection[str]
    ) -> Write:
        """The write of a rollback that undid the turns after `turn`; it removes `notes` too."""
        return self.change_write(
            key,
            lambda record: rules.without_notes(rules.restored(record, turn, history_from), notes),
        )

    def reset_write(self, key: SessionKey, *, turn: int) -> Write:
        """The write that excludes messages up to `turn` from the history."""
        return self.change_write(key, lambda record: rules.reset(record, turn))

    async def offloaded(
        self,
        key: SessionKey,
        *,
        at: datetime,
        notes: Sequence[str],
        through: ReadThrough | None = None,
    ) -> None:
        """Record that the history was offloaded up to a turn."""
        await self._change(key, lambda record: rules.offloaded(record, at, notes, through))

    def change_write(self, key: SessionKey, change: Change) -> Write:
        """Apply `change` to a session's record; does nothing without a record."""

        def write(rows: Rows) -> None:
            record = _read(rows, key, lock=True)
            if record is not None:
                rows.run(_REPLACE, _values(key, change(record)))

        return write

    async def delete(self, key: SessionKey, *, at: datetime, keep_notes: bool) -> None:
        """Delete the record except the ids of notes that outlive the session."""

        def work(rows: Rows) -> None:
            record = _read(rows, key, lock=True)
            left = rules.deleted(record, at, keep_notes=keep_notes) if record is not None else None
            if left is not None:
                rows.run(_REPLACE, _values(key, left))
            else:
                rows.run(f"DELETE FROM session_directory WHERE {_KEY}", key)  # noqa: S608 - a constant

        await self._database.write(work)
        await self._database.scrub()

    async def knows_app(self, app: str) -> bool:
        """Whether anything is stored for an app: a user's data, or a playbook."""
        row = await self._database.read(lambda rows: rows.one(_KNOWS_APP, (app, app)))
        return bool(row and row[0])

    async def apps(self) -> Sequence[str]:
        """The apps for which anything is stored, by name, at most 100."""
        return [app for (app,) in await self._database.read(lambda rows: rows.all(_APPS))]

    async def names(self, tenant: Tenant) -> Sequence[str]:
        """All sessions of a user with a record, readable or not."""
        records = await self._database.read(
            lambda rows: rows.all(
                "SELECT session FROM session_directory WHERE app = ? AND user_id = ?", tenant
            )
        )
        return [name for (name,) in records]

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the user's records (of one session); return how many."""
        erased: int = await self._database.write(
            lambda rows: rows.run(
                "DELETE FROM session_directory "
                "WHERE app = ? AND user_id = ? AND session = coalesce(?, session)",
                (*tenant, session),
            )
        )
        await self._database.scrub()
        return erased

    async def _change(self, key: SessionKey, change: Change) -> None:
        await self._database.write(self.change_write(key, change))


def end_record(rows: Rows, key: SessionKey, left: SessionRecord | None) -> int:
    """Delete a session's record, or replace it by the tombstone `left`; 1 if there was one.

    The tombstone of an earlier session of its id is left unchanged.
    """
    try:
        known = _read(rows, key, lock=True)
    except CorruptStoreError:
        known = None
    if known is not None and known.deleted_at is not None:
        return 0
    if left is not None:
        ensure_tenant(rows, key.tenant)
        return rows.run(_REPLACE, _values(key, left))
    return rows.run(f"DELETE FROM session_directory WHERE {_KEY}", key)  # noqa: S608 - a constant


def _open(rows: Rows, key: SessionKey, at: datetime) -> SessionRecord:
    known = _read(rows, key, lock=True)
    record = rules.opened(known, key.session, at=at)
    if known is None:
        ensure_tenant(rows, key.tenant)
        # A concurrent insert is a race, for which the transaction is retried.
        rows.run(_INSERT, _values(key, record))
    else:
        rows.run(_REPLACE, _values(key, record))
    return record


def _read(rows: Rows, key: SessionKey, *, lock: bool = False) -> SessionRecord | None:
    row = rows.one(
        f"SELECT {raw(rows, 'body')} FROM session_directory WHERE {_KEY}"  # noqa: S608 - constants
        + (rows.lock if lock else ""),
        key,
    )
    return None if row is None else _record(key.session, row[0])


def _values(key: SessionKey, record: SessionRecord) -> tuple[object, ...]:
    at = record.active_at.timestamp()
    return (*key, at, at if rules.must_be_offloaded(record) else None, encode(record))


def _page(rows: Rows, tenant: Tenant, *, limit: int, before: str | None) -> Sequence[SessionRecord]:
    """The first `limit` readable sessions; unreadable ones are logged.

    Reads on past unreadable rows, so that a page shorter than `limit` is always the last one.
    """
    statement = _PAGE.format(body=raw(rows, "body")) + (_BEFORE if before is not None else "")
    values = (*tenant, *((*tenant, before) if before is not None else ()))
    records: list[SessionRecord] = []
    passed, size = 0, limit
    while len(records) < limit:
        some: list[_Row] = rows.all(statement + _NEWEST_FIRST, (*values, size, passed))
        keyed = ((SessionKey(*tenant, session), body) for session, body in some)
        records += filter(None, (_readable(key, body) for key, body in keyed))
        if len(some) < size:
            break
        passed, size = passed + size, _MORE_ROWS
    return records[:limit]


def _record(session: str, body: str | bytes) -> SessionRecord:
    """The record of a row; raises a CorruptStoreError that names the session."""
    return decode(SessionRecord, body, what=f"record of session {session!r}")


def _readable(key: SessionKey, body: str | bytes) -> SessionRecord | None:
    try:
        return _record(key.session, body)
    except CorruptStoreError as error:
        logger.error("session_unreadable user=%r session=%r: %s", key.user, key.session, error)
        return None

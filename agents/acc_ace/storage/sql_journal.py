"""The journal in a SQL database: append-only rows, compare-and-swap on the version."""

from collections.abc import Sequence

from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.core.schemas.commit import JournalEntry
from acc_ace.errors import CorruptStoreError, NotFoundError
from acc_ace.storage.sql_database import AlreadyCommittedError, SqlUnitOfWork
from acc_ace.storage.sql_rows import Rows, decode, encode, page_size
from acc_ace.storage.tenant_rows import ensure_tenant
from acc_ace.turn.journal import check_expected_version, check_next_version
from acc_ace.unit_of_work import Database, Write

_NEWEST_VERSION = 2**31 - 1
_NEWEST_CHANGE = 2**62

_OF_SESSION = "FROM journal WHERE app = ? AND user_id = ? AND session = ?"
_HEAD = "FROM journal_heads WHERE app = ? AND user_id = ? AND session = ?"
_INSERT = """
    INSERT INTO journal (app, user_id, session, version, digest, body)
    VALUES (?, ?, ?, ?, ?, ?) RETURNING seq
"""
_REWRITE = """
    UPDATE journal SET digest = ?, body = ?
     WHERE app = ? AND user_id = ? AND session = ? AND version = ?
"""
_MOVE_HEAD = """
    INSERT INTO journal_heads (app, user_id, session, version, seq) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (app, user_id, session) DO UPDATE SET version = excluded.version, seq = excluded.seq
"""
_SESSIONS = """
    SELECT journal.session, journal.version, digest, body
      FROM journal_heads JOIN journal ON journal.seq = journal_heads.seq
     WHERE journal_heads.app = ? AND journal_heads.user_id = ? AND journal_heads.seq < ?
     ORDER BY journal_heads.seq DESC LIMIT ?
"""
_SESSIONS_OF_APP = """
    SELECT journal.user_id, journal.session, journal.version, digest, body
      FROM journal_heads JOIN journal ON journal.seq = journal_heads.seq
     WHERE journal_heads.app = ? ORDER BY journal_heads.seq DESC LIMIT ?
"""


class SqlJournal:
    """A Journal in a database. Every read checks the state against its digest."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def head(self, key: SessionKey) -> JournalEntry | None:
        """The newest entry, or None before the first commit."""
        entries = await self.history(key, limit=1)
        return entries[0] if entries else None

    async def append(self, key: SessionKey, entry: JournalEntry, *, expected_version: int) -> None:
        """Append in one transaction; ConflictError unless the newest version is the expected."""
        write = self.append_write(key, entry, expected_version=expected_version)
        await SqlUnitOfWork(self.database, write).commit()

    def append_write(self, key: SessionKey, entry: JournalEntry, *, expected_version: int) -> Write:
        """`append` as the first part of a unit of work.

        In a retried transaction it raises AlreadyCommittedError if an earlier run was committed
        and only its acknowledgement was lost.
        """
        check_next_version(key, entry, expected_version)
        version, digest, body = entry.state.version, entry.state.digest, encode(entry)
        runs = 0

        def write(rows: Rows) -> None:
            nonlocal runs
            runs += 1
            if runs > 1 and _body_of(rows, key, version) == body:
                raise AlreadyCommittedError
            newest = _newest_version(rows, key)
            check_expected_version(
                key, newest, expected_version, last_entry=lambda: _last_entry(rows, key)
            )
            ensure_tenant(rows, key.tenant)
            # The unique constraint rejects a second first entry; there is no row to lock yet.
            row = rows.one(_INSERT, (*key, version, digest, body))
            rows.run(_MOVE_HEAD, (*key, version, row[0] if row else None))

        return write

    def rewrite_write(self, key: SessionKey, entries: Sequence[JournalEntry]) -> Write:
        """Replace entries by their version: what was erased stands in no version any more."""
        changed = [(each.state.digest, encode(each), *key, each.state.version) for each in entries]

        def write(rows: Rows) -> None:
            rows.many(_REWRITE, changed)

        return write

    async def get(self, key: SessionKey, version: int) -> JournalEntry | None:
        """The entry of a version, or None."""
        entries = await self.history(key, limit=1, before_version=version + 1)
        return entries[0] if entries and entries[0].state.version == version else None

    async def history(
        self, key: SessionKey, *, limit: int = 50, before_version: int | None = None
    ) -> Sequence[JournalEntry]:
        """A page of entries, newest first, at most `limit`."""
        before = _NEWEST_VERSION if before_version is None else before_version
        records = await self.database.read(
            lambda rows: rows.all(
                f"SELECT version, digest, body {_OF_SESSION} AND version < ? "
                "ORDER BY version DESC LIMIT ?",
                (*key, min(before, _NEWEST_VERSION), page_size(limit)),
            )
        )
        return [_entry(key.session, *row) for row in records]

    async def sessions(
        self, tenant: Tenant, *, limit: int = 50, before: str | None = None
    ) -> Sequence[tuple[str, JournalEntry]]:
        """A page of (session, newest entry), most recently changed first."""

        def work(rows: Rows) -> list[tuple[str, int, str, str]]:
            changed = _NEWEST_CHANGE if before is None else _last_change(rows, tenant, before)
            return rows.all(_SESSIONS, (*tenant, changed, page_size(limit)))

        return [(row[0], _entry(*row)) for row in await self.database.read(work)]

    async def sessions_of_app(
        self, app: str, *, limit: int = 50
    ) -> Sequence[tuple[SessionKey, JournalEntry]]:
        """The most recently changed sessions of all users of an app, the latest first."""
        records = await self.database.read(
            lambda rows: rows.all(_SESSIONS_OF_APP, (app, page_size(limit)))
        )
        return [(SessionKey(app, user, row[0]), _entry(*row)) for user, *row in records]

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the tenant's entries (of one session); return how many."""
        erased = await self.database.write(lambda rows: erase_journal(rows, tenant, session))
        await self.database.scrub()
        return erased


def erase_journal(rows: Rows, tenant: Tenant, session: str | None = None) -> int:
    """Delete the tenant's entries (of one session); return how many."""
    return rows.run(
        "DELETE FROM journal WHERE app = ? AND user_id = ? AND session = coalesce(?, session)",
        (*tenant, session),
    )


def _last_entry(rows: Rows, key: SessionKey) -> int:
    """The version of the last entry, independent of the head; 0 without entries."""
    row = rows.one(f"SELECT max(version) {_OF_SESSION}", key)
    return int(row[0] or 0) if row else 0


def _newest_version(rows: Rows, key: SessionKey) -> int:
    """The newest version, row locked against concurrent appends."""
    row = rows.one(f"SELECT version {_HEAD}{rows.lock}", key)
    return int(row[0]) if row else 0


def _body_of(rows: Rows, key: SessionKey, version: int) -> str | None:
    row = rows.one(f"SELECT body {_OF_SESSION} AND version = ?", (*key, version))
    return row[0] if row else None


def _last_change(rows: Rows, tenant: Tenant, session: str) -> int:
    row = rows.one(f"SELECT seq {_HEAD}", (*tenant, session))
    if row is None:
        raise NotFoundError(f"no session {session!r} to page from")
    return int(row[0])


def _entry(session: str, version: int, digest: str, body: str) -> JournalEntry:
    """The entry of a row; raises CorruptStoreError when it does not match its digest."""
    what = f"journal of session {session!r}, version {version}"
    entry = decode(JournalEntry, body, what=what)
    if entry.state.digest != digest or entry.state.version != version:
        raise CorruptStoreError(
            f"{what}: the state does not match its digest, it was altered; restore the database "
            "from a copy, or roll back to an earlier version"
        )
    return entry

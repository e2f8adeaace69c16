"""Delete sessions and users from a SQL database, each in one transaction, then their files."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Final, Protocol

from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.schemas.base import SessionKey, Tenant
from acc_ace.core.schemas.session import SessionRecord
from acc_ace.errors import ConflictError
from acc_ace.storage.playbooks.sql_playbook import SqlPlaybookStore
from acc_ace.storage.sql_artifacts import SqlArtifactStore
from acc_ace.storage.sql_directory import end_record
from acc_ace.storage.sql_rows import Rows
from acc_ace.storage.sql_spending import forget_session
from acc_ace.storage.tenant_rows import find_tenant, tenant_number
from acc_ace.unit_of_work import Database, Write

_TABLES: Final = {
    "sessions": "adk_sessions",
    "directory": "session_directory",
    "journal": "journal",
    "evidence": "interactions",
    "tool_starts": "tool_starts",
    "requests": "turn_traces",
}
"""Tables with rows per session or turn, by their name in the report."""

_SESSIONS = """
    SELECT session FROM session_directory WHERE app = ? AND user_id = ?
    UNION SELECT session FROM adk_sessions WHERE app = ? AND user_id = ?
    UNION SELECT session FROM journal_heads WHERE app = ? AND user_id = ?
"""
_APPS = """
    SELECT app FROM tenants WHERE user_id = ?
    UNION SELECT playbooks.app FROM playbook_deltas
            JOIN playbooks ON playbooks.id = playbook_deltas.playbook
           WHERE playbook_deltas.user_id = ?
"""


class Files(Protocol):
    """Files of users outside of the database."""

    async def apps(self, user: str) -> set[str]:
        """The apps in which a user has files."""
        ...

    async def erase(self, tenant: Tenant, session: str | None = None) -> int:
        """Delete the user's files (of one session); return how many."""
        ...


class SqlErasure:
    """A UserErasure over the stores of one database."""

    def __init__(
        self,
        database: Database,
        artifacts: SqlArtifactStore[Any],
        playbooks: SqlPlaybookStore,
        *,
        files: Mapping[str, Files],
        wipe: Callable[[], Awaitable[object]],
    ) -> None:
        """`files` by their name in the report; `wipe` fails while erased bytes are left."""
        self._database, self._files, self._wipe = database, files, wipe
        self._artifacts, self._playbooks = artifacts, playbooks

    async def apps(self, user: str) -> set[str]:
        """The apps with rows or files of a user."""
        rows = await self._database.read(lambda rows: rows.all(_APPS, (user, user)))
        names = {app for (app,) in rows}
        for files in self._files.values():
            names |= await files.apps(user)
        return names

    async def sessions(self, tenant: Tenant) -> Collection[str]:
        """All sessions of a user found in any table."""
        return await self._database.read(lambda rows: _sessions(rows, tenant))

    async def erase(self, tenant: Tenant, *, locked: Collection[str]) -> dict[str, int] | None:
        """Delete the user's row, which cascades to all of their rows, then files."""

        def work(rows: Rows) -> dict[str, int] | None:
            rows.disable_timeout()
            # The row lock prevents new sessions until the end of this transaction.
            rows.all(f"SELECT id FROM tenants WHERE app = ? AND user_id = ?{rows.lock}", tenant)  # noqa: S608 - a constant
            if not _sessions(rows, tenant) <= set(locked):
                return None
            erased = {name: _count(rows, table, tenant) for name, table in _TABLES.items()}
            erased["model_uses"] = _count(rows, "model_uses", tenant)
            erased["rules"] = _count(rows, "user_rules", tenant)
            erased["ccm_records"] = _count(rows, "ccm_records", tenant)
            erased["artifacts"] = self._artifacts.erase_rows(rows, tenant)
            erased["playbook"] = self._playbooks.erase_rows(rows, tenant)
            rows.run("DELETE FROM tenants WHERE app = ? AND user_id = ?", tenant)
            return erased

        erased = await self._database.write(work)
        if erased is None:
            return None
        for name, files in self._files.items():
            erased[name] = await files.erase(tenant)
        await self._playbooks.erased_shared(tenant.app)
        await self._wipe()
        return erased

    async def delete_sessions(
        self,
        keys: Collection[SessionKey],
        *,
        left: SessionRecord | None = None,
        notes: Sequence[Artifact] = (),
    ) -> dict[str, int]:
        """Delete sessions in one transaction, then their files."""
        stored = self._artifacts.add_write(notes) if notes else None

        def work(rows: Rows) -> dict[str, int]:
            deleted: dict[str, int] = {}
            for key in sorted(keys):
                _add(deleted, self._delete(rows, key))
                _add(deleted, {"directory": end_record(rows, key, left)})
            if stored is not None:
                stored(rows)
            return deleted

        deleted = await self._database.write(work)
        await self._database.scrub()
        for key in keys:
            for name, files in self._files.items():
                _add(deleted, {name: await files.erase(key.tenant, key.session)})
        return deleted

    async def presence(self, tenant: Tenant) -> Write:
        """Make a write that checks the user's number, which changes with an erasure."""
        started = await self._database.write(lambda rows: tenant_number(rows, tenant))

        def write(rows: Rows) -> None:
            if find_tenant(rows, tenant) != started:
                raise ConflictError(
                    f"user '{tenant.user}' was erased meanwhile, and nothing of this was saved; "
                    "send it again to start over"
                )

        return write

    def _delete(self, rows: Rows, key: SessionKey) -> dict[str, int]:
        """Delete all rows of a session except its record."""
        deleted = {
            name: rows.run(
                f"DELETE FROM {table} WHERE app = ? AND user_id = ? AND session = ?",  # noqa: S608 - our names
                key,
            )
            for name, table in _TABLES.items()
            if name != "directory"
        }
        deleted["model_uses"] = forget_session(rows, key)
        deleted["artifacts"] = self._artifacts.erase_rows(rows, key.tenant, key.session)
        return deleted


def _sessions(rows: Rows, tenant: Tenant) -> set[str]:
    return {session for (session,) in rows.all(_SESSIONS, (*tenant, *tenant, *tenant))}


def _count(rows: Rows, table: str, tenant: Tenant) -> int:
    records = rows.all(
        f"SELECT count(*) FROM {table} WHERE app = ? AND user_id = ?",  # noqa: S608 - our names
        tenant,
    )
    return int(records[0][0])


def _add(counts: dict[str, int], more: dict[str, int]) -> None:
    for name, count in more.items():
        counts[name] = counts.get(name, 0) + count

"""How well each CCM has read rules, by user, in a SQL database."""

from collections.abc import Sequence

from acc_ace.core.schemas.base import Tenant
from acc_ace.storage.sql_rows import Rows
from acc_ace.storage.tenant_rows import ensure_tenant
from acc_ace.turn.ports import Ccm, CcmMarks
from acc_ace.unit_of_work import Database, Write

_FIELDS = "SELECT user_id, model, endpoint, marks FROM ccm_records WHERE app = ?"
_OWN = f"{_FIELDS} AND user_id = ? ORDER BY model, endpoint"
_OTHERS = f"{_FIELDS} AND user_id <> ? LIMIT ?"
_ONE = "SELECT marks FROM ccm_records WHERE app = ? AND user_id = ? AND model = ? AND endpoint = ?"
_NAME = """
    UPDATE ccm_records SET endpoint = ? WHERE app = ? AND user_id = ? AND model = ?
       AND endpoint = '' AND NOT EXISTS (
           SELECT 1 FROM ccm_records
            WHERE app = ? AND user_id = ? AND model = ? AND endpoint = ?
       )
"""
"""Gives what was counted before endpoints were told apart to the first one that adds to it."""

_PUT = """
    INSERT INTO ccm_records (app, user_id, model, endpoint, marks) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (app, user_id, model, endpoint) DO UPDATE SET marks = excluded.marks
"""
_MOST_MARKS = 80
_MOST_OTHERS = 200


class SqlCcmRecords:
    """A CcmRecords store in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_app(self, tenant: Tenant) -> Sequence[CcmMarks]:
        """The newest marks of each CCM with this user, and with some others of the app."""
        return await self._database.read(lambda rows: marks_in(rows, tenant))

    async def of_user(self, tenant: Tenant) -> Sequence[CcmMarks]:
        """The same of this user alone."""
        return _records(await self._database.read(lambda rows: rows.all(_OWN, tenant)))

    def add_write(self, tenant: Tenant, ccm: Ccm, marks: str) -> Write:
        """Append marks as a part of a unit of work; the oldest beyond the bound go."""

        def write(rows: Rows) -> None:
            ensure_tenant(rows, tenant)
            if ccm.endpoint:
                rows.run(_NAME, (ccm.endpoint, *tenant, ccm.model, *tenant, *ccm))
            own = rows.one(_ONE + rows.lock, (*tenant, *ccm))
            newest = f"{own[0] if own else ''}{marks}"[-_MOST_MARKS:]
            rows.run(_PUT, (*tenant, *ccm, newest))

        return write


def marks_in(rows: Rows, tenant: Tenant) -> Sequence[CcmMarks]:
    """The marks of a user, and of at most so many others of the app."""
    others = rows.all(_OTHERS, (*tenant, _MOST_OTHERS))
    return _records([*rows.all(_OWN, tenant), *others])


def _records(rows: Sequence[tuple[str, str, str, str]]) -> list[CcmMarks]:
    return [CcmMarks(user, Ccm(model, endpoint), marks) for user, model, endpoint, marks in rows]

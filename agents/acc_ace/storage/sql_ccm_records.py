"""How well each CCM has read rules, by user, in a SQL database."""

from collections.abc import Sequence

from acc_ace.core.schemas.base import Tenant
from acc_ace.storage.sql_rows import Rows
from acc_ace.storage.tenant_rows import ensure_tenant
from acc_ace.unit_of_work import Database

_SELECT = "SELECT marks FROM ccm_records WHERE app = ? AND user_id = ? AND model = ?"
_OTHERS = "SELECT marks FROM ccm_records WHERE app = ? AND user_id <> ? AND model = ? LIMIT ?"
_ALL = "SELECT model, marks FROM ccm_records WHERE app = ? AND user_id = ? ORDER BY model"
_PUT = """
    INSERT INTO ccm_records (app, user_id, model, marks) VALUES (?, ?, ?, ?)
    ON CONFLICT (app, user_id, model) DO UPDATE SET marks = excluded.marks
"""
_MOST_MARKS = 80
_MOST_USERS = 200


class SqlCcmRecords:
    """A CcmRecords store in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def marks(self, tenant: Tenant, model: str) -> tuple[str, Sequence[str]]:
        """The newest marks of a model with this user, and with other users of the app."""

        def read(rows: Rows) -> tuple[str, Sequence[str]]:
            own = rows.one(_SELECT, (*tenant, model))
            others = rows.all(_OTHERS, (*tenant, model, _MOST_USERS))
            return str(own[0]) if own else "", [str(marks) for (marks,) in others]

        return await self._database.read(read)

    async def of_user(self, tenant: Tenant) -> Sequence[tuple[str, str]]:
        """The models that a user's messages were read by, each with its newest marks."""
        rows = await self._database.read(lambda rows: rows.all(_ALL, tenant))
        return [(str(model), str(marks)) for model, marks in rows]

    async def add(self, tenant: Tenant, model: str, marks: str) -> None:
        """Append marks; the oldest beyond the bound go."""

        def write(rows: Rows) -> None:
            ensure_tenant(rows, tenant)
            own = rows.one(_SELECT, (*tenant, model))
            newest = f"{own[0] if own else ''}{marks}"[-_MOST_MARKS:]
            rows.run(_PUT, (*tenant, model, newest))

        await self._database.write(write)

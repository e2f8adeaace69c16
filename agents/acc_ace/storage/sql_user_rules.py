"""Rules that hold in every session of a user, in a SQL database."""

from collections.abc import Sequence

from acc_ace.schemas.base import Tenant
from acc_ace.schemas.commit import ConstraintPin
from acc_ace.storage.sql_database import Database
from acc_ace.storage.sql_rows import Rows, decode, encode
from acc_ace.storage.tenant_rows import ensure_tenant
from acc_ace.unit_of_work import Write

_INSERT = "INSERT INTO user_rules (app, user_id, rule_id, body) VALUES (?, ?, ?, ?)"
_SELECT = "SELECT body FROM user_rules WHERE app = ? AND user_id = ? ORDER BY rule_id"
_DELETE = "DELETE FROM user_rules WHERE app = ? AND user_id = ? AND rule_id = ?"


class SqlUserRules:
    """A UserRules store in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self, tenant: Tenant) -> Sequence[ConstraintPin]:
        """The user's rules, oldest first."""
        found = await self._database.read(lambda rows: rows.all(_SELECT, tenant))
        return [decode(ConstraintPin, body, what="a rule of a user") for (body,) in found]

    def change_write(
        self, tenant: Tenant, *, added: Sequence[ConstraintPin], removed: Sequence[str]
    ) -> Write:
        """Add and remove rules as a part of a unit of work."""

        def write(rows: Rows) -> None:
            ensure_tenant(rows, tenant)
            for rule_id in removed:
                rows.run(_DELETE, (*tenant, rule_id))
            for pin in added:
                rows.run(_INSERT, (*tenant, pin.id, encode(pin)))

        return write

"""User-wide rules in a SQL database."""

from collections.abc import Sequence

from acc_ace.core.schemas.base import Tenant
from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.errors import ConflictError
from acc_ace.storage.sql_rows import Rows, decode, encode
from acc_ace.storage.tenant_rows import ensure_tenant
from acc_ace.unit_of_work import Database, Write

_INSERT = """
    INSERT INTO user_rules (app, user_id, rule_id, body) VALUES (?, ?, ?, ?)
    ON CONFLICT (app, user_id, rule_id) DO UPDATE SET body = excluded.body
    WHERE user_rules.body IN ('', excluded.body) RETURNING rule_id
"""
_SELECT = """
    SELECT body FROM user_rules WHERE app = ? AND user_id = ?
    ORDER BY length(rule_id), rule_id
"""
_LIFT = "UPDATE user_rules SET body = '' WHERE app = ? AND user_id = ? AND rule_id = ?"


class SqlUserRules:
    """A UserRules store in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_user(self, tenant: Tenant) -> tuple[Sequence[ConstraintPin], int]:
        """The user's rules, oldest first, and the number of the next; a lifted one keeps its."""
        records = await self._database.read(lambda rows: rows.all(_SELECT, tenant))
        bodies = [body for (body,) in records if body]
        rules = [decode(ConstraintPin, body, what="a rule of a user") for body in bodies]
        return rules, len(records) + 1

    def change_write(
        self, tenant: Tenant, *, added: Sequence[ConstraintPin], removed: Sequence[str]
    ) -> Write:
        """Add and remove rules as a part of a unit of work; a removed one may be added again.

        The write raises ConflictError when another session used the same id meanwhile.
        """

        def write(rows: Rows) -> None:
            ensure_tenant(rows, tenant)
            for rule_id in removed:
                rows.run(_LIFT, (*tenant, rule_id))
            for pin in added:
                if rows.one(_INSERT, (*tenant, pin.id, encode(pin))) is None:
                    raise ConflictError(
                        f"another session of user '{tenant.user}' made a rule at the same time; "
                        "send it again"
                    )

        return write

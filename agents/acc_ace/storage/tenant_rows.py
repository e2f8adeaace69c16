"""The rows of users, on which all that is theirs hangs."""

from typing import Any

from acc_ace.errors import StoreError
from acc_ace.schemas.base import Tenant
from acc_ace.storage.sql_rows import Rows


def ensure_tenant(rows: Rows, tenant: Tenant) -> None:
    """Make the user's row if there is none. Each write of something of theirs begins so."""
    rows.run(
        "INSERT INTO tenants (app, user_id) VALUES (?, ?) ON CONFLICT (app, user_id) DO NOTHING",
        tenant,
    )


def tenant_number(rows: Rows, tenant: Tenant) -> int:
    """The user's number, given if it is new."""
    ensure_tenant(rows, tenant)
    row = rows.one("SELECT id FROM tenants WHERE app = ? AND user_id = ?", tenant)
    return _number(row, tenant)


def locked_tenant(rows: Rows, tenant: Tenant) -> int:
    """The user's number, given if it is new; nobody else counts or erases until the end.

    One statement, which waits for whoever erases the user and then makes the row anew. It changes
    no key, so that it waits for nobody who only refers to the row.
    """
    row = rows.one(
        "INSERT INTO tenants (app, user_id) VALUES (?, ?) "
        "ON CONFLICT (app, user_id) DO UPDATE SET documents = tenants.documents RETURNING id",
        tenant,
    )
    return _number(row, tenant)


def find_tenant(rows: Rows, tenant: Tenant) -> int | None:
    """The user's number, locked as `locked_tenant` does; None for one of whom nothing is kept."""
    row = rows.one(
        "UPDATE tenants SET documents = documents WHERE app = ? AND user_id = ? RETURNING id",
        tenant,
    )
    return int(row[0]) if row else None


def _number(row: tuple[Any, ...] | None, tenant: Tenant) -> int:
    if row is None:
        raise StoreError(f"the user {tenant.user!r} of {tenant.app!r} cannot be stored; try again")
    return int(row[0])

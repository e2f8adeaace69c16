"""Where a database could still name an erased user: any table, any column of text.

The tables are read from the schema itself, so that one added later is looked into as well. A row
is the user's when its columns say so, or when a text in it names the user as JSON does.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from schemas.tenancy import Tenant

TENANTS = "tenants"
"""The table that gives users numbers."""

USER_COLUMNS = ("user", "user_id", "user_name")
APP_COLUMNS = ("app", "app_name")


class Parent(NamedTuple):
    """A foreign key."""

    column: str
    table: str
    references: str


@dataclass(frozen=True)
class Table:
    """A table as the schema describes it."""

    name: str
    columns: frozenset[str]
    texts: tuple[str, ...]
    parents: tuple[Parent, ...] = ()


class Place(NamedTuple):
    """A table and the condition that finds a user's rows in it."""

    table: str
    condition: str


class Dialect(NamedTuple):
    """How a database writes a named value, and that one text is in another."""

    value: Callable[[str], str]
    contains: Callable[[str, str], str]


def places(tables: Mapping[str, Table], tenant: Tenant, dialect: Dialect) -> Iterator[Place]:
    """Every table that could name a user."""
    marks = [dialect.value(name) for name in values(tenant) if name not in {"app", "user"}]
    for table in tables.values():
        conditions = (
            _by_columns(table, dialect),
            _by_tenant(table, tables, dialect),
            _by_texts(table, tables, marks, dialect),
        )
        if any(conditions):
            yield Place(table.name, " OR ".join(filter(None, conditions)))


def values(tenant: Tenant) -> dict[str, str]:
    """The values that the conditions name."""
    named = {f"mention{at}": text for at, text in enumerate(mentions(tenant))}
    return {"app": tenant.app, "user": tenant.user, **named}


def mentions(tenant: Tenant) -> list[str]:
    """How JSON names the user, with and without blanks, and with and without escapes."""
    users = {json.dumps(tenant.user, ensure_ascii=escaped) for escaped in (False, True)}
    apps = {json.dumps(tenant.app, ensure_ascii=escaped) for escaped in (False, True)}
    found = {
        mention
        for gap in ("", " ")
        for user in users
        for mention in (
            *(f'"{key}":{gap}{user}' for key in USER_COLUMNS),
            *(f'"tenant":{gap}[{app},{gap}{user}]' for app in apps),
        )
    }
    return sorted(found)


def _by_columns(table: Table, dialect: Dialect) -> str:
    user = next((name for name in USER_COLUMNS if name in table.columns), None)
    if user is None:
        return ""
    own_app = _own_app(table, dialect)
    return f'("{user}" = {dialect.value("user")}{f" AND {own_app}" if own_app else ""})'


def _by_tenant(table: Table, tables: Mapping[str, Table], dialect: Dialect) -> str:
    """Rows of the tenant's number, and of numbers that are nobody's: vectors have no other name."""
    of_user = _by_columns(tables[TENANTS], dialect) if TENANTS in tables else ""
    if "tenant" not in table.columns or not of_user:
        return ""
    ours = f'SELECT id FROM "{TENANTS}" WHERE {of_user}'  # noqa: S608 - a constant and placeholders
    everybody = f'SELECT id FROM "{TENANTS}"'  # noqa: S608 - a constant
    return f'("tenant" IN ({ours}) OR "tenant" NOT IN ({everybody}))'


def _by_texts(
    table: Table, tables: Mapping[str, Table], marks: Sequence[str], dialect: Dialect
) -> str:
    named = {*USER_COLUMNS, *APP_COLUMNS}
    found = [
        dialect.contains(f'"{column}"', mark)
        for column in table.texts
        if column not in named
        for mark in marks
    ]
    if not found:
        return ""
    app = _own_app(table, dialect) or _parents_app(table, tables, dialect)
    return f"(({' OR '.join(found)}){f' AND {app}' if app else ''})"


def _own_app(table: Table, dialect: Dialect) -> str:
    app = next((name for name in APP_COLUMNS if name in table.columns), None)
    return f'"{app}" = {dialect.value("app")}' if app else ""


def _parents_app(table: Table, tables: Mapping[str, Table], dialect: Dialect) -> str:
    """The app of a row that has none of its own, by the row that it belongs to."""
    for parent in table.parents:
        known = tables.get(parent.table)
        app = _own_app(known, dialect) if known else ""
        if app:
            of_app = f'SELECT "{parent.references}" FROM "{parent.table}" WHERE {app}'  # noqa: S608 - names of the schema
            return f'"{parent.column}" IN ({of_app})'
    return ""

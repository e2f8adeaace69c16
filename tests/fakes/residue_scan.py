"""Where a database could still name an erased user: any table, any column of text.

The tables are read from the schema itself, so that one added later is looked into as well. A row
is the user's when its columns say so. Where they do not say whose a row is, it is also the user's
when a text in it names the user as JSON does: what is known to be somebody else's may speak of
anybody, in the arguments of a tool for example.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from acc_ace.core.schemas.base import Tenant

TENANTS = "tenants"
"""The table that gives users numbers."""

ARTIFACTS = "adk_artifacts"
"""The directory of users' own files. What they say is not searched; their place says whose."""

HISTORY = "history"
"""The directory of the lines that users typed, whose files tell by their names whose they are."""

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
    cascades: frozenset[str] = frozenset()
    """Tables whose rows take those of this one with them."""


class Dialect(NamedTuple):
    """How a database writes a named value, and that one text is in another."""

    value: Callable[[str], str]
    contains: Callable[[str, str], str]


class Place(NamedTuple):
    """A table and the condition that finds a user's rows in it."""

    table: str
    condition: str


def places(tables: Mapping[str, Table], tenant: Tenant, dialect: Dialect) -> Iterator[Place]:
    """Every table that could name a user."""
    marks = [dialect.value(name) for name in values(tenant) if name not in {"app", "user"}]
    for table in tables.values():
        conditions = (
            _by_columns(table, tables, dialect),
            _by_tenant(table, tables, dialect),
            _by_texts(table, tables, marks, dialect),
        )
        if any(conditions):
            yield Place(table.name, " OR ".join(filter(None, conditions)))


def values(tenant: Tenant) -> dict[str, str]:
    """The values that the conditions name."""
    named = {f"mention{at}": text for at, text in enumerate(mentions(tenant))}
    return {"app": tenant.app, "user": tenant.user, **named}


def app_queries(tables: Mapping[str, Table], user: str, dialect: Dialect) -> Iterator[str]:
    """Queries that tell the apps of a user's rows, for every table that says of which app."""
    marks = [dialect.value(name) for name in user_values(user) if name != "user"]
    for table in tables.values():
        named = _names_user(table, marks, dialect)
        app = _app_column(table)
        if app and named:
            yield f'SELECT DISTINCT "{app}" FROM "{table.name}" WHERE {named}'  # noqa: S608 - names of the schema
        elif named:
            yield from _apps_of_parents(table, tables, named)


def user_values(user: str) -> dict[str, str]:
    """The values that `app_queries` name."""
    return {"user": user, **{f"mention{at}": text for at, text in enumerate(_fields(user))}}


def mentions(tenant: Tenant) -> list[str]:
    """How JSON names the user, with and without blanks, and with and without escapes."""
    apps = _spellings(tenant.app)
    pairs = {
        f'"tenant":{gap}[{app},{gap}{user}]'
        for gap in ("", " ")
        for user in _spellings(tenant.user)
        for app in apps
    }
    return sorted(pairs.union(_fields(tenant.user)))


def _fields(user: str) -> list[str]:
    """A JSON field that holds the user's name, however it was written."""
    return sorted(
        f'"{key}":{gap}{name}'
        for gap in ("", " ")
        for name in _spellings(user)
        for key in USER_COLUMNS
    )


def _spellings(name: str) -> set[str]:
    return {json.dumps(name, ensure_ascii=escaped) for escaped in (False, True)}


def _names_user(table: Table, marks: Sequence[str], dialect: Dialect) -> str:
    """That a row is of the user; rows that name users by number are found by the table of those."""
    user = _user_column(table)
    if user is not None:
        return f'"{user}" = {dialect.value("user")}'
    if "tenant" in table.columns:
        return ""
    texts = [name for name in table.texts if name not in APP_COLUMNS]
    return " OR ".join(dialect.contains(f'"{text}"', mark) for text in texts for mark in marks)


def _apps_of_parents(table: Table, tables: Mapping[str, Table], named: str) -> Iterator[str]:
    for parent in table.parents:
        known = tables.get(parent.table)
        app = _app_column(known) if known else None
        if app:
            rows = f'SELECT "{parent.column}" FROM "{table.name}" WHERE {named}'  # noqa: S608 - names of the schema
            yield f'SELECT DISTINCT "{app}" FROM "{parent.table}" WHERE "{parent.references}" IN ({rows})'  # noqa: E501, S608 - names of the schema


def _by_columns(table: Table, tables: Mapping[str, Table], dialect: Dialect) -> str:
    user = _user_column(table)
    if user is None:
        return ""
    app = _own_app(table, dialect) or _parents_app(table, tables, dialect)
    return f'("{user}" = {dialect.value("user")}{f" AND {app}" if app else ""})'


def _by_tenant(table: Table, tables: Mapping[str, Table], dialect: Dialect) -> str:
    """Rows of the tenant's number, and of numbers that are nobody's: vectors have no other name."""
    of_user = _by_columns(tables[TENANTS], tables, dialect) if TENANTS in tables else ""
    if "tenant" not in table.columns or not of_user:
        return ""
    ours = f'SELECT id FROM "{TENANTS}" WHERE {of_user}'  # noqa: S608 - a constant and placeholders
    everybody = f'SELECT id FROM "{TENANTS}"'  # noqa: S608 - a constant
    return f'("tenant" IN ({ours}) OR ("tenant" IS NOT NULL AND "tenant" NOT IN ({everybody})))'


def _by_texts(
    table: Table, tables: Mapping[str, Table], marks: Sequence[str], dialect: Dialect
) -> str:
    """Texts that name the user, in rows whose columns do not say whose they are."""
    named = {*USER_COLUMNS, *APP_COLUMNS}
    found = [
        dialect.contains(f'"{column}"', mark)
        for column in table.texts
        if column not in named
        for mark in marks
    ]
    if not found or "tenant" in table.columns:
        return ""
    app = _own_app(table, dialect) or _parents_app(table, tables, dialect)
    conditions = [f"({' OR '.join(found)})", app, _nobodys(table)]
    return f"({' AND '.join(filter(None, conditions))})"


def _nobodys(table: Table) -> str:
    """That a row is of no user, where users of an app have rows as well.

    An author without an app owns nothing: the body of a shared playbook's delta names those whom
    its bullet was learnt from.
    """
    user = _user_column(table)
    owned = user is not None and _app_column(table) is not None
    return f"coalesce(\"{user}\", '') = ''" if owned else ""


def _user_column(table: Table) -> str | None:
    return next((name for name in USER_COLUMNS if name in table.columns), None)


def _app_column(table: Table) -> str | None:
    return next((name for name in APP_COLUMNS if name in table.columns), None)


def _own_app(table: Table, dialect: Dialect) -> str:
    app = _app_column(table)
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

"""Every row of a user or of an app as a record that either database can read, and back.

Numbers that a database gives out stay behind: the order of the records stands for them, and the
name of a session or a branch for that of its row. What is computed from other rows is computed
again: the newest entries of journals, totals, search terms, vectors.
"""

import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from acc_ace.core.schemas.base import PlaybookScope, Tenant
from acc_ace.errors import InputError
from acc_ace.storage.sql_artifacts import SqlArtifactStore
from acc_ace.storage.sql_rows import Rows
from acc_ace.storage.tenant_rows import tenant_number

Record = dict[str, Any]
"""`kind`, `row`: columns by name, and `value`: the JSON that the row holds, where it does."""


class Table(NamedTuple):
    """A table whose rows are a user's or an app's."""

    name: str
    kind: str
    """Of its records."""
    order: str
    """Its columns of order; a number given out by the database stands alone."""
    parent: str = ""
    """The table of the rows that its rows belong to."""


TABLES: Final = (
    Table("adk_app_state", "app_state", "key"),
    Table("adk_user_state", "user_state", "key"),
    Table("user_rules", "rule", "rule_id"),
    Table("ccm_records", "compressor", "model, endpoint"),
    Table("spending", "spending", "day, session"),
    Table("session_directory", "session", "session"),
    Table("journal", "state", "seq"),
    Table("interactions", "turn", "seq"),
    Table("turn_traces", "requests", "seq"),
    Table("tool_starts", "tool_start", "session, call_id"),
    Table("model_uses", "model_use", "run, stage, model"),
    Table("adk_sessions", "adk_session", "id"),
    Table("adk_session_state", "session_state", "key", "adk_sessions"),
    Table("adk_events", "event", "seq", "adk_sessions"),
    Table("adk_open_calls", "open_call", "seq", "adk_sessions"),
    Table("playbooks", "playbook", "id"),
    Table("playbook_bullets", "bullet", "position", "playbooks"),
    Table("playbook_deltas", "delta", "version, seq", "playbooks"),
    Table("playbook_versions", "playbook_version", "version", "playbooks"),
    Table("playbook_snapshots", "playbook_snapshot", "version", "playbooks"),
    Table("playbook_commits", "playbook_commit", "commit_id", "playbooks"),
    Table("artifacts", "artifact", "id", "tenants"),
)
"""In the order in which rows can be written."""

_LINKS: Final = {
    "adk_sessions": ("session_id", "session"),
    "playbooks": ("playbook", "branch"),
    "tenants": ("tenant", ""),
}
"""By parent: the column with its number, and its column that names it to people."""

_OWNERS: Final = ("app", "user_id", "shared")
_OWNED_BY: Final = {"adk_app_state": 1, "playbooks": 3}
"""How many of _OWNERS a table has, if not two."""

_FLAGS: Final = {"retired", "standing"}
_NUMBERS: Final = {"id", "seq"}
_ARTIFACT: Final = ["retired", "body"]
_BATCH: Final = 200
"""Artifacts written at a time."""

_HEADS = """
    INSERT INTO journal_heads (app, user_id, session, version, seq)
    SELECT app, user_id, session, version, seq FROM journal AS entry
     WHERE app = ? AND user_id = ? AND version = (SELECT max(version) FROM journal
           WHERE app = entry.app AND user_id = entry.user_id AND session = entry.session)
"""
_TOTALS = """
    UPDATE tenants SET
           documents = (SELECT count(*) FROM artifacts WHERE tenant = tenants.id AND NOT retired),
           terms = (SELECT coalesce(sum(length), 0) FROM artifacts
                     WHERE tenant = tenants.id AND NOT retired)
     WHERE app = ? AND user_id = ?
"""
_SCOPES = """
    SELECT app, NULL FROM playbooks WHERE shared UNION SELECT app, NULL FROM adk_app_state
     UNION SELECT app, user_id FROM tenants
"""


def scopes_of(rows: Rows) -> list[PlaybookScope]:
    """Every app that shares something, before its users, and every user."""
    scopes = [PlaybookScope(*row) for row in rows.all(_SCOPES)]
    return sorted(scopes, key=lambda scope: (scope.app, scope.user or ""))


def read_rows(rows: Rows, scope: PlaybookScope) -> Iterator[Record]:
    """The rows of a user, or those that an app's users share; few are in memory."""
    for table in _tables(scope):
        columns = _columns(rows, table)
        link, name = _LINKS.get(table.parent, ("", ""))
        join = f" JOIN {table.parent} AS owner ON owner.id = own.{link}" if link else ""
        owner = "owner" if link else "own"
        owners = _owners(table, scope)
        picked = [*([f"owner.{name}"] if name else []), *(f"own.{column}" for column in columns)]
        statement = (
            f"SELECT {', '.join(picked)} FROM {table.name} AS own{join} "  # noqa: S608 - our names
            f"WHERE {' AND '.join(f'{owner}.{column} = ?' for column in owners)} "
            f"ORDER BY {'owner.id, ' if name else ''}own.{table.order}"
        )
        names = [*([name] if name else []), *columns]
        for values in rows.each(statement, list(owners.values())):
            yield _record(table, dict(zip(names, values, strict=True)))


class RowWriter:
    """Writes the rows of users who are not there yet, in the caller's transaction."""

    def __init__(self, rows: Rows, artifacts: SqlArtifactStore[Any]) -> None:
        self._rows, self._artifacts = rows, artifacts
        self._columns = {table.kind: (table, _columns(rows, table)) for table in TABLES}
        self._scope = PlaybookScope("")
        self._batch: list[tuple[str, bool]] = []

    def begin(self, scope: PlaybookScope) -> None:
        """Take up a user or an app; raises InputError for one that has something already."""
        self.end()
        self._scope = scope
        if scope.user is None:
            is_new = not any(True for _ in read_rows(self._rows, scope))
        else:
            insert = "INSERT INTO tenants (app, user_id) VALUES (?, ?) ON CONFLICT DO NOTHING"
            is_new = self._rows.run(insert, (scope.app, scope.user)) > 0
        if not is_new:
            raise exists(scope)

    def add(self, record: Mapping[str, Any]) -> None:
        """Write a record of `read_rows`; raises InputError for one that is none."""
        table, columns = self._columns.get(record["kind"], (TABLES[0], []))
        row = dict(record.get("row", {}))
        if "value" in record:
            row["body" if "body" in columns else "value"] = _compact(record["value"])
        link, name = _LINKS.get(table.parent, ("", ""))
        if table not in _tables(self._scope) or set(row) != {*columns, *([name] if name else [])}:
            raise InputError(f"the export has a record of another program: {record['kind']}")
        if table.name == "artifacts":
            self._batch.append((row["body"], row["retired"]))
            if len(self._batch) == _BATCH:
                self._flush()
            return
        values = {column: _packed(value) for column, value in row.items()}
        owners = _owners(table, self._scope)
        if table.name == "playbooks" and self._scope.user is not None:
            tenant = Tenant(self._scope.app, self._scope.user)
            owners["tenant"] = tenant_number(self._rows, tenant)
        places = ["?"] * (len(values) + len(owners))
        names = [*values, *owners]
        if link:
            owners[name] = values.pop(name)
            where = " AND ".join(f"{column} = ?" for column in owners)
            places = ["?"] * len(values) + [f"(SELECT id FROM {table.parent} WHERE {where})"]  # noqa: S608 - our names
            names = [*values, link]
        self._rows.run(
            f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({', '.join(places)})",  # noqa: S608 - our names
            [*values.values(), *owners.values()],
        )

    def end(self) -> None:
        """Compute what follows from the rows of the user."""
        self._flush()
        if self._scope.user is not None:
            for statement in (_HEADS, _TOTALS):
                self._rows.run(statement, (self._scope.app, self._scope.user))

    def _flush(self) -> None:
        if self._batch:
            tenant = Tenant(self._scope.app, self._scope.user or "")
            self._artifacts.restore_rows(self._rows, tenant, self._batch)
            self._batch = []


def exists(scope: PlaybookScope) -> InputError:
    """The error of a user or an app that would be overwritten."""
    who = (
        f"app '{scope.app}'" if scope.user is None else f"user '{scope.user}' of app '{scope.app}'"
    )
    fix = "restore a file of 'acc-ace memory export --user NAME', or into an empty database"
    if scope.user is not None:
        fix = f"first 'acc-ace memory erase --user {scope.user} --app {scope.app}' to replace it"
    return InputError(f"{who} has data here, and nothing was restored; {fix}")


def _tables(scope: PlaybookScope) -> list[Table]:
    if scope.user is None:
        return [table for table in TABLES if (table.parent or table.name) in _OWNED_BY]
    return [table for table in TABLES if table.name != "adk_app_state"]


def _owners(table: Table, scope: PlaybookScope) -> dict[str, object]:
    """The columns, and their values, by which rows (or their parents) are a user's or an app's."""
    values = (scope.app, scope.user or "", scope.user is None)
    size = _OWNED_BY.get(table.parent or table.name, 2)
    return dict(zip(_OWNERS[:size], values, strict=False))


def _columns(rows: Rows, table: Table) -> list[str]:
    """The columns that a record has."""
    if table.name == "artifacts":
        return _ARTIFACT
    link, _ = _LINKS.get(table.parent, ("", ""))
    hidden = {link} if link else {*_OWNERS, "tenant", "parent"}
    hidden |= {table.order} & _NUMBERS
    cursor = rows.connection.execute(f"SELECT * FROM {table.name} WHERE 1 = 0")  # noqa: S608 - our names
    return [column[0] for column in cursor.description if column[0] not in hidden]


def _record(table: Table, row: dict[str, Any]) -> Record:
    record: Record = {"kind": table.kind, "row": row}
    for column, value in list(row.items()):
        if column in _FLAGS:
            row[column] = bool(value)
        elif isinstance(value, bytes):
            row[column] = {"zlib": zlib.decompress(value).decode("utf-8", "surrogatepass")}
        elif column in {"body", "value"} and _compact(parsed := _parsed(value)) == value:
            record["value"] = parsed
            del row[column]
    return record


def _packed(value: object) -> object:
    if isinstance(value, dict):
        return zlib.compress(value["zlib"].encode("utf-8", "surrogatepass"))
    return value


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

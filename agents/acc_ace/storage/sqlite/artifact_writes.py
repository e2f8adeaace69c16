"""Rows of a SQLite connection, and the writes of artifacts.

Triggers keep the totals and the index consistent.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from acc_ace.memory.ranking import IN_SESSION
from acc_ace.storage.sql_artifact_pool import ArtifactRow
from acc_ace.storage.sql_rows import Dialect, Rows
from acc_ace.storage.sqlite.artifact_rows import SqliteArtifactRows
from acc_ace.storage.tenant_rows import prefixed

_INSERT = """
    INSERT INTO artifacts (tenant, artifact_id, session, kind, turn, created_at, length, speaker,
                           asks, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
"""

_REMOVE = "DELETE FROM artifacts WHERE tenant = ? AND artifact_id = ?"
# FTS5 only marks deleted terms; merging its segments removes them.
_OPTIMIZE = "INSERT INTO artifact_terms (artifact_terms) VALUES ('optimize')"


class SqliteArtifactIndex:
    """The ArtifactIndex of SQLite."""

    def reading(self, connection: sqlite3.Connection) -> SqliteArtifactRows:
        """The read side over a connection."""
        return SqliteArtifactRows(connection)

    def insert(self, rows: Rows, tenant: int, items: Sequence[ArtifactRow]) -> None:
        """Insert or replace rows by id, and index their terms."""
        prefix = prefixed(tenant, "")
        for item in items:
            rows.run(_REMOVE, (tenant, item.artifact.artifact_id))
            row = rows.one(_INSERT, (tenant, *item.columns, item.body))
            terms = "\n".join(
                " ".join(f"{prefix}{term}" for term in line.split())
                for line in item.terms.split("\n")
            )
            rows.run(
                "INSERT INTO artifact_terms (rowid, terms) VALUES (?, ?)",
                (row[0] if row else None, terms),
            )

    def retire(self, rows: Rows, tenant: int, session: str, after_turn: int) -> int:
        """Hide the session's artifacts after turn `after_turn` from recall; return how many."""
        return rows.run(
            "UPDATE artifacts SET retired = 1 "
            "WHERE tenant = ? AND session = ? AND turn > ? AND NOT retired",
            (tenant, session, after_turn),
        )

    def remove(self, rows: Rows, tenant: int, artifact_id: str) -> int:
        """Delete one artifact of the tenant; return 1 or 0."""
        removed = rows.run(_REMOVE, (tenant, artifact_id))
        rows.run(_OPTIMIZE)
        return removed

    def delete(self, rows: Rows, tenant: int, session: str | None) -> int:
        """Delete the tenant's artifacts (of one session and those in it); return how many."""
        erased = rows.run(
            "DELETE FROM artifacts WHERE tenant = ? "
            # The character after IN_SESSION ends the range, so that an index serves it.
            "AND (? IS NULL OR session = ? OR (session > ? AND session < ?))",
            (tenant, session, session, f"{session}{IN_SESSION}", f"{session} "),
        )
        if session is None:
            rows.run("DELETE FROM tenant_vectors WHERE tenant = ?", (tenant,))
        rows.run(_OPTIMIZE)
        return erased


class SqliteRows:
    """Rows of a SQLite connection. A write transaction locks the whole file."""

    dialect: Dialect = "sqlite"
    lock = ""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def disable_timeout(self) -> None:
        """Do nothing: SQLite has no statement timeout."""

    def all(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """Every row of a SELECT."""
        return self.connection.execute(statement, values).fetchall()

    def one(self, statement: str, values: Sequence[object] = ()) -> tuple[Any, ...] | None:
        """The first row of a SELECT or of a RETURNING, or None."""
        rows = self.all(statement, values)
        return rows[0] if rows else None

    def run(self, statement: str, values: Sequence[object] = ()) -> int:
        """Run a statement; return the number of changed rows."""
        return self.connection.execute(statement, values).rowcount

    def each(self, statement: str, values: Sequence[object] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a SELECT, one by one."""
        return self.connection.execute(statement, values)

    def many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run a statement for each row of values."""
        self.connection.executemany(statement, rows)

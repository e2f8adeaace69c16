"""Stores that outlive a process: in a directory, or in a PostgreSQL."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.container import Container
from tests.fakes.clock import FixedClock
from tests.fakes.residue_postgres import SCHEMA


@dataclass
class Place:
    """Settings of stores that others can open too, and a way to write into their tables."""

    settings: Settings
    directory: Path

    def open(self) -> Container:
        return build_container(self.settings, FixedClock())

    def with_settings(self, **settings: Any) -> Settings:
        """The settings of another process over the same stores."""
        where: dict[str, Any] = {
            "data_dir": self.settings.data_dir,
            "database_url": self.settings.database_url,
        }
        return Settings(store=self.settings.store, **where, **settings)

    def execute(self, statement: str, *values: object) -> None:
        """Run SQL beside the stores; `?` is a value."""
        if self.settings.store == "sqlite":
            with closing(sqlite3.connect(self.directory / "memory.db")) as connection:
                connection.execute(statement, values)
                connection.commit()
            return
        assert self.settings.database_url is not None
        url = self.settings.database_url.get_secret_value()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"SET search_path = {SCHEMA}".encode())
            connection.execute(statement.replace("?", "%s").encode(), values)

    def refuse_deletes(self, table: str) -> None:
        """Let the database refuse to delete rows of a table."""
        self._refuse("DELETE", table)

    def refuse_updates(self, table: str) -> None:
        """Let the database refuse to change rows of a table."""
        self._refuse("UPDATE", table)

    def refuse_inserts(self, table: str) -> None:
        """Let the database refuse to write whole rows of a table, new or in place of others."""
        self._refuse("INSERT", table)

    def _refuse(self, change: str, table: str) -> None:
        refuse = (
            f"CREATE TRIGGER refuse BEFORE {change} ON {table} "
            "BEGIN SELECT RAISE(ABORT, 'refused'); END"
        )
        if self.settings.store == "postgres":
            self.execute(
                "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE EXCEPTION 'refused'; END $$"
            )
            refuse = (
                f"CREATE TRIGGER refuse BEFORE {change} ON {table} "
                "FOR EACH ROW EXECUTE FUNCTION refuse()"
            )
        self.execute(refuse)

    def allow_deletes(self, table: str) -> None:
        """Take the refusal back."""
        self.allow_updates(table)

    def allow_updates(self, table: str) -> None:
        """Take the refusal back."""
        on = "" if self.settings.store == "sqlite" else f" ON {table}"
        self.execute(f"DROP TRIGGER refuse{on}")


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Empty stores of each kind."""
    where: dict[str, Any] = {"data_dir": tmp_path}
    if request.param == "postgres":
        where["database_url"] = request.getfixturevalue("postgres").clean_database()
    return Place(Settings(store=request.param, learning="off", **where), tmp_path)

"""What PostgreSQL offers: all stores on a server, for many processes; extra `postgres`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from acc_ace.clock import Clock
from acc_ace.config import Settings
from acc_ace.memory.artifact_store import Embedder
from acc_ace.storage.sql_erasure import Files

if TYPE_CHECKING:
    from acc_ace.ext.postgres.database import PostgresDatabase
    from acc_ace.storage.create_stores import Stores


class PostgresEntry:
    """The hook `stores`."""

    works_with = ("semantic",)

    def open_stores(
        self,
        settings: Settings,
        clock: Clock,
        embedder: Embedder | None,
        files: Mapping[str, Files],
    ) -> "Stores":
        """The stores of the settings, not yet connected."""
        from acc_ace.ext.postgres.create_postgres import open_postgres_stores  # noqa: PLC0415

        return open_postgres_stores(settings, clock, embedder, files=files)

    def open_database(self, settings: Settings) -> "PostgresDatabase":
        """Their database alone, not yet connected."""
        from acc_ace.ext.postgres.create_postgres import open_database  # noqa: PLC0415

        return open_database(settings)


ENTRY: Final = PostgresEntry()

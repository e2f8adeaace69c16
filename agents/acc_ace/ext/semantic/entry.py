"""What recall by meaning offers: embedders, and vectors in SQLite. Needs the extra `embed`."""

from typing import TYPE_CHECKING, Final

from acc_ace.config import Settings
from acc_ace.ext.semantic.embedder_factory import build_embedder, kind_of_embedder
from acc_ace.memory.artifact_store import Embedder
from acc_ace.storage.sqlite.database import SqliteDatabase

if TYPE_CHECKING:
    from acc_ace.ext.semantic.dense_index import SqliteDense


class SemanticEntry:
    """The hook `embedders`."""

    def build_embedder(self, settings: Settings) -> Embedder | None:
        """The embedder of the settings, if any."""
        return build_embedder(settings)

    def kind(self, name: str) -> str:
        """Where an embedder of that name runs."""
        return kind_of_embedder(name)

    def sqlite_dense(
        self, database: SqliteDatabase, embedder: Embedder, *, memory_bytes: int
    ) -> "SqliteDense":
        """Search by meaning in a SQLite database; needs numpy."""
        from acc_ace.ext.semantic.dense_index import SqliteDense  # noqa: PLC0415

        return SqliteDense(database, embedder, memory_bytes=memory_bytes)


ENTRY: Final = SemanticEntry()

"""Stores that forget at exit, each over a SQLite database of its own in memory."""

from acc_ace.storage.playbooks.sql_playbook import SqlPlaybookStore
from acc_ace.storage.sql_artifacts import SqlArtifactStore
from acc_ace.storage.sql_directory import SqlSessionDirectory
from acc_ace.storage.sql_evidence import SqlEvidenceStore
from acc_ace.storage.sql_journal import SqlJournal
from acc_ace.storage.sqlite.artifact_rows import SqliteArtifactRows
from acc_ace.storage.sqlite.artifact_writes import SqliteArtifactIndex
from acc_ace.storage.sqlite.database import IN_MEMORY, SqliteDatabase


def memory() -> SqliteDatabase:
    """A new database that nobody else sees."""
    return SqliteDatabase(IN_MEMORY)


class InMemoryJournal(SqlJournal):
    """A journal that forgets at exit."""

    def __init__(self) -> None:
        super().__init__(memory())


class InMemorySessionDirectory(SqlSessionDirectory):
    """A session directory that forgets at exit."""

    def __init__(self) -> None:
        super().__init__(memory())


class InMemoryEvidenceStore(SqlEvidenceStore):
    """Evidence that is forgotten at exit."""

    def __init__(self) -> None:
        super().__init__(memory())


class InMemoryPlaybookStore(SqlPlaybookStore):
    """Playbooks that are forgotten at exit."""

    def __init__(self) -> None:
        super().__init__(memory())


class InMemoryArtifactStore(SqlArtifactStore[SqliteArtifactRows]):
    """Artifacts that are forgotten at exit."""

    def __init__(self) -> None:
        super().__init__(memory(), SqliteArtifactIndex())

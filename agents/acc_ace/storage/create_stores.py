"""Open the configured stores, all in one database."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from acc_ace.clock import Clock
from acc_ace.config import Settings
from acc_ace.core.playbook.playbook_store import PlaybookObserver, PlaybookStore
from acc_ace.core.schemas.limits import RecallWeights
from acc_ace.hooks import EMBEDDERS, PLAYBOOK_FILES, STORES, only
from acc_ace.memory.artifact_store import ArtifactStore, Embedder
from acc_ace.storage.dense_search import DenseSearch
from acc_ace.storage.local_lock import FileSessionLock, InProcessSessionLock
from acc_ace.storage.playbooks.export_folders import FOLDER, ErasedPlaybookFiles
from acc_ace.storage.playbooks.sql_playbook import SqlPlaybookStore
from acc_ace.storage.prompt_history import PromptHistory
from acc_ace.storage.sql_artifacts import ArtifactIndex, SqlArtifactStore
from acc_ace.storage.sql_ccm_records import SqlCcmRecords
from acc_ace.storage.sql_database import SqlUnitOfWork
from acc_ace.storage.sql_directory import SqlSessionDirectory
from acc_ace.storage.sql_erasure import Files, SqlErasure
from acc_ace.storage.sql_evidence import SqlEvidenceStore, SqlToolStarts
from acc_ace.storage.sql_journal import SqlJournal
from acc_ace.storage.sql_spending import SqlSpendingStore
from acc_ace.storage.sql_traces import SqlTraceStore
from acc_ace.storage.sql_user_rules import SqlUserRules
from acc_ace.storage.sqlite.artifact_rows import SqliteArtifactRows
from acc_ace.storage.sqlite.artifact_writes import SqliteArtifactIndex
from acc_ace.storage.sqlite.database import DATABASE_FILE, IN_MEMORY, SqliteDatabase
from acc_ace.turn.journal import Journal
from acc_ace.turn.ports import (
    CcmRecords,
    EvidenceStore,
    SessionLock,
    SpendingStore,
    ToolStarts,
    TraceStore,
    UserErasure,
    UserFiles,
    UserRules,
)
from acc_ace.turn.session_directory import SessionDirectory
from acc_ace.unit_of_work import Database


def open_playbook_files(settings: Settings) -> PlaybookObserver | None:
    """The observer that exports playbooks to the data directory, or None. Does no I/O.

    Raises ConfigError without the extension.
    """
    if not settings.playbook_files:
        return None
    return only(PLAYBOOK_FILES, "ACC_ACE_PLAYBOOK_FILES=true").open_export(settings)


@dataclass(frozen=True)
class Stores:
    """All stores of one process."""

    artifacts: ArtifactStore
    evidence: EvidenceStore
    journal: Journal
    playbooks: PlaybookStore
    lock: SessionLock
    directory: SessionDirectory
    tool_starts: ToolStarts
    user_rules: UserRules
    ccm_records: CcmRecords
    spending: SpendingStore
    traces: TraceStore
    erasure: UserErasure
    """Deletes sessions and users from all of them in one transaction."""
    database: Database
    unit_of_work: Callable[[], SqlUnitOfWork]
    """Starts a transaction over several stores."""
    close: Callable[[], Awaitable[None]]
    """Closes the database."""


@dataclass(frozen=True)
class SqlStores:
    """The stores of one database, without lock and erasure."""

    database: Database
    artifacts: SqlArtifactStore[Any]
    evidence: SqlEvidenceStore
    journal: SqlJournal
    playbooks: SqlPlaybookStore
    directory: SqlSessionDirectory
    tool_starts: SqlToolStarts
    user_rules: SqlUserRules
    ccm_records: SqlCcmRecords
    spending: SqlSpendingStore
    traces: SqlTraceStore

    @staticmethod
    def over(
        database: Database,
        index: ArtifactIndex[Any],
        dense: DenseSearch[Any] | None,
        *,
        weights: RecallWeights,
        clock: Clock,
        follower: PlaybookObserver | None,
    ) -> "SqlStores":
        """The stores of a database. Does no I/O."""
        return SqlStores(
            database=database,
            artifacts=SqlArtifactStore(database, index, weights=weights, dense=dense),
            evidence=SqlEvidenceStore(database),
            journal=SqlJournal(database),
            playbooks=SqlPlaybookStore(database, clock, follower=follower),
            directory=SqlSessionDirectory(database),
            tool_starts=SqlToolStarts(database),
            user_rules=SqlUserRules(database),
            ccm_records=SqlCcmRecords(database),
            spending=SqlSpendingStore(database),
            traces=SqlTraceStore(database),
        )

    def completed(
        self,
        lock: SessionLock,
        *,
        files: Mapping[str, Files],
        wipe: Callable[[], Awaitable[object]] | None = None,
        close_lock: Callable[[], Awaitable[None]] | None = None,
    ) -> Stores:
        """All stores of a process. The lock is closed before the database.

        `files` are erased with a user; `wipe` fails while erased bytes are left in a file.
        """
        erasure = SqlErasure(
            self.database,
            self.artifacts,
            self.playbooks,
            files=files,
            wipe=wipe or self.database.scrub,
        )

        async def close() -> None:
            await self.artifacts.close()
            await self.playbooks.settle()
            if close_lock is not None:
                await close_lock()
            await self.database.close()

        return Stores(
            artifacts=self.artifacts,
            evidence=self.evidence,
            journal=self.journal,
            playbooks=self.playbooks,
            lock=lock,
            directory=self.directory,
            tool_starts=self.tool_starts,
            user_rules=self.user_rules,
            ccm_records=self.ccm_records,
            spending=self.spending,
            traces=self.traces,
            erasure=erasure,
            database=self.database,
            unit_of_work=lambda: SqlUnitOfWork(self.database, after=[self.artifacts.wake]),
            close=close,
        )


LOCKS = "locks"
"""The directory of the session locks, in the data directory."""

__all__ = ["Stores", "create_stores", "sqlite_dense"]


def create_stores(
    settings: Settings,
    clock: Clock,
    embedder: Embedder | None = None,
    *,
    files: UserFiles | None = None,
) -> Stores:
    """The stores of `settings.store`. Needs no event loop and does no I/O before first use.

    An embedder enables semantic search; the caller closes it after the stores.
    `files` are deleted with their sessions and users.
    Raises ConfigError when PostgreSQL is configured and its URL or driver is missing.
    """
    beside = _files_beside(settings, files)
    match settings.store:
        case "memory" | "sqlite":
            return _sqlite(settings, clock, embedder, beside)
        case "postgres":
            return only(STORES, "ACC_ACE_STORE=postgres").open_stores(
                settings, clock, embedder, beside
            )


def _files_beside(settings: Settings, files: UserFiles | None) -> dict[str, Files]:
    """The files erased with a user in addition to rows, by their name in the report."""
    beside: dict[str, Files] = {"history_files": PromptHistory(settings.data_dir)}
    if files is not None:
        beside["files"] = files
    beside["playbook_files"] = ErasedPlaybookFiles(settings.data_dir / FOLDER)
    return beside


def _sqlite(
    settings: Settings, clock: Clock, embedder: Embedder | None, files: Mapping[str, Files]
) -> Stores:
    """A SQLite database in the data directory, or a private one in memory, discarded on close."""
    is_kept = settings.store == "sqlite"
    database = SqliteDatabase(
        settings.data_dir / DATABASE_FILE if is_kept else IN_MEMORY,
        busy_timeout_s=settings.limits.turn_wait_s,
    )
    follower = open_playbook_files(settings) if is_kept else None
    dense = sqlite_dense(database, embedder, memory_mb=settings.embedder.memory_mb)
    index, weights = SqliteArtifactIndex(), settings.recall
    stores = SqlStores.over(database, index, dense, weights=weights, clock=clock, follower=follower)
    lock = FileSessionLock(settings.data_dir / LOCKS) if is_kept else InProcessSessionLock()
    return stores.completed(lock, files=files, wipe=database.wipe if is_kept else None)


def sqlite_dense(
    database: SqliteDatabase, embedder: Embedder | None, *, memory_mb: int
) -> DenseSearch[SqliteArtifactRows] | None:
    """The vector index of a SQLite database; None without an embedder."""
    if embedder is None:
        return None
    semantic = only(EMBEDDERS, "ACC_ACE_EMBEDDER__MODEL")
    return semantic.sqlite_dense(database, embedder, memory_bytes=memory_mb * 1_000_000)

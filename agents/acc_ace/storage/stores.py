"""All stores of one process, in whichever database they are kept."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from acc_ace.clock import Clock
from acc_ace.memory.artifact_store import ArtifactStore
from acc_ace.playbook.playbook_observer import PlaybookFollower
from acc_ace.playbook.playbook_store import PlaybookStore
from acc_ace.schemas.limits import RecallWeights
from acc_ace.storage.sql_artifacts import ArtifactIndex, SqlArtifactStore
from acc_ace.storage.sql_database import Database
from acc_ace.storage.sql_dense import SqlDense
from acc_ace.storage.sql_directory import SqlSessionDirectory
from acc_ace.storage.sql_erasure import Files, SqlErasure
from acc_ace.storage.sql_evidence import SqlEvidenceStore
from acc_ace.storage.sql_journal import SqlJournal
from acc_ace.storage.sql_playbook import SqlPlaybookStore
from acc_ace.storage.sql_tool_starts import SqlToolStarts
from acc_ace.storage.sql_unit_of_work import UnitOfWork
from acc_ace.turn.journal import Journal
from acc_ace.turn.ports import EvidenceStore, SessionLock, ToolStarts, UserErasure
from acc_ace.turn.session_directory import SessionDirectory


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
    erasure: UserErasure
    """Deletes sessions and users from all of them in one transaction."""
    database: Database
    unit_of_work: Callable[[], UnitOfWork]
    """Begins a commit of several stores together."""
    close: Callable[[], Awaitable[None]]
    """Closes the database."""


@dataclass(frozen=True)
class SqlStores:
    """The stores of one database, without its lock and without what erases from all of them."""

    database: Database
    artifacts: SqlArtifactStore[Any]
    evidence: SqlEvidenceStore
    journal: SqlJournal
    playbooks: SqlPlaybookStore
    directory: SqlSessionDirectory
    tool_starts: SqlToolStarts

    @staticmethod
    def over(
        database: Database,
        index: ArtifactIndex[Any],
        dense: SqlDense[Any] | None,
        *,
        weights: RecallWeights,
        clock: Clock,
        follower: PlaybookFollower | None,
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

        `files` are erased with a user; `wipe` fails while bytes of what was erased are left.
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
            erasure=erasure,
            database=self.database,
            unit_of_work=lambda: UnitOfWork(self.database, after=[self.artifacts.wake]),
            close=close,
        )

"""What a process needs to run turns, put together once by `acc_ace.bootstrap`."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime

from acc_ace.clock import Clock
from acc_ace.config import Settings
from acc_ace.learning.learning_queue import LearningQueue
from acc_ace.memory.artifact_store import ArtifactStore
from acc_ace.memory.embedder import Embedder
from acc_ace.playbook.playbook_store import PlaybookStore
from acc_ace.schemas.tenancy import PlaybookScope, SessionKey
from acc_ace.turn.journal import Journal
from acc_ace.turn.load_monitor import Pressure
from acc_ace.turn.ports import (
    Database,
    EvidenceStore,
    SessionLock,
    ToolStarts,
    UserErasure,
    UserFiles,
)
from acc_ace.turn.session_directory import SessionDirectory
from acc_ace.unit_of_work import UnitOfWork


@dataclass(frozen=True)
class Container:
    """Settings, clock and stores of one process."""

    settings: Settings
    clock: Clock
    artifacts: ArtifactStore
    evidence: EvidenceStore
    journal: Journal
    playbooks: PlaybookStore
    lock: SessionLock
    directory: SessionDirectory
    tool_starts: ToolStarts
    database: Database
    """Where all of them are, and ADK's sessions beside them."""
    unit_of_work: Callable[[], UnitOfWork]
    """Begins a commit of several stores together."""
    erasure: UserErasure
    files: UserFiles
    """What users and their agents put there as ADK's artifacts."""
    close: Callable[[], Awaitable[None]]
    """Closes the stores."""
    learning: LearningQueue | None = None
    """Jobs of `learning=background`; None while nothing can be learnt in the background."""
    pressure: Pressure = field(default_factory=Pressure)
    """How busy this process is with answering."""
    unsummarised: set[SessionKey] = field(default_factory=set)
    """Sessions to summarise after their turns. One that is lost is asked for by its next turn."""
    embedder: Embedder | None = None
    """What turns texts into vectors, if the settings ask for one."""

    def local_now(self) -> datetime:
        """The current time in the zone of the users, whose days 'yesterday' means."""
        return self.clock.now().astimezone(self.settings.zone)

    def playbook_scope(self, app: str, user: str) -> PlaybookScope:
        """Whose playbook a turn of a user reads and teaches."""
        return PlaybookScope(app, user if self.settings.playbook_scope == "user" else None)

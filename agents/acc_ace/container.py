"""What a process needs to run turns, put together once by `acc_ace.bootstrap`.

Its load monitor lets background learning yield to the running turns. The ports of the rooms are
imported for typing only, so that every room can import the container.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from acc_ace.clock import Clock
from acc_ace.core.schemas.base import PlaybookScope

if TYPE_CHECKING:
    from acc_ace.adk.turn_parts import TurnParts
    from acc_ace.config import Settings
    from acc_ace.core.playbook.playbook_store import PlaybookStore
    from acc_ace.memory.artifact_store import ArtifactStore, Embedder
    from acc_ace.turn.journal import Journal
    from acc_ace.turn.learning_queue import LearningQueue
    from acc_ace.turn.ports import (
        CcmRecords,
        EvidenceStore,
        SessionLock,
        ToolStarts,
        TraceStore,
        UserErasure,
        UserFiles,
        UserRules,
    )
    from acc_ace.turn.session_directory import SessionDirectory
    from acc_ace.turn.spending import Spending
    from acc_ace.unit_of_work import Database, UnitOfWork


class LoadMonitor:
    """Model load of the running turns in this process. Thread-safe."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._turns = 0
        self._limited_at: datetime | None = None

    @property
    def turns(self) -> int:
        """Turns that are running."""
        return self._turns

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Count a turn while the context is open."""
        with self._mutex:
            self._turns += 1
        try:
            yield
        finally:
            with self._mutex:
                self._turns -= 1

    def rate_limited(self, at: datetime) -> None:
        """Note that a model rate-limited a turn."""
        with self._mutex:
            self._limited_at = at

    def wait_s(self, now: datetime, *, most_turns: int, quiet_s: float) -> float:
        """Seconds to wait before the next model call; 0 when there is capacity.

        One second, to check again, while more than `most_turns` turns run.
        """
        with self._mutex:
            limited_at, turns = self._limited_at, self._turns
        if limited_at is not None:
            left = (limited_at + timedelta(seconds=quiet_s) - now).total_seconds()
            if left > 0:
                return min(left, quiet_s)
        return 1.0 if turns > most_turns else 0.0


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
    user_rules: UserRules
    ccm_records: CcmRecords
    spending: Spending
    """What model calls cost, and the ceiling of it."""
    traces: TraceStore
    """What the models of the newest turns were asked and answered."""
    database: Database
    """Holds all of these stores, and ADK's sessions."""
    unit_of_work: Callable[[], UnitOfWork]
    """Starts a commit of several stores."""
    erasure: UserErasure
    files: UserFiles
    """Files that users and their agents stored as ADK artifacts."""
    close: Callable[[], Awaitable[None]]
    """Closes the stores."""
    parts: TurnParts
    """Makes models, upkeep and learning for what drives turns."""
    learning: LearningQueue | None = None
    """Jobs of `learning=background`; None with other settings."""
    pressure: LoadMonitor = field(default_factory=LoadMonitor)
    """Model load of this process's turns."""
    embedder: Embedder | None = None
    """The embedding model, if one is configured."""
    playbook_files: Callable[[PlaybookScope], int] = lambda _scope: 0
    """Counts the exported files of a playbook."""
    own_playbooks: frozenset[str] = frozenset()
    """Apps whose users have a playbook each, whatever the settings say."""

    def local_now(self) -> datetime:
        """The current time in the users' time zone, which defines 'yesterday'."""
        return self.clock.now().astimezone(self.settings.zone)

    def playbook_scope(self, app: str, user: str) -> PlaybookScope:
        """The playbook that a user's turns read and teach."""
        is_own = app in self.own_playbooks or self.settings.playbook_scope == "user"
        return PlaybookScope(app, user if is_own else None)

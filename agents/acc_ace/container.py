"""What a process needs to run turns, put together once by `acc_ace.bootstrap`.

It knows how busy the models are with answering, so that learning steps back for answers. The ports
of the rooms are named as types only, so that every room can take the container.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from acc_ace.clock import Clock
from acc_ace.config import Settings
from acc_ace.schemas.base import PlaybookScope, SessionKey

if TYPE_CHECKING:
    from acc_ace.learning.learning_queue import LearningQueue
    from acc_ace.memory.artifact_store import ArtifactStore, Embedder
    from acc_ace.playbook.playbook_store import PlaybookStore
    from acc_ace.turn.journal import Journal
    from acc_ace.turn.ports import (
        Database,
        EvidenceStore,
        SessionLock,
        ToolStarts,
        UserErasure,
        UserFiles,
        UserRules,
    )
    from acc_ace.turn.session_directory import SessionDirectory
    from acc_ace.unit_of_work import UnitOfWork


class LoadMonitor:
    """What answers ask of the models in this process. Safe to use from any thread."""

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
        """A model said that a turn asks it too often."""
        with self._mutex:
            self._limited_at = at

    def wait_s(self, now: datetime, *, most_turns: int, quiet_s: float) -> float:
        """Seconds to keep away from the models; 0 when there is room.

        While more than `most_turns` turns run, it cannot be known for how long: then one second.
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
    pressure: LoadMonitor = field(default_factory=LoadMonitor)
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

"""What the terminal needs of the app: the part of its Conversation that is used here."""

from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol

from acc_ace.schemas.artifact import Artifact
from acc_ace.schemas.base import Authority, MemoryName, SessionKey, Tenant
from acc_ace.schemas.commit import CommittedState, ConstraintPin, JournalEntry, RuleScope
from acc_ace.schemas.interaction import Attachment
from acc_ace.schemas.playbook import StoredPlaybook
from acc_ace.schemas.reflection import Judgement
from acc_ace.schemas.report import FeedbackReport, TurnEvent


class RuleApi(Protocol):
    """The rules of sessions, outside of their turns. Every method raises as RuleService says."""

    async def state(self, key: SessionKey) -> CommittedState:
        """The session's state with its rules and open questions as they are now."""
        ...

    async def pin(self, key: SessionKey, text: str, scope: RuleScope) -> ConstraintPin:
        """Make a rule of these words."""
        ...

    async def forget(self, key: SessionKey, rule_id: str) -> ConstraintPin:
        """Lift a rule."""
        ...


class TurnApi(Protocol):
    """Runs turns and reads memory. Every method raises subclasses of AccAceError."""

    @property
    def rules(self) -> "RuleApi":
        """The rules of sessions, to see and correct."""
        ...

    def stream(
        self,
        key: SessionKey,
        text: str,
        *,
        authority: Authority = Authority.USER,
        attachments: Sequence[Attachment] = (),
        memory: MemoryName | None = None,
        idempotency_key: str = "",
    ) -> AsyncIterator[TurnEvent]:
        """Run a turn, with the memory of the settings by default, or tell a committed one again."""
        ...

    async def state(self, key: SessionKey) -> CommittedState | None:
        """The session's state, or None when it is new."""
        ...

    async def history(
        self, key: SessionKey, *, limit: int = 50, before_version: int | None = None
    ) -> Sequence[JournalEntry]:
        """Journal entries, newest first."""
        ...

    async def undo(self, key: SessionKey) -> CommittedState:
        """Take the last turn back, or the rules changed since."""
        ...

    async def reset(self, key: SessionKey) -> None:
        """Empty the session's state; evidence stays."""
        ...

    async def remember(self, tenant: Tenant, documents: Sequence[Artifact]) -> None:
        """Add documents to external memory."""
        ...

    async def erase_user(self, user: str, *, app: str | None = None) -> dict[str, dict[str, int]]:
        """Delete everything of a user in an app, or in all; rows by app and store."""
        ...

    def export_user(self, user: str, *, app: str | None = None) -> AsyncIterator[dict[str, Any]]:
        """All that is held about a user in an app, or in all; the last record is `end`."""
        ...

    async def playbook(self) -> StoredPlaybook:
        """The current playbook."""
        ...

    async def feedback(
        self, key: SessionKey, turn: int, judgement: Judgement, *, given_id: str = ""
    ) -> FeedbackReport:
        """Keep what is said of an answered turn, and learn from it."""
        ...

    def start_learning(self) -> None:
        """Go on with what is to be learned in the background, if anything is."""
        ...

    async def stop_learning(self, *, finish_s: float = 0.0) -> int:
        """End it, in at most that time when done; jobs left for later, -1 where that is unknown."""
        ...

    async def close(self) -> None:
        """Let go of stores and connections."""
        ...

"""Protocols for the part of Conversation that the terminal uses."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

from acc_ace.core.schemas.artifact import Artifact, Erased
from acc_ace.core.schemas.base import Authority, SessionKey, Tenant
from acc_ace.core.schemas.commit import CommittedState, ConstraintPin, JournalEntry, RuleScope
from acc_ace.core.schemas.interaction import Attachment
from acc_ace.core.schemas.playbook import StoredPlaybook
from acc_ace.core.schemas.reflection import Judgement
from acc_ace.core.schemas.report import FeedbackReport, ReportedCheck, TurnEvent


class RuleApi(Protocol):
    """The rules of sessions, outside of turns. Errors as in RuleService."""

    async def state(self, key: SessionKey) -> CommittedState:
        """The session's state with its current rules and open questions."""
        ...

    async def pin(self, key: SessionKey, text: str, scope: RuleScope) -> ConstraintPin:
        """Add a rule with this text."""
        ...

    async def forget(self, key: SessionKey, rule_id: str) -> ConstraintPin:
        """Lift a rule."""
        ...

    async def check(self, key: SessionKey, rule_id: str, tool: str, does: str) -> ConstraintPin:
        """Set what a rule does at a tool."""
        ...

    async def answer(self, key: SessionKey, question_id: str, *, yes: bool) -> CommittedState:
        """Settle an open question about rules or goal."""
        ...


class TurnApi(Protocol):
    """Runs turns and reads memory. Every method raises subclasses of AccAceError."""

    @property
    def rules(self) -> "RuleApi":
        """The rules of sessions."""
        ...

    async def checks(self, pins: Sequence[ConstraintPin]) -> Mapping[str, list[ReportedCheck]]:
        """What rules do at the tools of the app, by the rule's id."""
        ...

    def stream(
        self,
        key: SessionKey,
        text: str,
        *,
        authority: Authority = Authority.USER,
        attachments: Sequence[Attachment] = (),
        idempotency_key: str = "",
    ) -> AsyncIterator[TurnEvent]:
        """Run a turn, or replay a committed one."""
        ...

    def confirm(self, key: SessionKey, answers: Mapping[str, bool]) -> AsyncIterator[TurnEvent]:
        """Go on with a paused turn: whether each tool call that asked may run, by its id."""
        ...

    async def state(self, key: SessionKey) -> CommittedState | None:
        """The session's state, or None if it is new."""
        ...

    async def history(
        self, key: SessionKey, *, limit: int = 50, before_version: int | None = None
    ) -> Sequence[JournalEntry]:
        """Journal entries, newest first."""
        ...

    async def undo(self, key: SessionKey) -> CommittedState:
        """Undo the last turn, or the rule changes since."""
        ...

    async def reset(self, key: SessionKey) -> None:
        """Clear the session's state; evidence is kept."""
        ...

    async def remember(self, tenant: Tenant, documents: Sequence[Artifact]) -> None:
        """Add documents to external memory."""
        ...

    async def erase_artifacts(self, tenant: Tenant, ids: Sequence[str]) -> Erased:
        """Delete artifacts of a user's memory and what rests on them."""
        ...

    async def erase_user(self, user: str, *, app: str | None = None) -> dict[str, dict[str, int]]:
        """Delete all data of a user in an app, or in all; deleted rows by app and store."""
        ...

    async def playbook(self) -> StoredPlaybook:
        """The current playbook."""
        ...

    async def feedback(
        self, key: SessionKey, turn: int, judgement: Judgement, *, given_id: str = ""
    ) -> FeedbackReport:
        """Store feedback on an answered turn and learn from it."""
        ...

    def start_learning(self) -> None:
        """Start background learning of pending jobs."""
        ...

    async def stop_learning(self, *, finish_s: float = 0.0) -> int:
        """Stop it after at most `finish_s` seconds; the number of jobs left, -1 if unknown."""
        ...

    async def close(self) -> None:
        """Close stores and connections."""
        ...

"""Step 4, Commit: prepare CCS_t, and write it once together with the turn's other data.

Calls started by turns that died are recovered from their rows; their outcome is unknown.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from acc_ace.container import Container
from acc_ace.core.schemas.artifact import Artifact, ArtifactKind
from acc_ace.core.schemas.base import Authority, SessionKey
from acc_ace.core.schemas.commit import CcsDiff, CommitKind, JournalEntry, RuleScope
from acc_ace.core.schemas.interaction import (
    Interaction,
    Outcome,
    ToolCall,
    ToolResult,
    ToolStart,
    TurnInput,
)
from acc_ace.memory.turn_artifacts import turn_artifacts
from acc_ace.unit_of_work import Write

if TYPE_CHECKING:
    from acc_ace.core.gates.commit_gate import GateResult


def prepared_entry(
    gate: "GateResult", *, invocation_id: str, at: datetime, warnings: Sequence[str]
) -> JournalEntry:
    """The journal entry of CCS_t, for the turn's commit."""
    return JournalEntry(
        kind=CommitKind.KEPT if gate.kept else CommitKind.COMMIT,
        state=gate.state,
        diff=gate.diff,
        invocation_id=invocation_id,
        created_at=at,
        warnings=list(warnings),
    )


@dataclass(frozen=True)
class TurnCommit:
    """The data of a turn to be committed, at its answer or at a pause for a person."""

    key: SessionKey
    entry: JournalEntry
    interaction: Interaction
    is_new: bool = True
    """False for a later segment of the turn, whose CCS_t is in the journal already."""
    settled: Collection[str] = ()
    """Ids of tool calls whose outcome this commit's interactions record."""
    lost: Sequence[Interaction] = ()
    """Evidence of turns that died: tool calls with an unknown outcome."""
    lost_calls: Sequence[Artifact] = ()
    """The same as artifacts for recall."""
    artifacts: Sequence[Artifact] = ()
    """What the decision leaves in external memory; stored as of this turn, so undone with it."""
    leaves_turn: bool = True
    """Whether the turn itself and its tool results are left there too."""
    cost: Sequence[Write] = ()
    """What the turn's model calls cost so far, and what they were asked."""
    events: Write | None = None
    """The turn's events, where the session service buffers them."""


def user_rules_write(container: Container, key: SessionKey, diff: CcsDiff) -> Write | None:
    """The write of changed user-wide rules; None if there are none."""
    added = [pin for pin in diff.constraints_added if pin.scope is RuleScope.USER]
    removed = [old.id for old in diff.constraints_released if old.id.startswith("u-")]
    if not added and not removed:
        return None
    return container.user_rules.change_write(key.tenant, added=added, removed=removed)


async def commit_turn(container: Container, commit: TurnCommit) -> None:
    """Write a turn in one transaction, the journal's compare-and-swap first.

    Idempotent for the same commit. Raises ConflictError when another turn committed first, or
    StoreError; nothing of the turn is then written.
    """
    key, entry = commit.key, commit.entry
    work = container.unit_of_work()
    if commit.is_new:
        version = entry.state.version - 1
        work.add(container.journal.append_write(key, entry, expected_version=version))
        if write := user_rules_write(container, key, entry.diff):
            work.add(write)
    for interaction in (*commit.lost, commit.interaction):
        work.add(container.evidence.record_write(key, interaction))
    artifacts = list(commit.lost_calls)
    if commit.interaction.outcome is Outcome.ANSWERED:
        limit = container.settings.limits.tool_result_tokens
        if commit.leaves_turn:
            artifacts += turn_artifacts(key, commit.interaction, max_tokens=limit)
        own = {"tenant": key.tenant, "session": key.session, "turn": commit.interaction.turn}
        artifacts += [item.model_copy(update=own) for item in commit.artifacts]
    if artifacts:
        work.add(container.artifacts.add_write(artifacts))
    at = container.clock.now()
    work.add(container.directory.open_write(key, at=at))
    if commit.settled:
        work.add(container.tool_starts.settle_write(key, commit.settled))
    for write in commit.cost:
        work.add(write)
    if commit.events is not None:
        work.add(commit.events)
    await work.commit()


_FAILED_TURNS = 10
"""Newest turns searched for a started call."""

_CALL_CHARS = 200


async def lost_calls(container: Container, key: SessionKey) -> "Sequence[LostCall]":
    """Unsettled calls of turns that died or failed; the caller holds the session.

    Raises StoreError.
    """
    starts = await container.tool_starts.unsettled(key)
    if not starts:
        return ()
    newest = await container.evidence.list(key, limit=_FAILED_TURNS)
    failed = [turn for turn in newest if turn.outcome is Outcome.FAILED]
    return [LostCall(key, start, failed) for start in starts]


class LostCall:
    """A call that no commit has settled."""

    def __init__(self, key: SessionKey, start: ToolStart, failed: Sequence[Interaction]) -> None:
        """`failed` are the newest failed turns, whose evidence may include the call."""
        self.id = start.call_id
        self._key, self._start = key, start
        self._kept = any(call.id == start.call_id for turn in failed for call in turn.tool_calls)
        results = [result for turn in failed for result in turn.tool_results]
        self._result = next((each for each in results if each.tool_call_id == self.id), None)

    @property
    def warning(self) -> str:
        """The warning shown once to the model and the user."""
        call = call_text(self._start.name, self._start.args)
        if self._result is None:
            return f"outcome unknown: {call}; it was started in a turn that ended without an answer"
        ended = "failed" if self._result.is_error else "was run"
        return f"{call} {ended} in a turn that ended without an answer"

    @property
    def evidence(self) -> Interaction | None:
        """Evidence of the turn that died in the call; None when its failure is stored already."""
        if self._kept:
            return None
        start = self._start
        return Interaction(
            turn=start.turn,
            invocation_id=f"lost:{start.call_id}",
            input=TurnInput(text=""),
            tool_calls=[ToolCall(id=start.call_id, name=start.name, args=start.args)],
            tool_results=[
                ToolResult(
                    tool_call_id=start.call_id,
                    name=start.name,
                    result=self.warning,
                    is_error=True,
                )
            ],
            outcome=Outcome.FAILED,
            created_at=start.started_at,
        )

    @property
    def artifact(self) -> Artifact:
        """The call as a recall candidate."""
        start = self._start
        return Artifact(
            artifact_id=f"lost:{self._key.session}:{start.call_id}",
            content=self.warning,
            source=f"tool:{start.name}",
            created_at=start.started_at,
            tenant=self._key.tenant,
            kind=ArtifactKind.TOOL_RESULT,
            authority=Authority.TOOL,
            session=self._key.session,
            turn=start.turn,
        )


def call_text(name: str, args: Mapping[str, Any]) -> str:
    """A call as one line: 'restart(db-01)'."""
    values = ", ".join(str(value) for value in args.values())
    return f"{name}({values[:_CALL_CHARS]})"

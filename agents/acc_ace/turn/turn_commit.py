"""Step 5, Commit: CCS_t is written once, together with all else that the turn leaves.

Calls started by turns that died are recovered from their rows; their outcome is unknown.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from acc_ace.container import Container
from acc_ace.core.gates.references import artifact_ids
from acc_ace.core.schemas.artifact import Artifact, ArtifactKind
from acc_ace.core.schemas.base import Authority, SessionKey
from acc_ace.core.schemas.commit import CcsDiff, RuleScope
from acc_ace.core.schemas.interaction import (
    Interaction,
    Outcome,
    ToolCall,
    ToolResult,
    ToolStart,
    TurnInput,
)
from acc_ace.core.text.redaction import mask_secrets, mask_values
from acc_ace.memory.long_input import is_long
from acc_ace.memory.turn_artifacts import turn_artifact_id, turn_artifacts
from acc_ace.unit_of_work import Write

if TYPE_CHECKING:
    from acc_ace.turn.turn_record import TurnRecord


def interaction_of(
    record: "TurnRecord", outcome: Outcome, *, at: datetime, prompt_hashes: Mapping[str, str]
) -> Interaction:
    """The evidence of a turn, as it ends."""
    start, tools = record.start, record.tools
    interaction = Interaction(
        turn=record.number,
        invocation_id=start.evidence_id,
        input=start.x_t,
        tool_calls=tools.calls,
        tool_results=tools.results,
        guarded=[*start.guarded, *tools.guarded],
        outcome=outcome,
        created_at=at,
    )
    if outcome is Outcome.FAILED:
        failed = {
            "turn": start.previous.turn + 1,
            "invocation_id": start.failure_id or start.evidence_id,
        }
        return interaction.model_copy(update=failed)
    update = {
        "decision": record.decision,
        "ccs_version": record.state.version,
        "playbook_version": record.playbook.version if record.playbook else 0,
        "models": record.observer.models,
        "prompt_hashes": dict(prompt_hashes),
        "notes": list(record.notes),
        "notes_apart": record.notes_apart,
        "feedback": start.feedback,
        "idempotency_key": start.idempotency_key,
    }
    return interaction.model_copy(update=update)


def masked_input(x_t: TurnInput) -> TurnInput:
    """x_t as it is stored: secrets are masked; the model of its own turn has seen them."""
    attachments = tuple(
        each.model_copy(update={"text": mask_secrets(each.text)}) for each in x_t.attachments
    )
    return x_t.model_copy(update={"text": mask_secrets(x_t.text), "attachments": attachments})


def masked_turn(turn: Interaction) -> Interaction:
    """The evidence of a turn, masked; calls of one that waits for a person will be run."""
    decision = turn.decision and turn.decision.model_copy(
        update={
            "final_answer": mask_secrets(turn.decision.final_answer),
            "reasoning": [mask_secrets(each) for each in turn.decision.reasoning],
        }
    )
    results = [
        each.model_copy(
            update={
                "result": mask_secrets(each.result),
                "whole": each.whole and mask_secrets(each.whole),
            }
        )
        for each in turn.tool_results
    ]
    calls = turn.tool_calls
    if turn.outcome is not Outcome.PAUSED:
        calls = [each.model_copy(update={"args": mask_values(each.args)}) for each in calls]
    update = {"decision": decision, "tool_results": results, "tool_calls": calls}
    return turn.model_copy(update=update)


def user_rules_write(container: Container, key: SessionKey, diff: CcsDiff) -> Write | None:
    """The write of changed user-wide rules; None if there are none."""
    added = [pin for pin in diff.constraints_added if pin.scope is RuleScope.USER]
    removed = [old.id for old in diff.constraints_released if old.id.startswith("u-")]
    if not added and not removed:
        return None
    return container.user_rules.change_write(key.tenant, added=added, removed=removed)


async def commit_turn(
    container: Container, record: "TurnRecord", turn: Interaction, beside: Sequence[Write]
) -> None:
    """Write a turn in one transaction, the journal's compare-and-swap first.

    `beside` are its cost, its requests and its events. Idempotent for the same turn. Raises
    ConflictError when another turn committed first, or StoreError; nothing of the turn is then
    written.
    """
    work = container.unit_of_work()
    work.add(*_writes(container, record, turn), *beside)
    await work.commit()


def _writes(container: Container, record: "TurnRecord", turn: Interaction) -> Iterator[Write]:
    key, lost = record.key, record.start.lost
    # A later segment of a turn finds its CCS_t in the journal already.
    if record.entry is not None and not record.is_written:
        version = record.entry.state.version - 1
        yield container.journal.append_write(key, record.entry, expected_version=version)
        if write := user_rules_write(container, key, record.entry.diff):
            yield write
        if marks := record.reading.finds.marks:
            yield container.ccm_records.add_write(key.tenant, marks.ccm, marks.marks)
    for interaction in (*(call.evidence for call in lost), turn):
        if interaction is not None:
            yield container.evidence.record_write(key, interaction)
    most = container.settings.limits.input_tokens
    failed = (each for each in record.start.since.news if each.turn == turn.turn)
    if any(is_long(each.input.text, most) for each in failed):
        # A long message of this number that got no answer has left its pieces.
        yield container.artifacts.retire_write(key, turn.turn - 1)
    if artifacts := [*(call.artifact for call in lost), *_left(container, record, turn)]:
        yield container.artifacts.add_write(artifacts)
    facts = {each.artifact_id: each for each in record.reading.finds.facts}.values()
    if record.entry is not None and not record.is_written and facts:
        # As old as their turn, which they rest on; of one subject the newest stays.
        own, here = {"created_at": turn.created_at}, (key.session, turn.turn)
        yield container.artifacts.add_write(
            [
                each.model_copy(update=own if (each.session, each.turn) == here else {})
                for each in facts
            ]
        )
    yield container.directory.open_write(key, at=container.clock.now())
    if settled := {*record.tools.acting, *(call.id for call in lost)}:
        yield container.tool_starts.settle_write(key, settled)


def _left(container: Container, record: "TurnRecord", turn: Interaction) -> Iterator[Artifact]:
    """What an answered turn leaves for recall; stored as of this turn, so undone with it."""
    if turn.outcome is not Outcome.ANSWERED:
        return
    key, limit = record.key, container.settings.limits.tool_result_tokens
    if record.leaves_turn:
        quotes = _quoted(record)
        for artifact in turn_artifacts(key, turn, max_tokens=limit):
            yield artifact.model_copy(update={"quotes": quotes})
    own = {"tenant": key.tenant, "session": key.session, "turn": turn.turn}
    for artifact in record.artifacts:
        yield artifact.model_copy(update=own)


def _quoted(record: "TurnRecord") -> list[str]:
    """Ids of what the turn was shown of memory, its own session's turns left out.

    Those are known by their number: a state rests on each turn before it.
    """
    shown = {
        *artifact_ids(record.state.ccs.retrieved_artifacts),
        *(item.artifact_id for item in record.qualification.qualified),
        *record.tools.found,
    }
    own = turn_artifact_id(record.key, 0).removesuffix("0")
    return sorted(name for name in shown if not name.startswith(own))


_FAILED_TURNS = 10
"""Newest turns searched for a started call."""

_CALL_CHARS = 200


async def lost_calls(container: Container, key: SessionKey) -> "tuple[LostCall, ...]":
    """Unsettled calls of turns that died or failed; the caller holds the session.

    Raises StoreError.
    """
    starts = await container.tool_starts.unsettled(key)
    if not starts:
        return ()
    newest = await container.evidence.list(key, limit=_FAILED_TURNS)
    failed = [turn for turn in newest if turn.outcome is Outcome.FAILED]
    return tuple(LostCall(key, start, failed) for start in starts)


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

"""End a turn that was not answered: nothing of it stays in the state."""

from dataclasses import dataclass

from core.container import Container
from core.turn.committing import restore_state
from schemas.commit import CommitKind, CommittedState, JournalEntry
from schemas.interaction import Interaction, Outcome, ToolCall, ToolResult, TurnInput
from schemas.tenancy import SessionKey


@dataclass(frozen=True)
class FailedTurn:
    """What a turn had done when it ended without an answer."""

    key: SessionKey
    invocation_id: str
    previous: CommittedState
    turn_input: TurnInput | None
    committed: JournalEntry | None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_results: tuple[ToolResult, ...] = ()


async def close_failed_turn(container: Container, failed: FailedTurn) -> None:
    """Go back to CCS_{t-1} and keep what was tried as evidence. Raises StoreError.

    When another turn has committed since, which a lost session lock allows, its state stands. So
    does the evidence of another turn that was answered under the same name, undone or not. Done
    again after an error or a cancellation, it does what is left; `finish_keeping` does it else.
    """
    now = container.clock.now()
    committed = failed.committed
    kept = await container.evidence.find(failed.key, failed.invocation_id)
    if committed is not None and await _is_head(container, failed.key, committed):
        # First, and what else is left after it: cut off in between, the turn is seen to be undone.
        await restore_state(
            container.journal,
            failed.key,
            failed.previous,
            kind=CommitKind.ABORT,
            invocation_id=failed.invocation_id,
            at=now,
        )
    if kept is not None and committed is not None and _is_answer_of(kept, committed):
        # It was cut off after its words were written, and before its answer was told.
        await _retire_undone(container, failed.key)
    if failed.turn_input is not None and not _is_of_another(kept, committed):
        await container.evidence.record(
            failed.key,
            Interaction(
                turn=failed.previous.turn + 1,
                invocation_id=failed.invocation_id,
                input=failed.turn_input,
                tool_calls=list(failed.tool_calls),
                tool_results=list(failed.tool_results),
                outcome=Outcome.FAILED,
                created_at=now,
            ),
        )


async def _retire_undone(container: Container, key: SessionKey) -> None:
    head = await container.journal.head(key)
    await container.artifacts.retire(key, head.state.turn if head else 0)


async def _is_head(container: Container, key: SessionKey, entry: JournalEntry) -> bool:
    head = await container.journal.head(key)
    return head is not None and head.state.version == entry.state.version


def _is_answer_of(kept: Interaction, committed: JournalEntry) -> bool:
    return kept.outcome is Outcome.ANSWERED and kept.ccs_version == committed.state.version


def _is_of_another(kept: Interaction | None, committed: JournalEntry | None) -> bool:
    """Whether what is kept under the name of the failed turn is another turn's answer."""
    if kept is None or kept.outcome is Outcome.FAILED:
        return False
    return kept.ccs_version != (committed.state.version if committed else None)

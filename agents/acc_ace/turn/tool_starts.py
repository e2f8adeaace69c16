"""Tool calls that turns which died have started: nobody knows what came of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from acc_ace.container import Container
from acc_ace.schemas.artifact import Artifact, ArtifactKind
from acc_ace.schemas.base import Authority, SessionKey
from acc_ace.schemas.interaction import (
    Interaction,
    Outcome,
    ToolCall,
    ToolResult,
    ToolStart,
    TurnInput,
)

_FAILED_TURNS = 10
"""Newest turns among which a started call is looked for."""

_CALL_CHARS = 200


async def lost_calls(container: Container, key: SessionKey) -> "Sequence[LostCall]":
    """What is unsettled of turns that died or failed; the caller holds the session.

    Raises StoreError.
    """
    starts = await container.tool_starts.unsettled(key)
    if not starts:
        return ()
    newest = await container.evidence.list(key, limit=_FAILED_TURNS)
    failed = [turn for turn in newest if turn.outcome is Outcome.FAILED]
    return [LostCall(key, start, failed) for start in starts]


class LostCall:
    """One call that no commit has settled."""

    def __init__(self, key: SessionKey, start: ToolStart, failed: Sequence[Interaction]) -> None:
        """`failed` are the newest turns that failed, which may have kept the call."""
        self.id = start.call_id
        self._key, self._start = key, start
        self._kept = any(call.id == start.call_id for turn in failed for call in turn.tool_calls)
        results = [result for turn in failed for result in turn.tool_results]
        self._result = next((each for each in results if each.tool_call_id == self.id), None)

    @property
    def warning(self) -> str:
        """What the model and the user are shown, once."""
        call = call_text(self._start.name, self._start.args)
        if self._result is None:
            return f"outcome unknown: {call}; it was started in a turn that ended without an answer"
        ended = "failed" if self._result.is_error else "was run"
        return f"{call} {ended} in a turn that ended without an answer"

    @property
    def evidence(self) -> Interaction | None:
        """The turn that died in the call; None when its failure was kept as evidence."""
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
        """The call as a candidate of recall."""
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

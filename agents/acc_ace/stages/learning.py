"""What the Reflector and the Curator share: the finished turn, and values handed on."""

from typing import TypeVar

from google.adk.agents.invocation_context import InvocationContext

from acc_ace.stages.needs import needed
from acc_ace.turn_record import TurnRecord
from core.turn.learning import TurnOutcome
from schemas.base import Value

V = TypeVar("V", bound=Value)


def turn_outcome(record: TurnRecord) -> TurnOutcome:
    """The finished turn; raises LookupError when it was not answered."""
    return TurnOutcome(
        turn_input=needed(record.turn_input, "turn_input", "learning"),
        state=needed(record.committed, "committed", "learning").state,
        generation=needed(record.generation, "generation", "learning"),
        tool_results=record.tool_results,
        previous=record.previous_turn,
        warnings=record.warnings,
    )


def handed_on(ctx: InvocationContext, key: str, schema: type[V]) -> V | None:
    """The value that an earlier stage of this turn has handed on, or None."""
    value = ctx.session.state.get(key)
    return None if value is None else schema.model_validate(value)

"""Secrets in what is stored of a turn are masked; its own model has seen them as they were said."""

from acc_ace.core.schemas.interaction import Interaction, TurnInput
from acc_ace.core.text.redaction import mask_secrets


def masked_input(said: TurnInput) -> TurnInput:
    """x_t as memory takes it."""
    attached = tuple(
        each.model_copy(update={"text": mask_secrets(each.text)}) for each in said.attachments
    )
    return said.model_copy(update={"text": mask_secrets(said.text), "attachments": attached})


def masked_turn(turn: Interaction) -> Interaction:
    """The evidence of a turn with its answer and the results of its tools masked."""
    decision = turn.decision and turn.decision.model_copy(
        update={"final_answer": mask_secrets(turn.decision.final_answer)}
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
    return turn.model_copy(update={"decision": decision, "tool_results": results})

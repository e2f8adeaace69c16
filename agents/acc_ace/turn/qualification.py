"""Step 3, Qualify: A_t to A_t+. Rules first; the model judges only what the rules leave."""

from dataclasses import dataclass
from datetime import datetime

from acc_ace.gates.qualification_gate import conclude, screen
from acc_ace.schemas.artifact import Recall
from acc_ace.schemas.commit import CommittedState
from acc_ace.schemas.interaction import TurnInput
from acc_ace.schemas.limits import Limits
from acc_ace.schemas.qualification import Qualification, RelevanceBatch
from acc_ace.schemas.tenancy import SessionKey
from acc_ace.text.prompt import Prompt
from acc_ace.turn.completion import Completion
from acc_ace.turn.prompt_values import artifact_values, input_value, state_value
from acc_ace.turn.reply_parsing import parser
from acc_ace.turn.structured_call import Asked, ask


@dataclass(frozen=True)
class Qualified:
    """A_t+ with verdicts, and what the model call cost (none when nothing was left to judge)."""

    qualification: Qualification
    asked: Asked[RelevanceBatch]


async def qualify(
    recalled: Recall,
    *,
    key: SessionKey,
    turn_input: TurnInput,
    previous: CommittedState,
    now: datetime,
    limits: Limits,
    completion: Completion,
    prompt: Prompt,
) -> Qualified:
    """Screen by rule, let the model judge the rest in one call, conclude.

    A model that is down qualifies nothing: the unjudged stay out.
    """
    screening = screen(recalled, key=key, state=previous, now=now, limits=limits)
    asked: Asked[RelevanceBatch] = Asked(value=None)
    if screening.to_judge:
        inputs = {
            "current_input": input_value(turn_input),
            "previous_state": state_value(previous),
            "candidates": artifact_values(screening.to_judge, limits),
        }
        asked = await ask(
            completion, prompt, inputs, parser(RelevanceBatch), repairs=limits.repairs
        )
    return Qualified(conclude(screening, asked.value, limits=limits), asked)

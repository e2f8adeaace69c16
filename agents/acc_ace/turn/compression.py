"""Step 4, Compress: x_t, CCS_{t-1} and A_t+ become CCS_t through the CCM and the commit gate."""

from dataclasses import dataclass

from acc_ace.gates.ccs_output import parse_ccs
from acc_ace.gates.commit_gate import GateResult, commit
from acc_ace.schemas.ccs import CompressedCognitiveState
from acc_ace.schemas.commit import CommittedState
from acc_ace.schemas.interaction import TurnInput
from acc_ace.schemas.limits import Limits
from acc_ace.schemas.qualification import Qualification
from acc_ace.text.prompt import Prompt
from acc_ace.turn.completion import Completion
from acc_ace.turn.prompt_values import artifact_values, input_value, state_value
from acc_ace.turn.structured_call import Asked, ask


@dataclass(frozen=True)
class Compressed:
    """What the gate made of the CCM's proposal, and what the call cost."""

    gate: GateResult
    asked: Asked[CompressedCognitiveState]

    @property
    def warnings(self) -> tuple[str, ...]:
        """Of the model and of the gate, in that order."""
        return (*self.asked.warnings, *self.gate.warnings)


async def compress(
    qualification: Qualification,
    *,
    turn_input: TurnInput,
    previous: CommittedState,
    limits: Limits,
    completion: Completion,
    prompt: Prompt,
) -> Compressed:
    """Ask the CCM for CCS_t and pass whatever it said through the gate.

    Raises ConstraintBudgetError when the constraints alone are over budget.
    """
    inputs = {
        "current_input": input_value(turn_input),
        "previous_state": state_value(previous),
        "artifacts": artifact_values(qualification.qualified, limits),
    }
    asked = await ask(completion, prompt, inputs, parse_ccs, repairs=limits.repairs)
    gate = commit(
        previous,
        asked.value,
        turn_input,
        known_artifacts={artifact.artifact_id for artifact in qualification.qualified},
        limits=limits,
    )
    return Compressed(gate, asked)

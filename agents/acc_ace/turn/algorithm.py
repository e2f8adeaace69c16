"""Algorithm 1 by its ports: recall, qualify, compress, decide, keep; T turns over them.

The pipeline, the plugin and the controller fill these steps with stores, gates and models. Whoever
brings steps of their own, or none but in memory, runs them with `run_turns`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from acc_ace.schemas.artifact import Recall
from acc_ace.schemas.commit import CommittedState
from acc_ace.schemas.interaction import GeneratorOutput, TurnInput
from acc_ace.schemas.qualification import Qualification


class RecallPort(Protocol):
    """Step 2: A_t from external memory."""

    async def recall(self, x_t: TurnInput, previous: CommittedState) -> Recall:
        """Candidates for x_t and CCS_{t-1}, a bounded number."""
        ...


class QualificationPort(Protocol):
    """Step 3: A_t to A_t+."""

    async def qualify(
        self, recalled: Recall, x_t: TurnInput, previous: CommittedState
    ) -> Qualification:
        """What the current decision needs of the candidates."""
        ...


class CompressionPort(Protocol):
    """Step 4: CCS_{t-1} is replaced by CCS_t."""

    async def compress(
        self, qualified: Qualification, x_t: TurnInput, previous: CommittedState
    ) -> CommittedState:
        """CCS_t, bounded and checked; of turn t."""
        ...


class DecisionPort(Protocol):
    """Step 5: the agent acts, conditioned on CCS_t and x_t alone."""

    async def decide(self, state: CommittedState, x_t: TurnInput) -> GeneratorOutput:
        """The answer."""
        ...


class EvidencePort(Protocol):
    """What is kept of a turn outside of the state, for later recall."""

    async def keep(self, x_t: TurnInput, state: CommittedState, decision: GeneratorOutput) -> None:
        """Keep CCS_t and the turn together, or neither."""
        ...


@dataclass(frozen=True)
class Ports:
    """The five steps of a turn."""

    recall: RecallPort
    qualification: QualificationPort
    compression: CompressionPort
    decision: DecisionPort
    evidence: EvidencePort


class Turn(NamedTuple):
    """CCS_t, and what was decided with it."""

    state: CommittedState
    decision: GeneratorOutput


async def run_turns(
    ports: Ports, inputs: Iterable[TurnInput], *, begin: CommittedState | None = None
) -> list[Turn]:
    """Run a turn for each input, from CCS_0 or another state.

    A step that fails ends it: the turns before are kept, and nothing of its own.
    """
    state, turns = begin or CommittedState(), list[Turn]()
    for x_t in inputs:
        recalled = await ports.recall.recall(x_t, state)
        qualified = await ports.qualification.qualify(recalled, x_t, state)
        compressed = await ports.compression.compress(qualified, x_t, state)
        decision = await ports.decision.decide(compressed, x_t)
        await ports.evidence.keep(x_t, compressed, decision)
        state = compressed
        turns.append(Turn(state, decision))
    return turns

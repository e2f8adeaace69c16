"""Algorithm 1 over ports of your own, without stores, models or settings.

The pipeline, the plugin and the controller run the same five steps over the stores and models of
the process: `acc_ace.turn.lifecycle`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from acc_ace.core.schemas.artifact import Recall
from acc_ace.core.schemas.commit import CommittedState, JournalEntry
from acc_ace.core.schemas.interaction import GeneratorOutput, TurnInput
from acc_ace.core.schemas.qualification import Qualification
from acc_ace.core.text.arguments import checked


@runtime_checkable
class RecallPort(Protocol):
    """Step 2: A_t from external memory."""

    async def recall(self, x_t: TurnInput, previous: CommittedState) -> Recall:
        """A bounded number of candidates for x_t and CCS_{t-1}."""
        ...


@runtime_checkable
class QualificationPort(Protocol):
    """Step 3: A_t to A_t+."""

    async def qualify(
        self, recalled: Recall, x_t: TurnInput, previous: CommittedState
    ) -> Qualification:
        """Select the candidates that the current decision needs."""
        ...


@runtime_checkable
class CompressionPort(Protocol):
    """Step 4: CCS_{t-1} is replaced by CCS_t."""

    async def compress(
        self, qualified: Qualification, x_t: TurnInput, previous: CommittedState
    ) -> JournalEntry:
        """CCS_t of turn t, bounded and validated, with its diff from CCS_{t-1}."""
        ...


@runtime_checkable
class DecisionPort(Protocol):
    """Step 5: the agent acts, conditioned on CCS_t and x_t alone."""

    async def decide(self, state: CommittedState, x_t: TurnInput) -> GeneratorOutput | None:
        """The answer; None when the turn pauses for a person or the caller."""
        ...


@runtime_checkable
class EvidencePort(Protocol):
    """Stores the evidence of a turn, outside of the state, for later recall."""

    async def keep(
        self, x_t: TurnInput, state: CommittedState, decision: GeneratorOutput | None
    ) -> None:
        """Store CCS_t and the turn atomically."""
        ...


@dataclass(frozen=True)
class Ports:
    """The ports that the steps of a turn use."""

    recall: RecallPort
    qualification: QualificationPort
    compression: CompressionPort
    decision: DecisionPort
    evidence: EvidencePort


@dataclass(frozen=True)
class Turn:
    """One turn, as its steps have made it."""

    turn_input: TurnInput
    previous: CommittedState
    recalled: Recall
    qualification: Qualification
    entry: JournalEntry
    decision: GeneratorOutput | None

    @property
    def state(self) -> CommittedState:
        """CCS_t."""
        return self.entry.state


async def run_turn(ports: Ports, x_t: TurnInput, previous: CommittedState) -> Turn:
    """Recall, qualify, compress, decide, keep. An exception of a port ends the turn."""
    recalled = await ports.recall.recall(x_t, previous)
    qualified = await ports.qualification.qualify(recalled, x_t, previous)
    entry = await ports.compression.compress(qualified, x_t, previous)
    decision = await ports.decision.decide(entry.state, x_t)
    await ports.evidence.keep(x_t, entry.state, decision)
    return Turn(x_t, previous, recalled, qualified, entry, decision)


@checked
async def run_turns(
    ports: Ports, inputs: Iterable[TurnInput], *, begin: CommittedState | None = None
) -> list[Turn]:
    """Run a turn for each input, from CCS_0 or another state.

    A failing step ends the run: earlier turns are kept, nothing of the failed turn is.
    """
    checked(Ports)(**vars(ports))
    previous, turns = begin or CommittedState(), list[Turn]()
    for x_t in inputs:
        turn = await run_turn(ports, x_t, previous)
        previous = turn.state
        turns.append(turn)
    return turns

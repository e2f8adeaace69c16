"""Algorithm 1: the steps of a turn over its ports, and a loop of T turns.

`STEPS` is the single list of steps. The pipeline runs one step per stage, the plugin runs
`PREPARATION` before the agent decides, and the controller runs them all; their ports are in
`acc_ace.turn.steps`. With custom ports, call `run_turns`.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, TypeVar, runtime_checkable

from acc_ace.core.schemas.artifact import Recall
from acc_ace.core.schemas.commit import CommittedState, JournalEntry
from acc_ace.core.schemas.interaction import GeneratorOutput, TurnInput
from acc_ace.core.schemas.qualification import Qualification
from acc_ace.core.text.arguments import checked
from acc_ace.errors import ConfigError


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


@dataclass(kw_only=True)
class Turn:
    """The context of one turn; each step requires some of its values and provides others."""

    turn_input: TurnInput | None = None
    previous: CommittedState = field(default_factory=CommittedState)
    recalled: Recall = field(default_factory=Recall)
    qualification: Qualification = field(default_factory=Qualification)
    entry: JournalEntry | None = None
    """The prepared CCS_t; the turn's commit writes it."""
    decision: GeneratorOutput | None = None
    """The answer."""

    @property
    def state(self) -> CommittedState:
        """CCS_t. Raises LookupError before it is prepared."""
        return require(self.entry, "entry", "turn").state

    @property
    def x_t(self) -> TurnInput:
        """The turn's input. Raises LookupError before it is set."""
        return require(self.turn_input, "turn_input", "turn")


T = TypeVar("T")


def require(value: T | None, name: str, stage: str) -> T:
    """Return the value; raises LookupError when no earlier stage has provided it."""
    if value is None:
        raise LookupError(f"stage '{stage}' needs '{name}', which no earlier stage has provided")
    return value


async def _recall(ports: Ports, turn: Turn) -> None:
    turn.recalled = await ports.recall.recall(turn.x_t, turn.previous)


async def _qualify(ports: Ports, turn: Turn) -> None:
    turn.qualification = await ports.qualification.qualify(turn.recalled, turn.x_t, turn.previous)


async def _compress(ports: Ports, turn: Turn) -> None:
    turn.entry = await ports.compression.compress(turn.qualification, turn.x_t, turn.previous)


async def _decide(ports: Ports, turn: Turn) -> None:
    turn.decision = await ports.decision.decide(turn.state, turn.x_t)


async def _keep(ports: Ports, turn: Turn) -> None:
    await ports.evidence.keep(turn.x_t, turn.state, turn.decision)


class Step(NamedTuple):
    """A step, and the names of the turn's values that it requires and provides."""

    name: str
    run: Callable[[Ports, Turn], Awaitable[None]]
    requires: frozenset[str]
    provides: frozenset[str]


OPENED: Final = frozenset({"turn_input", "previous"})
"""Values that a turn has before its first step."""

RECALL: Final = Step("recaller", _recall, OPENED, frozenset({"recalled"}))
QUALIFY: Final = Step("qualifier", _qualify, OPENED | {"recalled"}, frozenset({"qualification"}))
COMPRESS: Final = Step("compressor", _compress, OPENED | {"qualification"}, frozenset({"entry"}))
DECIDE: Final = Step(
    "generator", _decide, frozenset({"turn_input", "entry"}), frozenset({"decision"})
)
KEEP: Final = Step("evidence", _keep, frozenset({"turn_input", "entry", "decision"}), frozenset())

PREPARATION: Final = (RECALL, QUALIFY, COMPRESS)
STEPS: Final = (*PREPARATION, DECIDE, KEEP)


class Ordered(Protocol):
    """A step or stage that declares the turn's values it requires and provides."""

    @property
    def name(self) -> str:
        """Its name, for error messages."""
        ...

    @property
    def requires(self) -> frozenset[str]:
        """Values that earlier stages must have provided."""
        ...

    @property
    def provides(self) -> frozenset[str]:
        """Values that it adds to the turn."""
        ...


def check_order(stages: Iterable[Ordered], *, provided: frozenset[str] = frozenset()) -> None:
    """Raise ConfigError unless earlier stages provide what each stage requires.

    `provided` names the values available before the first stage.
    """
    for stage in stages:
        if missing := sorted(stage.requires - provided):
            raise ConfigError(
                f"stage '{stage.name}' requires {', '.join(missing)}, which no stage before it "
                "provides; put the stages into the order of the pipeline"
            )
        provided |= stage.provides


async def run_steps(steps: Iterable[Step], ports: Ports, turn: Turn) -> None:
    """Run steps of a turn in order. An exception of a port ends the run."""
    for step in steps:
        await step.run(ports, turn)


@checked
async def run_turns(
    ports: Ports, inputs: Iterable[TurnInput], *, begin: CommittedState | None = None
) -> list[Turn]:
    """Run a turn for each input, from CCS_0 or another state.

    A failing step ends the run: earlier turns are kept, nothing of the failed turn is.
    """
    checked(Ports)(**vars(ports))
    check_order(STEPS, provided=OPENED)
    previous, turns = begin or CommittedState(), list[Turn]()
    for x_t in inputs:
        turn = Turn(turn_input=x_t, previous=previous)
        await run_steps(STEPS, ports, turn)
        previous = turn.state
        turns.append(turn)
    return turns

"""What a running turn has done so far: filled by the stages, read for the report.

What its steps hand to one another is the context of `acc_ace.turn.algorithm`.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from acc_ace.schemas.artifact import Artifact
from acc_ace.schemas.base import MemoryName, PlaybookScope, SessionKey
from acc_ace.schemas.commit import ConstraintPin, Release
from acc_ace.schemas.delta import DeltaBatch, DeltaResult
from acc_ace.schemas.interaction import (
    GuardDecision,
    Interaction,
    ToolCall,
    ToolResult,
    TurnInput,
)
from acc_ace.schemas.memory import MemoryContext
from acc_ace.schemas.playbook import StoredPlaybook
from acc_ace.schemas.qualification import QualificationVerdict
from acc_ace.schemas.reflection import Feedback, Reflection
from acc_ace.schemas.report import ReportedLearning, Stage, StageFinished, StageStarted, TurnEvent
from acc_ace.schemas.session import SessionRecord
from acc_ace.turn.algorithm import Turn
from acc_ace.turn.ports import HeldEvents
from acc_ace.turn.reflection_step import TurnOutcome
from acc_ace.turn.structured_call import StructuredResult

Listener = Callable[[TurnEvent], None]


@dataclass
class StageUse:
    """What one stage cost."""

    tokens_in: int = 0
    tokens_out: int = 0
    calls: int = 0
    model: str = ""
    ms: float = 0.0

    def count(self, asked: StructuredResult[Any]) -> None:
        """Count the model calls of a question; the model named last is the one that answered."""
        self.tokens_in += asked.tokens_in
        self.tokens_out += asked.tokens_out
        self.calls += asked.calls
        self.model = asked.model or self.model


@dataclass
class TurnRecord(Turn):
    """One turn in progress. Lives in the process only; what must last is in the stores."""

    key: SessionKey
    invocation_id: str
    """The name of its evidence: that of its invocation, unless that was answered before."""
    listener: Listener | None = None
    memory: MemoryName = "acc"
    context: MemoryContext | None = None
    """With a classic memory: the messages that the Generator is shown."""
    session: SessionRecord | None = None
    previous_turn: Interaction | None = None
    playbook: StoredPlaybook | None = None
    playbook_scope: PlaybookScope | None = None
    """Whose playbook it is; None before it was loaded."""
    marks_playbook: bool = False
    """Whether session.state shows the playbook's version alone: each event would carry it all."""
    known: tuple[QualificationVerdict, ...] = ()
    """At the begin of a session: the gate's word on the notes of earlier ones."""
    is_written: bool = False
    """Whether CCS_t stands in the journal."""
    held: HeldEvents | None = None
    """The turn's events, where the session service holds them back."""
    idempotency_key: str = ""
    """What the caller named the turn, so that a repeat of it runs nothing."""
    started: set[str] = field(default_factory=set)
    """Ids of the calls that this turn, or one that died, has started; its commit settles them."""
    is_committed: bool = False
    """Whether this run has committed it; a run that goes on after a pause may still fail."""
    failure_id: str = ""
    """The name of its evidence if it fails, where another one has its own."""
    started_before: dict[str, str] = field(default_factory=dict)
    """Of calls that a turn which died has started, by id: what is known of them."""
    lost: list[Interaction] = field(default_factory=list)
    """What turns that died have left, to be committed with this one."""
    lost_calls: list[Artifact] = field(default_factory=list)
    """The same as the model is shown it."""
    model_calls: int = 0
    """Of the Generator so far."""
    tool_calls: list[ToolCall] = field(default_factory=list)
    tool_results: list[ToolResult] = field(default_factory=list)
    guarded: list[GuardDecision] = field(default_factory=list)
    """Tool calls that were held against the rules."""
    call_ids: set[str] = field(default_factory=set)
    """Ids that another tool call of this turn may not have."""
    streamed_ids: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    """Of replies that are still streamed, by run and agent: a call's id by the model's id."""
    tools_started: int = 0
    """By the Generator so far, those that were not run for being too many included."""
    feedback: tuple[Feedback, ...] = ()
    """What came with the turn of its answer; only Reflector and Curator see it."""
    outcome: TurnOutcome | None = None
    """What is learnt from, once the Reflector has looked at it."""
    reflection: Reflection | None = None
    """Of this turn; what stands in session.state could be an older one, or a client's."""
    batch: DeltaBatch | None = None
    """What the Curator proposes in this turn."""
    deltas: list[DeltaResult] = field(default_factory=list)
    learning: ReportedLearning = field(default_factory=ReportedLearning)
    warnings: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    """What the answer says of rules, below what the agent says."""
    dropped: list[Release] = field(default_factory=list)
    """Rules that a state which the caller edited leaves out."""
    stages: dict[Stage, StageUse] = field(default_factory=dict)
    answered: bool = False
    paused: bool = False

    @property
    def rules(self) -> list[ConstraintPin]:
        """The rules in force: of CCS_t once it is there, until then of CCS_{t-1}."""
        return (self.entry.state if self.entry else self.previous).pins

    def emit(self, event: TurnEvent) -> None:
        """Pass an event to whoever listens to this turn."""
        if self.listener is not None:
            self.listener(event)

    def warn(self, *warnings: str) -> None:
        """Note warnings, each once."""
        self.warnings.extend(w for w in warnings if w not in self.warnings)

    @contextmanager
    def timed(self, stage: Stage) -> Iterator[StageUse]:
        """Time work for a stage without telling of it: the second half of a pair."""
        use = self.stages.setdefault(stage, StageUse())
        started = time.perf_counter()
        try:
            yield use
        finally:
            use.ms += (time.perf_counter() - started) * 1_000

    @contextmanager
    def stage(self, stage: Stage) -> Iterator[StageUse]:
        """Time a stage and tell its start and end; the stage adds its model calls."""
        self.emit(StageStarted(stage=stage))
        try:
            with self.timed(stage) as use:
                yield use
        finally:
            use = self.stages[stage]
            self.emit(
                StageFinished(
                    stage=stage,
                    ms=round(use.ms, 3),
                    model=use.model or None,
                    tokens_in=use.tokens_in,
                    tokens_out=use.tokens_out,
                )
            )


class TurnRequest(NamedTuple):
    """What the caller of a turn wants beside its words."""

    listener: Listener | None = None
    idempotency_key: str = ""
    input: TurnInput | None = None


class TurnRecords:
    """The turns running in this process, at most one a session (the session lock sees to it)."""

    def __init__(self) -> None:
        self._running: dict[SessionKey, TurnRecord] = {}
        # By task, as several turns may wait for one session at the same time, and by session, as
        # a task that a tool begins and leaves inherits it, and may run turns of others.
        self._requested: ContextVar[tuple[SessionKey, TurnRequest] | None] = ContextVar(
            "turn_request", default=None
        )

    def request(self, key: SessionKey, request: TurnRequest) -> None:
        """Say what is wanted of the turn of a session that the current task runs."""
        self._requested.set((key, request))

    def requested(self, key: SessionKey) -> TurnRequest:
        """What is wanted of the turn of a session that the current task runs."""
        session, request = self._requested.get() or (None, TurnRequest())
        return request if session == key else TurnRequest()

    def begin(self, key: SessionKey, invocation_id: str) -> TurnRecord:
        """Open the record of a turn."""
        request = self.requested(key)
        record = TurnRecord(key, invocation_id, request.listener)
        record.idempotency_key = request.idempotency_key
        self._running[key] = record
        return record

    def get(self, key: SessionKey) -> TurnRecord:
        """The running turn of a session; raises LookupError outside a turn."""
        try:
            return self._running[key]
        except KeyError:
            raise LookupError(
                f"no turn of session '{key.session}' is running: stages run inside the pipeline"
            ) from None

    def end(self, key: SessionKey) -> None:
        """Close the record of a turn."""
        self._running.pop(key, None)

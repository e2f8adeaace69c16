"""The state of a running turn: filled by the stages, read for the report.

The values that steps pass on are in the base class, `acc_ace.turn.algorithm.Turn`.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import uuid4

from acc_ace.clock import TimeBudget
from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.schemas.base import PlaybookScope, SessionKey
from acc_ace.core.schemas.commit import ConstraintPin, Release
from acc_ace.core.schemas.cost import REPLAY, Totals
from acc_ace.core.schemas.delta import DeltaBatch, DeltaResult
from acc_ace.core.schemas.interaction import (
    GuardDecision,
    Interaction,
    ToolCall,
    ToolResult,
    TurnInput,
)
from acc_ace.core.schemas.playbook import StoredPlaybook
from acc_ace.core.schemas.qualification import QualificationVerdict
from acc_ace.core.schemas.reflection import Feedback, Reflection
from acc_ace.core.schemas.report import (
    ReportedLearning,
    Stage,
    StageFinished,
    StageStarted,
    TokenUse,
    TurnEvent,
)
from acc_ace.core.schemas.session import SessionRecord
from acc_ace.core.schemas.trace import ModelCall, RequestPart
from acc_ace.turn.algorithm import Turn
from acc_ace.turn.ports import HeldEvents
from acc_ace.turn.reflection_step import TurnOutcome
from acc_ace.turn.structured_call import StructuredResult

Listener = Callable[[TurnEvent], None]

_WHOLE_CALLS = 64
"""Model calls of a run whose requests are kept; of later ones only the cost and the reply are."""


class SentRequest(NamedTuple):
    """A request of an answering agent that waits for its reply."""

    parts: Callable[[], tuple[RequestPart, ...]]
    started: float


@dataclass
class StageUse:
    """Tokens, calls and time of one stage."""

    tokens: TokenUse = field(default_factory=TokenUse)
    model: str = ""
    ms: float = 0.0
    by_model: dict[str, TokenUse] = field(default_factory=dict)
    """The same tokens by the model that took them, as each has its price."""

    def count(self, asked: StructuredResult[Any]) -> None:
        """Add the cost of a structured call; `model` is the model that answered last."""
        self.add(asked.use, asked.model)
        self.model = asked.model or self.model

    def add(self, use: TokenUse, model: str) -> None:
        """Count calls of a model, which need not be the stage's own."""
        if use == TokenUse():
            return
        self.tokens += use
        self.by_model[model] = self.by_model.get(model, TokenUse()) + use

    def named(self) -> dict[str, TokenUse]:
        """`by_model`, with what a reply without a model's name took under the stage's model."""
        named = {model: use for model, use in self.by_model.items() if model}
        if "" in self.by_model:
            named[self.model] = named.get(self.model, TokenUse()) + self.by_model[""]
        return named


@dataclass
class TurnRecord(Turn):
    """One turn in progress. In memory only; durable data is in the stores."""

    key: SessionKey
    invocation_id: str
    """Key of its evidence: the invocation id, unless an earlier turn answered under it."""
    listener: Listener | None = None
    run: str = field(default_factory=lambda: uuid4().hex)
    """The name of this run among those whose cost is kept."""
    cost_before: Totals = field(default_factory=Totals)
    """What the session had cost before it."""
    used_kept: dict[str, dict[str, TokenUse]] = field(default_factory=dict)
    """What of its use is kept already, by stage and model."""
    replayed: TokenUse = field(default_factory=TokenUse)
    """What replaying the transcript would have used in its place."""
    """With a classic memory: the messages shown to the Generator."""
    session: SessionRecord | None = None
    previous_turn: Interaction | None = None
    playbook: StoredPlaybook | None = None
    playbook_scope: PlaybookScope | None = None
    """The playbook's scope; None before it is loaded."""
    marks_playbook: bool = False
    """Whether session.state has only the playbook's version, so events do not repeat it whole."""
    budget: TimeBudget = field(default_factory=lambda: TimeBudget(math.inf))
    """Time budget of the turn's model calls, running since the turn was opened."""
    known: tuple[QualificationVerdict, ...] = ()
    """At a session's start: the gate's verdicts on the notes of earlier sessions."""
    is_written: bool = False
    """Whether CCS_t is in the journal."""
    held: HeldEvents | None = None
    """The turn's events, where the session service buffers them."""
    idempotency_key: str = ""
    """The caller's key of the turn; a repeated key returns the committed turn."""
    started: set[str] = field(default_factory=set)
    """Ids of calls started by this turn or by turns that died; the commit settles them."""
    is_committed: bool = False
    """Whether this run has committed the turn; a run resumed after a pause may still fail."""
    failure_id: str = ""
    """Key of its evidence on failure, when the usual key is taken by a paused turn."""
    started_before: dict[str, str] = field(default_factory=dict)
    """Warnings about calls started by turns that died, by call id."""
    lost: list[Interaction] = field(default_factory=list)
    """Evidence of turns that died, committed with this turn."""
    saved: dict[str, str] = field(default_factory=dict)
    """Stages that asked no model, each with the reason."""
    lost_calls: list[Artifact] = field(default_factory=list)
    """The same as artifacts, shown to the model."""
    artifacts: list[Artifact] = field(default_factory=list)
    """What the decision leaves in external memory; committed with the turn."""
    leaves_turn: bool = True
    """Whether the turn itself is left there too; not where the decision keeps logs in its place."""
    needed: frozenset[str] = frozenset()
    """Ids of artifacts that are relevant whatever x_t asks, where they pass the gate's rules."""
    model_calls: int = 0
    """The Generator's model calls so far."""
    tool_calls: list[ToolCall] = field(default_factory=list)
    tool_results: list[ToolResult] = field(default_factory=list)
    guarded: list[GuardDecision] = field(default_factory=list)
    """Guard decisions on tool calls of this turn."""
    call_ids: set[str] = field(default_factory=set)
    """Tool call ids already used in this turn."""
    streamed_ids: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    """For replies being streamed, by run and agent: our call id by the model's id."""
    tools_started: int = 0
    """Tool calls of the Generator so far, including those rejected as too many."""
    feedback: tuple[Feedback, ...] = ()
    """Feedback sent with the turn; only the Reflector and the Curator see it."""
    outcome: TurnOutcome | None = None
    """The outcome to learn from; set when the Reflector runs."""
    reflection: Reflection | None = None
    """Of this turn; the one in session.state could be older or written by a client."""
    batch: DeltaBatch | None = None
    """The Curator's proposal in this turn."""
    deltas: list[DeltaResult] = field(default_factory=list)
    learning: ReportedLearning = field(default_factory=ReportedLearning)
    warnings: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    """Remarks about rules, appended to the answer."""
    dropped: list[Release] = field(default_factory=list)
    """Rules missing from a state that the caller edited."""
    stages: dict[Stage, StageUse] = field(default_factory=dict)
    sent: dict[tuple[str, str], SentRequest] = field(default_factory=dict)
    """Requests that wait for their reply, by run and agent."""
    calls: list[ModelCall] = field(default_factory=list)
    """Model calls of this run, in the order of their replies."""
    kept_calls: int = 0
    """How many of them are kept already."""
    redacted: dict[RequestPart, RequestPart] = field(default_factory=dict)
    """Their parts, as they are kept."""
    answered: bool = False
    paused: bool = False

    @property
    def number(self) -> int:
        """The number of the turn."""
        return self.entry.state.turn if self.entry else self.previous.turn + 1

    @property
    def rules(self) -> list[ConstraintPin]:
        """The constraints in force: those of CCS_t once it is prepared, else of CCS_{t-1}."""
        return (self.entry.state if self.entry else self.previous).pins

    @property
    def used(self) -> dict[str, dict[str, TokenUse]]:
        """Tokens by stage and model, replay's among them at the price of the Generator's model."""
        used: dict[str, dict[str, TokenUse]] = {
            stage: use.named() for stage, use in self.stages.items() if use.by_model
        }
        generator = self.stages.get("generator")
        if generator is not None and generator.model and self.replayed.calls:
            used[REPLAY] = {generator.model: self.replayed}
        return used

    def emit(self, event: TurnEvent) -> None:
        """Send an event to the turn's listener, if any."""
        if self.listener is not None:
            self.listener(event)

    def warn(self, *warnings: str) -> None:
        """Add warnings, without duplicates."""
        self.warnings.extend(w for w in warnings if w not in self.warnings)

    def count(self, use: StageUse, asked: StructuredResult[Any]) -> None:
        """Take a structured call's cost into its stage, and its warnings and calls here."""
        use.count(asked)
        self.warn(*asked.warnings)
        self.note_calls(*asked.calls)

    def note_calls(self, *calls: ModelCall) -> None:
        """Keep model calls."""
        for call in calls:
            is_whole = len(self.calls) < _WHOLE_CALLS
            self.calls.append(call if is_whole else call.model_copy(update={"parts": ()}))

    @contextmanager
    def timed(self, stage: Stage) -> Iterator[StageUse]:
        """Time work of a stage without emitting events."""
        self.budget.begin()
        use = self.stages.setdefault(stage, StageUse())
        started = time.perf_counter()
        try:
            yield use
        finally:
            use.ms += (time.perf_counter() - started) * 1_000

    @contextmanager
    def stage(self, stage: Stage) -> Iterator[StageUse]:
        """Time a stage and emit its start and end; the stage adds its model calls."""
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
                    tokens=use.tokens,
                )
            )


class TurnRequest(NamedTuple):
    """The caller's options for a turn."""

    listener: Listener | None = None
    idempotency_key: str = ""
    input: TurnInput | None = None


class TurnRecords:
    """The turns running in this process; the session lock allows one per session."""

    def __init__(self) -> None:
        self._running: dict[SessionKey, TurnRecord] = {}
        # Per task, since several turns may wait for one session at the same time, and per session,
        # since a background task started by a tool inherits it and may run other sessions' turns.
        self._requested: ContextVar[tuple[SessionKey, TurnRequest] | None] = ContextVar(
            "turn_request", default=None
        )

    def request(self, key: SessionKey, request: TurnRequest) -> None:
        """Set the options of the session's turn that the current task runs."""
        self._requested.set((key, request))

    def requested(self, key: SessionKey) -> TurnRequest:
        """The options of the session's turn that the current task runs."""
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

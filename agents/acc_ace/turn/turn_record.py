"""One turn in progress: what it starts from, what its steps have returned, what its agent did.

In memory only; durable data is in the stores. What is only measured is in its observer.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from acc_ace.core.schemas.artifact import Artifact, Recall
from acc_ace.core.schemas.base import PlaybookScope, SessionKey
from acc_ace.core.schemas.commit import CommittedState, ConstraintPin, JournalEntry, Release
from acc_ace.core.schemas.delta import DeltaBatch, DeltaResult
from acc_ace.core.schemas.interaction import (
    GeneratorOutput,
    GuardDecision,
    Interaction,
    ToolCall,
    ToolResult,
    TurnInput,
)
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.notes import below
from acc_ace.core.schemas.playbook import Playbook, StoredPlaybook
from acc_ace.core.schemas.qualification import Qualification, QualificationVerdict
from acc_ace.core.schemas.reflection import Feedback, Judgement, Reflection
from acc_ace.core.schemas.report import ReportedLearning, TurnEvent
from acc_ace.core.schemas.session import SessionRecord
from acc_ace.memory.long_input import brief_input
from acc_ace.memory.tail import SinceReading
from acc_ace.turn.observer import Listener, TurnObserver
from acc_ace.turn.ports import CcmMarks, EventBuffer
from acc_ace.turn.turn_commit import LostCall

T = TypeVar("T")


def require(value: T | None, name: str, stage: str) -> T:
    """Return the value; raises LookupError when no earlier stage has provided it."""
    if value is None:
        raise LookupError(f"stage '{stage}' needs '{name}', which no earlier stage has provided")
    return value


@dataclass(frozen=True)
class TurnStart:
    """What a turn starts from: x_t, CCS_{t-1}, and what the stores hold of its session."""

    key: SessionKey
    turn_input: TurnInput | None = None
    """None before the turn is opened: such a turn leaves no evidence."""
    previous: CommittedState = field(default_factory=CommittedState)
    invocation_id: str = ""
    """The invocation that runs it."""
    evidence_id: str = ""
    """Key of its evidence: the invocation id, unless an earlier turn answered under it."""
    failure_id: str = ""
    """Key of its evidence on failure, when the usual key is taken by a paused turn."""
    idempotency_key: str = ""
    """The caller's key of the turn; a repeated key returns the committed turn."""
    feedback: tuple[Feedback, ...] = ()
    """Feedback sent with the turn; only the Reflector and the Curator see it."""
    session: SessionRecord | None = None
    previous_turn: Interaction | None = None
    playbook_scope: PlaybookScope | None = None
    known: tuple[QualificationVerdict, ...] = ()
    """At a session's start: the gate's verdicts on the notes of earlier sessions."""
    lost: tuple[LostCall, ...] = ()
    """Calls of turns that died; committed with this turn."""
    guarded: tuple[GuardDecision, ...] = ()
    """Guard decisions of the turn before it paused."""
    since: SinceReading = field(default_factory=SinceReading)
    """What was said since a CCM last read."""
    erased: tuple[str, ...] = ()
    """What x_t had deleted of memory, as lines for the answer."""
    dropped: tuple[Release, ...] = ()
    """Rules missing from a state that the caller edited."""

    @property
    def x_t(self) -> TurnInput:
        """The turn's input. Raises LookupError before the turn is opened."""
        return require(self.turn_input, "turn_input", "turn")

    def brief(self, limits: Limits) -> TurnInput:
        """x_t as requests have it. Raises LookupError before the turn is opened."""
        return brief_input(self.x_t, self.key, self.previous.turn + 1, limits)

    @property
    def before(self) -> CommittedState:
        """CCS_{t-1} as a CCM made it, without what was said since."""
        return self.previous.model_copy(update={"ccs": self.previous.ccs.without_tail})


@dataclass(eq=False)
class ToolUse:
    """The tool loop of the answering agents."""

    calls: list[ToolCall] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)
    guarded: list[GuardDecision] = field(default_factory=list)
    """Guard decisions on these calls."""
    unkept: tuple[str, ...] = ()
    """What x_t says that may be a rule and is not kept; acts that it speaks of ask."""
    ids: set[str] = field(default_factory=set)
    """Call ids already used in the turn."""
    streamed: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    """For replies being streamed, by run and agent: our call id by the model's id."""
    found: set[str] = field(default_factory=set)
    """Ids of what a search of memory has shown."""
    acting: set[str] = field(default_factory=set)
    """Ids of calls with side effects that were started; the commit settles them."""
    started: int = 0
    """Calls of our Generator so far, including those rejected as too many."""
    replies: int = 0
    """Replies of its model so far."""


class CcmFinds(NamedTuple):
    """What a turn's commit keeps of the CCM's readings beside CCS_t."""

    facts: tuple[Artifact, ...] = ()
    """What the user said of themself."""
    marks: CcmMarks | None = None
    """How well the CCM has read the user's words."""

    def then(self, later: "CcmFinds") -> "CcmFinds":
        """With those of a later reading."""
        old, new = self.marks, later.marks
        marks = new._replace(marks=old.marks + new.marks) if old and new else new or old
        return CcmFinds((*self.facts, *later.facts), marks)


@dataclass(eq=False)
class LateReading:
    """How an act has the CCM read what the turn has left unread, once for all calls."""

    take: Callable[[], Awaitable[None]] | None = None
    """None where the CCM is asked in every turn."""
    is_done: bool = False
    """Whether all is read, or had its turn to be."""
    has_failed: bool = False
    """Whether no act has more read in this turn."""
    finds: CcmFinds = field(default_factory=CcmFinds)
    news: set[str] = field(default_factory=set)
    """Ids of the rules that it has found."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True)
class TurnOutcome:
    """x_t, CCS_t, the answer, tool results, and feedback on the answer."""

    turn_input: TurnInput
    state: CommittedState
    generation: GeneratorOutput
    tool_results: Sequence[ToolResult] = ()
    previous: Interaction | None = None
    """The turn before, which x_t may correct."""
    warnings: Sequence[str] = ()
    feedback: Sequence[Judgement] = ()
    documents: Sequence[str] = ()
    """Text of earlier tool results and documents that the turn was shown."""
    guarded: bool = False
    """Whether the guard found a tool call that breaks a constraint."""
    tool_calls: Sequence[ToolCall] = ()
    is_experience: bool = False
    """Whether its texts are the operator's samples or a world's measurements: nobody else spoke."""

    @property
    def used_ids(self) -> tuple[str, ...]:
        """Ids of the bullets used by the answer."""
        return tuple(self.generation.bullet_ids)

    @property
    def previous_ids(self) -> tuple[str, ...]:
        """Ids of the bullets used by the previous answer."""
        decision = self.previous.decision if self.previous else None
        return tuple(decision.bullet_ids) if decision else ()


@dataclass
class TurnReflection:
    """What Reflector and Curator make of the answered turn."""

    outcome: TurnOutcome | None = None
    """What is learnt from; None before the Reflector runs."""
    reflection: Reflection | None = None
    batch: DeltaBatch | None = None
    deltas: list[DeltaResult] = field(default_factory=list)
    report: ReportedLearning = field(default_factory=ReportedLearning)


@dataclass
class TurnRecord:
    """One turn in progress. `acc_ace.turn.lifecycle` fills it, step by step."""

    start: TurnStart
    observer: TurnObserver = field(default_factory=TurnObserver)
    buffer: EventBuffer | None = None
    """The turn's events, where the session service buffers them."""
    marks_playbook: bool = False
    """Whether session.state has only the playbook's version, so events do not repeat it whole."""
    playbook: StoredPlaybook | None = None
    """The newest version that the turn knows: it is answered with one, and may teach another."""
    recalled: Recall = field(default_factory=Recall)
    qualification: Qualification = field(default_factory=Qualification)
    entry: JournalEntry | None = None
    """The prepared CCS_t; the turn's commit writes it."""
    notes: tuple[str, ...] = ()
    """Remarks about rules, shown below the answer."""
    notes_apart: bool = False
    """Whether they stand beside the answer alone: a program reads it, or the caller shows them."""
    tools: ToolUse = field(default_factory=ToolUse)
    decision: GeneratorOutput | None = None
    """The answer."""
    artifacts: list[Artifact] = field(default_factory=list)
    """What the decision leaves in external memory; committed with the turn."""
    leaves_turn: bool = True
    """Whether the turn itself is left there too; not where the decision keeps logs in its place."""
    needed: frozenset[str] = frozenset()
    """Ids of artifacts that are relevant whatever x_t asks, where they pass the gate's rules."""
    reading: LateReading = field(default_factory=LateReading)
    is_written: bool = False
    """Whether CCS_t is in the journal."""
    is_committed: bool = False
    """Whether this run has committed the turn; a run resumed after a pause may still fail."""
    learning: TurnReflection = field(default_factory=TurnReflection)

    @property
    def key(self) -> SessionKey:
        """The session of the turn."""
        return self.start.key

    @property
    def state(self) -> CommittedState:
        """CCS_t. Raises LookupError before it is prepared."""
        return require(self.entry, "entry", "turn").state

    @property
    def latest(self) -> CommittedState:
        """CCS_t once it is prepared, else CCS_{t-1}."""
        return self.entry.state if self.entry else self.start.previous

    @property
    def number(self) -> int:
        """The number of the turn."""
        return self.entry.state.turn if self.entry else self.start.previous.turn + 1

    @property
    def unread(self) -> int:
        """How many messages of the user's no CCM has read to their end, x_t included."""
        if self.reading.is_done:
            return 0
        inputs = [*(each.input for each in self.start.since.news), self.start.x_t]
        return sum(each.authority.may_rule for each in inputs)

    @property
    def rules(self) -> list[ConstraintPin]:
        """The constraints in force."""
        return self.latest.pins

    @property
    def lessons(self) -> Playbook:
        """The lessons that the user may be shown. Raises LookupError before the turn is opened."""
        return require(self.playbook, "playbook", "turn").playbook.shown_to(self.key.user)

    @property
    def shown_notes(self) -> str:
        """What stands below the answer; '' for nothing."""
        return "" if self.notes_apart else below(self.notes)

    def add_notes(self, *lines: str) -> None:
        """Add lines to the notes, each once."""
        self.notes = tuple(dict.fromkeys((*self.notes, *lines)))

    def place_notes(self, *, apart: bool) -> None:
        """Say where the notes stand, before the answer is committed."""
        self.notes_apart = apart

    @property
    def answered(self) -> bool:
        """Whether this run has committed an answer."""
        return self.is_committed and self.decision is not None

    @property
    def paused(self) -> bool:
        """Whether this run has committed a pause: the turn waits for a person."""
        return self.is_committed and self.decision is None

    def take_feedback(self, *feedback: Feedback) -> None:
        """Note the feedback that came with the turn, as it stands now."""
        self.start = replace(self.start, feedback=feedback)


class TurnOptions(NamedTuple):
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
        self._requested: ContextVar[tuple[SessionKey, TurnOptions] | None] = ContextVar(
            "turn_request", default=None
        )

    def request(self, key: SessionKey, request: TurnOptions) -> None:
        """Set the options of the session's turn that the current task runs."""
        self._requested.set((key, request))

    def requested(self, key: SessionKey) -> TurnOptions:
        """The options of the session's turn that the current task runs."""
        session, request = self._requested.get() or (None, TurnOptions())
        return request if session == key else TurnOptions()

    def begin(
        self,
        key: SessionKey,
        invocation_id: str,
        *,
        buffer: EventBuffer | None = None,
        listener: Listener | None = None,
        marks_playbook: bool = False,
    ) -> TurnRecord:
        """Open the record of a turn; the caller's listener and `listener` hear it."""
        request = self.requested(key)
        listeners = [each for each in (listener, request.listener) if each is not None]

        def heard(event: TurnEvent) -> None:
            for each in listeners:
                each(event)

        start = TurnStart(key, invocation_id=invocation_id, idempotency_key=request.idempotency_key)
        record = TurnRecord(start, TurnObserver(heard), buffer, marks_playbook)
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

"""What a running turn has done so far: filled by the stages, read for the report."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from google.adk.events import Event

from core.errors import ConflictError
from core.ports.journal import Journal
from core.turn.asking import Asked
from core.turn.closing import FailedTurn
from core.turn.turn_outcome import TurnOutcome
from schemas.artifact import Recall
from schemas.commit import CommitKind, CommittedState, JournalEntry
from schemas.delta import DeltaBatch, DeltaResult
from schemas.generation import GeneratorOutput
from schemas.interaction import Interaction, ToolCall, ToolResult, TurnInput
from schemas.memory import MemoryContext
from schemas.memory_name import MemoryName
from schemas.playbook import StoredPlaybook
from schemas.qualification import Qualification, QualificationVerdict
from schemas.reflection import Reflection
from schemas.session import SessionRecord
from schemas.tenancy import PlaybookScope, SessionKey
from schemas.turn_event import Stage, StageFinished, StageStarted, TurnEvent

Listener = Callable[[TurnEvent], None]


@dataclass
class StageUse:
    """What one stage cost."""

    tokens_in: int = 0
    tokens_out: int = 0
    calls: int = 0
    model: str = ""
    ms: float = 0.0

    def count(self, asked: Asked[Any]) -> None:
        """Count the model calls of a question; the model named last is the one that answered."""
        self.tokens_in += asked.tokens_in
        self.tokens_out += asked.tokens_out
        self.calls += asked.calls
        self.model = asked.model or self.model


@dataclass
class TurnRecord:
    """One turn in progress. Lives in the process only; what must last is in the stores."""

    key: SessionKey
    invocation_id: str
    """The name of its evidence: that of its invocation, unless that was answered before."""
    listener: Listener | None = None
    turn_input: TurnInput | None = None
    memory: MemoryName = "acc"
    context: MemoryContext | None = None
    """With a classic memory: the messages that the Generator is shown."""
    session: SessionRecord | None = None
    previous: CommittedState = field(default_factory=CommittedState)
    previous_turn: Interaction | None = None
    playbook: StoredPlaybook | None = None
    playbook_scope: PlaybookScope | None = None
    """Whose playbook it is; None before it was loaded."""
    known: tuple[QualificationVerdict, ...] = ()
    """At the begin of a session: the gate's word on the notes of earlier ones."""
    recalled: Recall = field(default_factory=Recall)
    qualification: Qualification = field(default_factory=Qualification)
    committed: JournalEntry | None = None
    committing: "asyncio.Task[JournalEntry] | None" = None
    """The write of CCS_t, which a cancelled turn does not stop once it is under way."""
    generation: GeneratorOutput | None = None
    model_calls: int = 0
    """Of the Generator so far."""
    tool_calls: list[ToolCall] = field(default_factory=list)
    tool_results: list[ToolResult] = field(default_factory=list)
    call_ids: set[str] = field(default_factory=set)
    """Ids that another tool call of this turn may not have."""
    streamed_ids: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    """Of replies that are still streamed, by run and agent: a call's id by the model's id."""
    tools_begun: int = 0
    """By the Generator so far, those that were not run for being too many included."""
    outcome: TurnOutcome | None = None
    """What is learnt from, once the Reflector has looked at it."""
    reflection: Reflection | None = None
    """Of this turn; what stands in session.state could be an older one, or a client's."""
    batch: DeltaBatch | None = None
    """What the Curator proposes in this turn."""
    deltas: list[DeltaResult] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    stages: dict[Stage, StageUse] = field(default_factory=dict)
    answered: bool = False
    answer_after: Event | None = None
    """While the answer is handed over to be stored: the newest event of the session before it."""
    paused: bool = False

    async def commit(self, work: Coroutine[Any, Any, JournalEntry]) -> JournalEntry:
        """Commit CCS_t. Raises what the work raises."""
        self.committing = asyncio.create_task(work)
        self.committed = await asyncio.shield(self.committing)
        return self.committed

    async def commit_ended(self, journal: Journal) -> None:
        """Find out what was committed, however the turn ended in it, so that it is undone.

        Raises StoreError.
        """
        committing = self.committing
        if self.committed is not None or committing is None:
            return
        if not (is_lost := committing.get_loop().is_closed()):
            await asyncio.wait([committing])
        is_cut = is_lost or committing.cancelled()
        error = None if is_cut else committing.exception()
        if not is_cut and error is None:
            self.committed = committing.result()
        elif not isinstance(error, ConflictError):
            # The end of the event loop does not stop the write itself, and a store that was lost
            # before it could tell may have written. A conflict tells that it has not: what stands
            # there is another turn's, maybe of the same name.
            self.committed = await self._written(journal)

    async def _written(self, journal: Journal) -> JournalEntry | None:
        head = await journal.head(self.key)
        if head is None or head.kind not in {CommitKind.COMMIT, CommitKind.KEPT}:
            return None
        version = self.previous.version + 1
        names = {head.invocation_id, f"{head.invocation_id}/{version}"}
        is_own = head.state.version == version and self.invocation_id in names
        return head if is_own else None

    def failure(self) -> FailedTurn:
        """What the turn had done, for undoing it."""
        return FailedTurn(
            key=self.key,
            invocation_id=self.invocation_id,
            previous=self.previous,
            turn_input=self.turn_input,
            committed=self.committed,
            tool_calls=tuple(self.tool_calls),
            tool_results=tuple(self.tool_results),
        )

    def tell(self, event: TurnEvent) -> None:
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
        self.tell(StageStarted(stage=stage))
        try:
            with self.timed(stage) as use:
                yield use
        finally:
            use = self.stages[stage]
            self.tell(
                StageFinished(
                    stage=stage,
                    ms=round(use.ms, 3),
                    model=use.model or None,
                    tokens_in=use.tokens_in,
                    tokens_out=use.tokens_out,
                )
            )


class TurnRecords:
    """The turns running in this process, at most one a session (the session lock sees to it)."""

    def __init__(self) -> None:
        self._running: dict[SessionKey, TurnRecord] = {}
        # By task, as several turns may wait for one session at the same time, and by session, as
        # a task that a tool begins and leaves inherits it, and may run turns of others.
        self._listening: ContextVar[tuple[SessionKey, Listener] | None] = ContextVar(
            "turn_listener", default=None
        )

    def listen(self, key: SessionKey, listener: Listener) -> None:
        """Let `listener` hear the turn of a session that the current task runs."""
        self._listening.set((key, listener))

    def begin(self, key: SessionKey, invocation_id: str) -> TurnRecord:
        """Open the record of a turn."""
        session, listener = self._listening.get() or (None, None)
        record = TurnRecord(key, invocation_id, listener if session == key else None)
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

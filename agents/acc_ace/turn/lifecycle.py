"""The lifecycle of a turn, shared by all drivers: open, recall, qualify, compress, commit once.

The driver holds the session lock. Before the commit only a new session's record and the started
tool calls are written, so a turn that ends early for any reason leaves CCS_{t-1}.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from acc_ace.clock import TimeBudget
from acc_ace.container import Container
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.commit import CommitKind, CommittedState, JournalEntry
from acc_ace.core.schemas.interaction import (
    GeneratorOutput,
    Interaction,
    Outcome,
    ToolStart,
    TurnInput,
)
from acc_ace.core.schemas.qualification import QualificationVerdict
from acc_ace.core.schemas.reflection import Feedback
from acc_ace.errors import InputError, StoreError
from acc_ace.memory.tail import read_place, since_reading
from acc_ace.memory.turn_artifacts import MOST_PIECES, id_after, rest_id, turn_artifacts
from acc_ace.model_settings import Role
from acc_ace.telemetry import count_turn
from acc_ace.turn.ports import EventBuffer
from acc_ace.turn.reading import Asked
from acc_ace.turn.rule_service import ruled
from acc_ace.turn.spending import beside_replay
from acc_ace.turn.steps import recall
from acc_ace.turn.structured_call import Completion
from acc_ace.turn.transcript import newest_exchanges
from acc_ace.turn.turn_commit import (
    commit_turn,
    interaction_of,
    lost_calls,
    masked_input,
    masked_turn,
)
from acc_ace.turn.turn_record import TurnRecord, TurnStart
from acc_ace.turn.turn_trace import turn_trace
from acc_ace.unit_of_work import Write

Begin = Callable[
    [Container, SessionKey], Awaitable[tuple[CommittedState, tuple[QualificationVerdict, ...]]]
]
"""Makes the first state of a session, with the gate's verdict on each note."""

logger = logging.getLogger(__name__)


class TurnLifecycle:
    """Fills the record of a turn, step by step, for the pipeline, the plugin and the controller."""

    def __init__(self, container: Container) -> None:
        self._container = container

    def hold(self, key: SessionKey) -> AbstractAsyncContextManager[None]:
        """Hold the session lock for a turn. Raises SessionBusyError when the wait times out."""
        return self._container.lock.hold(key, wait_s=self._container.settings.limits.turn_wait_s)

    async def repeated(
        self, key: SessionKey, name: str, turn_input: TurnInput | None
    ) -> Interaction | None:
        """The committed turn of an idempotency key, if there is one.

        Raises InputError when that turn's input differs, or StoreError.
        """
        if not name or turn_input is None:
            return None
        turn_input = self._input(turn_input)
        earlier = await self._container.evidence.of_request(key, name)
        # A turn resumed after a pause has the awaited result as its input.
        is_same = earlier is None or earlier.input.authority is not turn_input.authority
        if earlier is not None and not is_same and earlier.input != turn_input:
            raise InputError(
                f"the idempotency key '{name[:80]}' was used for another input of session "
                f"'{key.session}'; give each turn a new key"
            )
        return earlier

    def _input(self, turn_input: TurnInput) -> TurnInput:
        return masked_input(turn_input) if self._container.settings.mask_secrets else turn_input

    def _evidence(self, turn: Interaction) -> Interaction:
        return masked_turn(turn) if self._container.settings.mask_secrets else turn

    async def open(
        self,
        record: TurnRecord,
        turn_input: TurnInput,
        *,
        feedback: tuple[Feedback, ...] = (),
        begin: Begin | None = None,
        edit: Callable[[TurnStart], TurnStart] | None = None,
    ) -> None:
        """Step 1: set x_t; load CCS_{t-1}, the playbook, and the unsettled calls of dead turns.

        A new session starts from the state that `begin` makes of the user's notes, if given; `edit`
        changes what the turn starts from. Raises StoreError.
        """
        turn_input = self._input(turn_input)
        container, key, observer = self._container, record.key, record.observer
        observer.budget = TimeBudget(container.settings.limits.turn_model_s)
        # What is to go is in no store any more when they are read.
        erased = await container.parts.erase_as_told(container, key, turn_input)
        # What does not need one another is read at once.
        head, earlier, session = await asyncio.gather(
            container.journal.head(key),
            container.evidence.find(key, record.start.invocation_id),
            container.directory.find(key),
        )
        previous = head.state if head is not None else CommittedState()
        start = _named(replace(record.start, previous=previous, feedback=feedback), earlier)
        # From here on a failed turn is stored as evidence, under a unique key.
        record.start = start = replace(start, turn_input=turn_input, erased=erased)
        if session is None or session.ended:
            # A new session is stored first, so that an erasure waits for it.
            session = await container.directory.open(key, at=container.clock.now())
        scope = container.playbook_scope(key.app, key.user)
        lost, rules, last, newest, observer.cost_before, record.playbook = await asyncio.gather(
            lost_calls(container, key),
            container.user_rules.of_user(key.tenant),
            container.evidence.last(key),
            newest_exchanges(container, key, previous.read_to),
            container.spending.store.of_session(key),
            container.playbooks.load(scope),
        )
        observer.warn(*(call.warning for call in lost))
        if begin is not None and container.settings.bootstrap and await self._is_new(key, head):
            # This also applies after an undo of the first turn.
            first, verdicts = await begin(container, key)
            previous = _started_with(first, previous)
            start = replace(start, known=verdicts)
        start = replace(
            start,
            session=session,
            lost=lost,
            previous=ruled(previous, *rules),
            previous_turn=last,
            since=since_reading(
                previous, newest, own=start.evidence_id, after=session.history_from
            ),
            playbook_scope=scope,
        )
        record.start = edit(start) if edit else start
        if container.settings.compress == "adaptive" and not record.start.failure_id:
            # What a process that dies leaves unread is read later.
            work = container.unit_of_work()
            work.add(self._failed(record))
            await work.commit()

    async def resume(self, record: TurnRecord, paused: JournalEntry) -> None:
        """Go on with a paused turn, whose CCS_t is in the journal. Raises StoreError."""
        record.entry, record.is_written = paused, True
        before = await self._container.journal.get(record.key, paused.state.version - 1)
        previous = before.state if before else CommittedState()
        start = replace(record.start, previous=previous)
        earlier = await self._container.evidence.find(start.key, start.invocation_id)
        record.start = _named(start, earlier)
        record.notes = tuple(earlier.notes) if earlier else ()
        at, is_every = paused.state.read_to, self._container.settings.compress == "every"
        record.reading.is_done = at == record.start.evidence_id or (
            is_every and not read_place(at)[1]
        )
        record.observer.warn(*paused.warnings)

    async def recall(self, record: TurnRecord) -> None:
        """Step 2: A_t. Raises StoreError."""
        record.recalled = await recall(self._container, record.start, record.observer)

    async def qualify(self, record: TurnRecord, models: Mapping[Role, Completion]) -> None:
        """Step 3: A_t+."""
        record.qualification = await self._container.parts.qualify(
            self._container,
            record.start,
            record.recalled,
            record.observer,
            models["qualifier"],
            needed=record.needed,
        )

    async def compress(
        self,
        record: TurnRecord,
        models: Mapping[Role, Completion],
        *,
        reason: Asked | None = None,
    ) -> None:
        """Step 4: CCS_t is prepared. Raises ConstraintBudgetError.

        `reason` is why the CCM is asked whatever the words are, beside the settings.
        """
        every = Asked.EVERY if self._container.settings.compress == "every" else None
        prepared = await self._container.parts.compress(
            self._container,
            record.start,
            record.qualification,
            record.observer,
            models["compressor"],
            reason=every or reason,
        )
        record.entry, record.notes, record.tools.unkept = prepared[:3]
        # What a turn may read it has read: no act has it read more.
        record.reading.is_done, record.reading.has_failed, record.reading.finds = prepared[3:]
        self.can_read(record, models)
        if record.start.brief(self._container.settings.limits) is not record.start.x_t:
            await self._store_input(record)

    async def _store_input(self, record: TurnRecord) -> None:
        """Store x_t for search, since requests show its ends only. Raises StoreError."""
        limit, now = self._container.settings.limits.tool_result_tokens, self._container.clock.now()
        said = self._evidence(interaction_of(record, Outcome.FAILED, at=now, prompt_hashes={}))
        artifacts = turn_artifacts(record.key, said, max_tokens=limit)
        await self._container.artifacts.add(artifacts)
        last = id_after(rest_id("", MOST_PIECES))
        if any(each.artifact_id.startswith(last) for each in artifacts):
            record.observer.warn(
                f"of a long text search finds the first {MOST_PIECES + 1} pieces; raise "
                "ACC_ACE_LIMITS__TOOL_RESULT_TOKENS for larger ones"
            )

    def can_read(self, record: TurnRecord, models: Mapping[Role, Completion]) -> None:
        """Let an act have read what the turn has left unread."""
        if self._container.settings.compress == "adaptive":
            record.reading.take = partial(self._read_now, record, models)

    async def _read_now(self, record: TurnRecord, models: Mapping[Role, Completion]) -> None:
        """CCS_t once more, with all that was said read. Raises ConstraintBudgetError."""
        start = record.start
        if record.is_written:
            # The turn goes on from a CCS_t that is committed; what is found makes the next version.
            start = replace(
                start, previous=record.state.model_copy(update={"turn": record.number - 1})
            )
        prepared = await self._container.parts.compress(
            self._container,
            start,
            record.qualification,
            record.observer,
            models["compressor"],
            reason=Asked.ACT,
        )
        record.entry, record.is_written = prepared.entry, False
        record.reading.is_done = prepared.is_read
        record.reading.finds = record.reading.finds.then(prepared.finds)
        record.add_notes(*prepared.notes)
        record.tools.unkept = tuple(dict.fromkeys((*record.tools.unkept, *prepared.unkept)))

    async def prepare(
        self,
        record: TurnRecord,
        models: Mapping[Role, Completion],
        *,
        reason: Asked | None = None,
    ) -> None:
        """Steps 2 to 4. Raises CommitRejected or StoreError."""
        await self.recall(record)
        await self.qualify(record, models)
        await self.compress(record, models, reason=reason)

    async def start_tool(
        self, record: TurnRecord, call_id: str, name: str, args: Mapping[str, Any]
    ) -> str | None:
        """Record durably that a tool with side effects is about to run.

        Returns the reason when it must not run: a call that a dead turn had started may be
        confirmed again, and is not made twice. Raises StoreError.
        """
        for lost in record.start.lost:
            if lost.id == call_id:
                return f"not run again: {lost.warning}"
        record.tools.acting.add(call_id)
        start = ToolStart(
            call_id=call_id,
            name=name,
            args=dict(args),
            turn=record.number,
            started_at=self._container.clock.now(),
        )
        await self._container.tool_starts.start(record.key, start)
        return None

    async def commit(
        self,
        record: TurnRecord,
        decision: GeneratorOutput | None,
        *,
        prompt_hashes: Mapping[str, str],
        ahead: Any = None,  # noqa: ANN401 - an event of a framework
    ) -> None:
        """Commit the turn at its answer, or without a decision at a pause.

        A second commit updates the first. `ahead` is the event that will show the answer to the
        user, where events are buffered. A cancellation cannot split the commit; it completes or
        fails as a whole, as `record.is_committed` shows. Raises ConflictError or StoreError.
        """
        record.decision = decision
        turn = self._interaction(record, prompt_hashes)
        doing = asyncio.create_task(self._commit(record, turn, ahead))
        try:
            await asyncio.shield(doing)
        except asyncio.CancelledError:
            # Even if cancelled repeatedly: never release the session while its commit may run.
            while not doing.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([doing])
            raise

    async def keep_events(self, buffer: EventBuffer) -> None:
        """Store the events of a run without a turn, such as one that a plugin answered."""
        work = self._container.unit_of_work()
        work.add(buffer.write())
        await work.commit()
        buffer.written()

    async def fail(self, record: TurnRecord) -> None:
        """Store the failed turn as evidence, best effort; there is nothing to undo.

        A driver calls it at the end of every turn; a committed one has not failed. What the turn
        cost is stored too, and what learning has cost since the commit.
        """
        observer = record.observer
        observer.budget.end()
        if record.start.turn_input is not None:
            count_turn(
                record.key.app, (_answered(record) if record.is_committed else Outcome.FAILED).value
            )
        if record.is_committed:
            if observer.used != observer.stored_use:
                await self._try(record, *await self._calls(record))
            return
        if record.buffer is not None:
            record.buffer.discard()
        if record.start.turn_input is None:
            return
        await self._try(record, self._failed(record), *await self._calls(record))

    def _failed(self, record: TurnRecord) -> Write:
        now = self._container.clock.now()
        failed = self._evidence(interaction_of(record, Outcome.FAILED, at=now, prompt_hashes={}))
        return self._container.evidence.record_write(record.key, failed)

    def forget(self, record: TurnRecord) -> None:
        """Leave no evidence of a turn whose session was deleted while it ran."""
        record.start = replace(record.start, turn_input=None)

    async def _try(self, record: TurnRecord, *writes: Write) -> None:
        work = self._container.unit_of_work()
        work.add(*writes)
        try:
            await work.commit()
        except StoreError:
            # The caller must see the error that ended the turn; this one is logged.
            logger.exception("failure_not_kept session=%s", record.key.session)

    async def _calls(self, record: TurnRecord) -> list[Write]:
        """What the turn's model calls cost so far, all of it: a run counts once; their requests."""
        spending, observer = self._container.spending, record.observer
        uses = spending.prices.priced(observer.run, record.number, observer.used)
        writes = [spending.write(record.key, uses)] if uses else []
        if self._container.settings.keep_requests:
            # In a thread: long texts take their time to redact.
            calls = observer.calls[observer.stored_calls :]
            trace = await asyncio.to_thread(turn_trace, record, calls, spending.prices)
            writes.append(self._container.traces.put_write(record.key, trace))
        return writes

    async def _commit(self, record: TurnRecord, turn: Interaction, ahead: Any) -> None:  # noqa: ANN401
        buffer, observer = record.buffer, record.observer
        calls, beside = len(observer.calls), await self._calls(record)
        if buffer is not None:
            beside.append(buffer.write(*([] if ahead is None else [ahead])))
        await commit_turn(self._container, record, turn, beside)
        record.is_written = record.is_committed = True
        observer.stored_use, observer.stored_calls = observer.used, calls
        if buffer is not None:
            buffer.written()

    def _interaction(self, record: TurnRecord, prompt_hashes: Mapping[str, str]) -> Interaction:
        now = self._container.clock.now()
        turn = self._evidence(
            interaction_of(record, _answered(record), at=now, prompt_hashes=prompt_hashes)
        )
        return (
            turn if record.decision is None else beside_replay(record.start, record.observer, turn)
        )

    async def _is_new(self, key: SessionKey, head: JournalEntry | None) -> bool:
        """Whether a session has no turn yet, or none since all were undone; not after a reset."""
        before_turns = {CommitKind.ROLLBACK, CommitKind.RULES, CommitKind.EDIT, CommitKind.ERASE}
        while head is not None and head.kind in before_turns and not head.state.turn:
            # After several undos, each rollback follows the one before.
            follows = head.state.version - 1 if head.follows is None else head.follows
            head = await self._container.journal.get(key, follows) if follows else None
        return head is None


def _answered(record: TurnRecord) -> Outcome:
    return Outcome.PAUSED if record.decision is None else Outcome.ANSWERED


def _named(start: TurnStart, earlier: Interaction | None) -> TurnStart:
    """The start with its evidence key, made of its invocation id once CCS_{t-1} is known.

    `earlier` is the evidence of the invocation: if it ran before, this is another turn, and its key
    gets the version of CCS_t as a suffix. A turn resumed after a pause replaces the evidence stored
    at the pause.
    """
    name = start.invocation_id
    suffixed = f"{name}/{start.previous.version + 1}"
    if earlier is not None and earlier.outcome is Outcome.PAUSED:
        return replace(
            start,
            evidence_id=name,
            failure_id=suffixed,
            guarded=tuple(earlier.guarded),
            idempotency_key=start.idempotency_key or earlier.idempotency_key,
            feedback=start.feedback or earlier.feedback,
        )
    is_another = earlier is not None and (
        earlier.outcome is not Outcome.FAILED or bool(earlier.tool_results)
    )
    return replace(start, evidence_id=suffixed if is_another else name, failure_id="")


def _started_with(known: CommittedState, previous: CommittedState) -> CommittedState:
    """The bootstrapped state, with the rules and questions set before the first turn."""
    ruled = {
        "constraints": previous.ccs.constraints,
        "goal_orientation": previous.ccs.goal_orientation,
    }
    update = {"ccs": known.ccs.model_copy(update=ruled)}
    return previous.model_copy(update=update)

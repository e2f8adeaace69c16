"""The lifecycle of a turn, shared by all drivers: open, prepare, act, and commit once or fail.

The driver holds the session lock and runs the steps between `open` and `commit`. Before the
commit only a new session's record and the started tool calls are written, so a turn that ends
early for any reason leaves CCS_{t-1}.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import TYPE_CHECKING, Any

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
from acc_ace.core.schemas.session import SessionRecord
from acc_ace.core.schemas.trace import ModelCall
from acc_ace.errors import InputError, StoreError
from acc_ace.turn.algorithm import require
from acc_ace.turn.ports import Database, HeldEvents
from acc_ace.turn.rule_service import with_user_rules
from acc_ace.turn.spending import beside_replay
from acc_ace.turn.turn_commit import TurnCommit, commit_turn, lost_calls
from acc_ace.turn.turn_record import TurnRecord
from acc_ace.turn.turn_trace import turn_trace
from acc_ace.unit_of_work import Write

if TYPE_CHECKING:
    from acc_ace.turn.initial_state import Bootstrap

    Begin = Callable[[Container, SessionKey], Awaitable[Bootstrap]]

logger = logging.getLogger(__name__)


class TurnLifecycle:
    """Lifecycle shared by the pipeline, the plugin and the controller."""

    def __init__(self, container: Container) -> None:
        self._container = container

    def is_over(self, database: Database) -> bool:
        """Whether the stores use this database, so that one transaction can cover both."""
        return self._container.database is database

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
        kept = await self._container.evidence.of_request(key, name)
        # A turn resumed after a pause has the awaited result as its input.
        is_same = kept is None or kept.input.authority is not turn_input.authority
        if kept is not None and not is_same and kept.input != turn_input:
            raise InputError(
                f"the idempotency key '{name[:80]}' was used for another input of session "
                f"'{key.session}'; give each turn a new key"
            )
        return kept

    async def open(
        self, record: TurnRecord, turn_input: TurnInput, *, begin: "Begin | None" = None
    ) -> None:
        """Set x_t; load CCS_{t-1}, the playbook, and the unsettled calls of turns that died.

        A new session starts from the state that `begin` makes of the user's notes, if given.
        Raises StoreError.
        """
        container, key = self._container, record.key
        record.budget = TimeBudget(container.settings.limits.turn_model_s)
        head = await container.journal.head(key)
        if head is not None:
            record.previous = head.state
        await self.name(record, record.invocation_id)
        # From here on a failed turn is stored as evidence, under a unique key.
        record.turn_input = turn_input
        record.session = await self._session(record)
        record.lost, record.lost_calls = [], []
        for lost in await lost_calls(container, key):
            record.warn(lost.warning)
            record.started_before[lost.id] = lost.warning
            record.started.add(lost.id)
            record.lost_calls.append(lost.artifact)
            record.lost.extend([lost.evidence] if lost.evidence else [])
        if begin is not None and container.settings.bootstrap and await self._is_new(key, head):
            # This also applies after an undo of the first turn.
            started = await begin(container, key)
            record.previous = _started_with(started.state, record.previous)
            record.known = started.verdicts
        record.previous = await with_user_rules(container, key, record.previous)
        record.previous_turn = await container.evidence.last(key)
        record.cost_before = await container.spending.store.of_session(key)
        scope = container.playbook_scope(key.app, key.user)
        record.playbook, record.playbook_scope = await container.playbooks.load(scope), scope

    async def start_tool(
        self, record: TurnRecord, call_id: str, name: str, args: Mapping[str, Any]
    ) -> str | None:
        """Record durably that a tool with side effects is about to run.

        Returns the reason when it must not run: a call that a dead turn had started may be
        confirmed again, and is not made twice. Raises StoreError.
        """
        if (known := record.started_before.get(call_id)) is not None:
            return f"not run again: {known}"
        record.started.add(call_id)
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
        output: GeneratorOutput | None,
        *,
        prompt_hashes: Mapping[str, str],
        ahead: Any = None,  # noqa: ANN401 - an event of a framework
    ) -> None:
        """Commit the turn at its answer, or without an output at a pause.

        A second commit updates the first. `ahead` is the event that will show the answer to the
        user, where events are buffered. A cancellation cannot split the commit; it completes or
        fails as a whole, as `record.is_committed` shows. Raises ConflictError or StoreError.
        """
        interaction = self._interaction(record, output, prompt_hashes)
        doing = asyncio.create_task(self._commit(record, interaction, ahead))
        try:
            await asyncio.shield(doing)
        except asyncio.CancelledError:
            # Even if cancelled repeatedly: never release the session while its commit may run.
            while not doing.done():
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([doing])
            raise

    async def keep_events(self, held: HeldEvents) -> None:
        """Store the events of a run without a turn, such as one that a plugin answered."""
        work = self._container.unit_of_work()
        work.add(held.write())
        await work.commit()
        held.written()

    async def fail(self, record: TurnRecord) -> None:
        """Store the failed turn as evidence, best effort; there is nothing to undo.

        A driver calls it at the end of every turn; a committed one has not failed. What the turn
        cost is stored too, and what learning has cost since the commit.
        """
        record.budget.end()
        if record.is_committed:
            if record.used != record.used_kept:
                await self._try(record, *await self._calls(record))
            return
        if record.held is not None:
            record.held.discard()
        if record.turn_input is None:
            return
        failed = Interaction(
            turn=record.previous.turn + 1,
            invocation_id=record.failure_id or record.invocation_id,
            input=record.turn_input,
            tool_calls=record.tool_calls,
            tool_results=record.tool_results,
            guarded=record.guarded,
            outcome=Outcome.FAILED,
            created_at=self._container.clock.now(),
        )
        kept = self._container.evidence.record_write(record.key, failed)
        await self._try(record, kept, *await self._calls(record))

    async def _try(self, record: TurnRecord, *writes: Write) -> None:
        work = self._container.unit_of_work()
        for write in writes:
            work.add(write)
        try:
            await work.commit()
        except StoreError:
            # The caller must see the error that ended the turn; this one is logged.
            logger.exception("failure_not_kept session=%s", record.key.session)

    async def _calls(self, record: TurnRecord) -> list[Write]:
        """What the turn's model calls cost so far, all of it: a run counts once; their requests."""
        spending, key = self._container.spending, record.key
        uses = spending.of_turn(record)
        writes = [spending.write(key, uses)] if uses else []
        if self._container.settings.keep_requests:
            # In a thread: long texts take their time to redact.
            calls = record.calls[record.kept_calls :]
            writes.append(await asyncio.to_thread(self._trace, record, calls))
        return writes

    def _trace(self, record: TurnRecord, calls: Sequence[ModelCall]) -> Write:
        trace = turn_trace(record, calls, self._container.spending.prices)
        return self._container.traces.put_write(record.key, trace)

    async def _commit(self, record: TurnRecord, interaction: Interaction, ahead: Any) -> None:  # noqa: ANN401
        held = record.held
        events = [ahead] if ahead is not None else []
        calls = len(record.calls)
        commit = TurnCommit(
            key=record.key,
            entry=require(record.entry, "entry", "commit"),
            interaction=interaction,
            is_new=not record.is_written,
            settled=frozenset(record.started),
            lost=tuple(record.lost),
            lost_calls=tuple(record.lost_calls),
            artifacts=tuple(record.artifacts),
            leaves_turn=record.leaves_turn,
            cost=await self._calls(record),
            events=held.write(*events) if held is not None else None,
        )
        await commit_turn(self._container, commit)
        record.is_written = record.is_committed = True
        record.used_kept, record.kept_calls = record.used, calls
        record.paused = interaction.outcome is Outcome.PAUSED
        if held is not None:
            held.written()

    def _interaction(
        self,
        record: TurnRecord,
        output: GeneratorOutput | None,
        prompt_hashes: Mapping[str, str],
    ) -> Interaction:
        state = require(record.entry, "entry", "commit").state
        interaction = Interaction(
            turn=state.turn,
            invocation_id=record.invocation_id,
            input=require(record.turn_input, "turn_input", "commit"),
            tool_calls=record.tool_calls,
            tool_results=record.tool_results,
            guarded=record.guarded,
            decision=output,
            outcome=Outcome.PAUSED if output is None else Outcome.ANSWERED,
            ccs_version=state.version,
            playbook_version=record.playbook.version if record.playbook else 0,
            models={stage: use.model for stage, use in record.stages.items() if use.model},
            prompt_hashes=dict(prompt_hashes),
            notes=[] if output is None else list(record.notes),
            feedback=record.feedback,
            idempotency_key=record.idempotency_key,
            created_at=self._container.clock.now(),
        )
        return interaction if output is None else beside_replay(record, interaction)

    async def name(self, record: TurnRecord, name: str) -> None:
        """Set the turn's evidence key from its invocation id, once CCS_{t-1} is known.

        If the invocation ran before, its evidence exists; this is another turn, and its key gets
        the version of CCS_t as a suffix. A turn resumed after a pause replaces the evidence stored
        at the pause. Raises StoreError.
        """
        record.invocation_id = name
        kept = await self._container.evidence.find(record.key, name)
        record.failure_id = ""
        if kept is not None and kept.outcome is Outcome.PAUSED:
            record.failure_id = f"{name}/{record.previous.version + 1}"
            record.guarded = [*kept.guarded, *record.guarded]
            record.idempotency_key = record.idempotency_key or kept.idempotency_key
            record.feedback = record.feedback or kept.feedback
            return
        is_another = kept is not None and (
            kept.outcome is not Outcome.FAILED or bool(kept.tool_results)
        )
        record.invocation_id = f"{name}/{record.previous.version + 1}" if is_another else name

    async def _session(self, record: TurnRecord) -> SessionRecord:
        """The session's record. A new session is stored first, so that an erasure waits for it."""
        directory, key = self._container.directory, record.key
        known = await directory.find(key)
        if known is not None and not known.ended:
            return known
        return await directory.open(key, at=self._container.clock.now())

    async def _is_new(self, key: SessionKey, head: JournalEntry | None) -> bool:
        """Whether a session has no turn yet, or none since all were undone; not after a reset."""
        before_turns = {CommitKind.ROLLBACK, CommitKind.RULES, CommitKind.EDIT}
        while head is not None and head.kind in before_turns and not head.state.turn:
            # After several undos, each rollback follows the one before.
            follows = head.state.version - 1 if head.follows is None else head.follows
            head = await self._container.journal.get(key, follows) if follows else None
        return head is None


def _started_with(known: CommittedState, previous: CommittedState) -> CommittedState:
    """The bootstrapped state, with the rules and questions set before the first turn."""
    ruled = {
        "constraints": previous.ccs.constraints,
        "goal_orientation": previous.ccs.goal_orientation,
    }
    kept = {"ccs": known.ccs.model_copy(update=ruled)}
    return previous.model_copy(update=kept)

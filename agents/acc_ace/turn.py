"""The turn as a whole: one at a time per session, and answered or wholly undone."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.models import BaseLlm
from pydantic import PrivateAttr

from acc_ace.background import BackgroundLearning
from acc_ace.context import session_key
from acc_ace.holding import holding
from acc_ace.known_sessions import is_known, session_gone
from acc_ace.report import turn_report
from acc_ace.stages.stage import ContentlessStage
from acc_ace.turn_record import TurnRecord, TurnRecords
from acc_ace.upkeep import Upkeep
from config import Role
from core.container import Container
from core.errors import AccAceError, StoreError
from core.models.resilient import ResilientLlm
from core.turn.closing import close_failed_turn
from core.turn.forgetting import forget_session
from schemas.tenancy import SessionKey
from schemas.turn_event import TurnDone, TurnPaused, WaitingCall

logger = logging.getLogger(__name__)


class BoundedTurn(BaseAgent):
    """Root agent: holds the session while the pipeline runs.

    A turn that ends before its answer, by an error, a cancellation or a lost client, is undone:
    the journal gets an ABORT entry with the content of CCS_{t-1}. Raises SessionBusyError when
    another turn holds the session for too long, and ConflictError when it was deleted meanwhile.
    """

    _container: Container = PrivateAttr()
    _records: TurnRecords = PrivateAttr()
    _pipeline: BaseAgent = PrivateAttr()
    _models: tuple[BaseLlm, ...] = PrivateAttr()
    _learning: BackgroundLearning | None = PrivateAttr()
    _after: tuple[ContentlessStage, ...] = PrivateAttr()
    _upkeep: Upkeep = PrivateAttr()

    def __init__(
        self,
        container: Container,
        records: TurnRecords,
        pipeline: BaseAgent,
        models: Mapping[Role, BaseLlm],
        *,
        learning: BackgroundLearning | None = None,
        after: Sequence[ContentlessStage] = (),
    ) -> None:
        """`after` are the stages of the pipeline that learn from the answer."""
        super().__init__(
            name="acc_ace",
            description="Answers from a bounded cognitive state and a playbook that learns.",
            sub_agents=[pipeline],
        )
        self._container, self._records, self._pipeline = container, records, pipeline
        self._models = tuple(models.values())
        self._learning, self._after = learning, tuple(after)
        self._upkeep = Upkeep(container, models)

    @property
    def records(self) -> TurnRecords:
        """The turns running in this process."""
        return self._records

    @property
    def learning(self) -> BackgroundLearning | None:
        """What learns from the turns after their answers, where that is asked for."""
        return self._learning

    @property
    def upkeep(self) -> Upkeep:
        """What lets background work go on after each turn."""
        return self._upkeep

    def ahead(self, key: SessionKey) -> AbstractAsyncContextManager[None]:
        """Hold the session for a turn that begins inside of the context.

        Raises SessionBusyError when another turn holds it for too long.
        """
        wait_s = self._container.settings.limits.turn_wait_s
        return self._container.lock.ahead(key, wait_s=wait_s)

    async def close(self) -> None:
        """End background work, and close the connections of the models that keep some."""
        await self._upkeep.close()
        for model in self._models:
            if isinstance(model, ResilientLlm):
                await model.aclose()

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        key = session_key(ctx)
        limits = self._container.settings.limits
        async with holding(self._container, ctx):
            if not await is_known(ctx.session_service, key):
                # Deleted while this turn waited: what is written now would outlive the deletion.
                raise session_gone(key)
            record = self._records.begin(key, ctx.invocation_id)
            whole = False
            waiting: list[WaitingCall] = []
            try:
                with self._container.pressure.turn():
                    async for event in self._pipeline.run_async(ctx):
                        waiting.extend(waiting_calls(event))
                        yield event
                whole = True
            except AccAceError as error:
                if not record.answered:
                    raise
                learning_failed(record, error)
            except GeneratorExit:
                if record.answered and not self._is_answer_lost(ctx, record):
                    await self._learn_nonetheless(ctx, record)
                raise
            finally:
                self._records.end(key)
                if self._is_answer_lost(ctx, record):
                    record.answered = False
                if not (whole and (record.answered or record.paused)):
                    await to_its_end(lambda: self._cut_off(ctx, record))
            if record.answered:
                record.tell(TurnDone(report=turn_report(record, limits)))
            elif record.paused:
                record.tell(TurnPaused(session=key.session, calls=waiting))
        self._upkeep.after_turn(key.app)

    async def _learn_nonetheless(self, ctx: InvocationContext, record: TurnRecord) -> None:
        """Go on where the consumer stopped: at the answer, as ADK's tutorial does."""
        if record.outcome is None:
            try:
                with self._container.pressure.turn():
                    for stage in self._after:
                        await stage.work(ctx, record)
            except AccAceError as error:
                learning_failed(record, error)
        record.tell(TurnDone(report=turn_report(record, self._container.settings.limits)))
        self._upkeep.after_turn(record.key.app)

    def _is_answer_lost(self, ctx: InvocationContext, record: TurnRecord) -> bool:
        """Whether the answer was handed over and not stored: its caller gets an error instead.

        The same close of this agent tells of a caller who stopped at the answer. ADK's session
        services put what they have stored into the running session; of one that has not done so in
        this turn nothing can be said, nor where another agent runs this one and may keep the answer
        for itself.
        """
        before, events = record.answer_after, ctx.session.events
        if before is None or before.invocation_id != ctx.invocation_id or not events:
            return False
        return self.parent_agent is None and events[-1] is before

    async def _cut_off(self, ctx: InvocationContext, record: TurnRecord) -> None:
        """Undo a turn without an answer; of one whose session was deleted no word stays."""
        try:
            await record.commit_ended(self._container.journal)
            if not await is_known(ctx.session_service, record.key):
                await forget_session(self._container, record.key)
                return
        except StoreError:
            # Whether it is to be undone is then asked once more.
            logger.exception("session_not_read session=%s", record.key.session)
        if not record.answered and not record.paused:
            await undo_turn(self._container, record)


async def to_its_end(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Do work that may be done twice, however often whoever waits for it is cancelled."""
    doing, begun_anew = asyncio.create_task(work()), False
    cancelled: asyncio.CancelledError | None = None
    while not doing.done():
        try:
            await asyncio.shield(doing)
        except asyncio.CancelledError as error:
            cancelled = error
            if doing.cancelled() and not begun_anew:
                # The event loop ends: it cancels each task that it runs, once.
                doing, begun_anew = asyncio.create_task(work()), True
    if cancelled is not None:
        raise cancelled


def waiting_calls(event: Event) -> Iterator[WaitingCall]:
    """The calls of an event that a person must answer."""
    waiting = event.long_running_tool_ids or ()
    for call in event.get_function_calls():
        if call.id in waiting and not event.partial:
            yield WaitingCall(id=call.id or "", name=call.name or "", args=dict(call.args or {}))


async def undo_turn(container: Container, record: TurnRecord) -> None:
    """Go back to CCS_{t-1}; what was tried stays as evidence."""
    try:
        await record.commit_ended(container.journal)
        await close_failed_turn(container, record.failure())
    except StoreError:
        # The error that ended the turn is what the caller must see; this one is logged.
        logger.exception("turn_not_undone session=%s", record.key.session)


def learning_failed(record: TurnRecord, error: AccAceError) -> None:
    """Note that learning failed; the user has the answer, and it stands."""
    logger.warning("learning_failed session=%s code=%s", record.key.session, error.code)
    record.warn(f"learning from this turn failed: {error}")

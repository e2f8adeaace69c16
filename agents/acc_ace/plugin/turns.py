"""Open turns: one at a time per session, each answered, paused, or wholly undone."""

import asyncio
import logging
from collections import deque
from collections.abc import Coroutine
from contextvars import ContextVar
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext

from acc_ace.context import session_key
from acc_ace.holding import holding
from acc_ace.plugin.bullets import used_bullets
from acc_ace.plugin.insisting import begun, insist, outlast
from acc_ace.plugin.open_turn import OpenTurn, RunName, new_turn, run_name
from acc_ace.plugin.transcript import Transcript
from acc_ace.plugin.turn_memory import TurnMemory
from acc_ace.report import turn_report
from acc_ace.stages.evidence import keep_evidence
from acc_ace.stages.memory_view import shown_bullets
from acc_ace.turn import learning_failed, undo_turn
from acc_ace.turn_record import Listener
from acc_ace.upkeep import Upkeep
from core.container import Container
from core.errors import AccAceError, MemoryBypassedError
from core.models.labels import note_on
from schemas.generation import GeneratorOutput
from schemas.tenancy import SessionKey
from schemas.turn_event import Answer, TurnDone, TurnPaused

logger = logging.getLogger(__name__)


_REMEMBERED = 100
"""Turns that were left, for a better word when somebody goes on with one nonetheless."""

_WITH_PLUGIN = "run the agent through a Runner whose App has the plugin"

_ONE_TASK = (
    "the task that took the run's first event has ended, and the turn with it. Take all events of "
    "a run in one task; asyncio.wait_for makes a task of its own on Python 3.11, asyncio.timeout "
    "makes none"
)


class Turns:
    """The turns that run under one plugin in this process."""

    def __init__(
        self,
        container: Container,
        memory: TurnMemory,
        *,
        prompt_hashes: dict[str, str],
        listener: Listener | None,
        upkeep: Upkeep,
    ) -> None:
        self._container, self._memory, self._upkeep = container, memory, upkeep
        self._prompt_hashes, self._listener = prompt_hashes, listener
        self._open: dict[RunName, OpenTurn] = {}
        self._left: deque[RunName] = deque(maxlen=_REMEMBERED)
        self._calling: ContextVar[OpenTurn | None] = ContextVar("calling_turn", default=None)
        self._closers: dict[OpenTurn, asyncio.Task[None]] = {}
        """What closes each turn when it is over; runs for as long as the session is held."""

    def find(self, ctx: InvocationContext | CallbackContext) -> OpenTurn | None:
        """The open turn of a run, or None."""
        return self._open.get(run_name(ctx))

    def need(self, ctx: InvocationContext | CallbackContext) -> OpenTurn:
        """The open turn of a run; raises MemoryBypassedError when there is none."""
        turn = self.find(ctx)
        if turn is None:
            raise MemoryBypassedError(
                f"no turn of session '{ctx.session.id}' is open, so a request would go out without "
                f"bounded memory: {_ONE_TASK if run_name(ctx) in self._left else _WITH_PLUGIN}"
            )
        return turn

    async def begin(self, ctx: InvocationContext) -> None:
        """Hold the session, update its state, hide the transcript.

        An agent called as a tool becomes part of the turn that calls it. Raises SessionBusyError,
        InputError, CommitRejected, ConflictError or StoreError.
        """
        outer = self._calling.get()
        if outer is not None and _works_for(outer, ctx):
            outer.runs[run_name(ctx)] = Transcript(ctx)
            self._open[run_name(ctx)] = outer
            return
        turn = new_turn(ctx, self._listener, asyncio.current_task())
        await self._close_abandoned(turn)
        await turn.hold.enter_async_context(holding(self._container, ctx))
        turn.hold.enter_context(turn.counted).enter_context(self._container.pressure.turn())
        self._start(turn, self._close_when_over(turn))
        self._take_up_lost(besides=turn.record.key)
        try:
            await self._close_left(turn)
            turn.unsaved = await self._memory.open(turn)
        except BaseException:
            await self._close(turn, failed=True)
            raise
        self._open[turn.name] = turn
        turn.runs[turn.name].hide()
        if turn.task is not None:
            turn.watch(turn.task, lambda _: self._leave_open(turn))

    def calling(self, turn: OpenTurn) -> None:
        """Let the agents that the current task calls as tools find the turn they work for.

        Each tool call has a task of its own, so this ends with the call, but for the tasks that
        the tool begins and leaves.
        """
        self._calling.set(turn)

    def watch(self, turn: OpenTurn) -> None:
        """Undo the turn when the root agent, which runs in the current task, is cancelled."""
        task = asyncio.current_task()
        if task is not None and task is not turn.task:
            turn.watch(task, lambda ended: _close_cancelled(turn, ended))

    async def finish(self, ctx: InvocationContext) -> None:
        """Settle the turn of a run that has ended without an error. Raises StoreError."""
        turn = self.find(ctx)
        if turn is None:
            return
        if turn.name != run_name(ctx):
            self._leave(turn, run_name(ctx))
            return
        await self._close(turn)

    async def fail(self, ctx: InvocationContext) -> None:
        """Undo the turn of a run that has ended with an error."""
        turn = self.find(ctx)
        if turn is None:
            return
        if turn.name != run_name(ctx):
            self._leave(turn, run_name(ctx))
            return
        await self._close(turn, failed=True)

    async def drain(self) -> None:
        """Wait for the turns that are being closed, and for one that the caller has left."""
        self._take_up_lost()
        for turn in self._closers.copy():
            if turn.task is asyncio.current_task():
                turn.over.set()
        while closing := self._closing_here():
            await asyncio.wait(closing)

    def _closing_here(self) -> "list[asyncio.Task[None]]":
        """What closes turns in the running event loop."""
        here = asyncio.get_running_loop()
        return [
            closer
            for turn, closer in self._closers.copy().items()
            if turn.over.is_set() and closer.get_loop() is here
        ]

    def _start(self, turn: OpenTurn, closing: Coroutine[Any, Any, None]) -> None:
        closer = asyncio.get_running_loop().create_task(begun(closing))
        self._closers[turn] = closer
        closer.add_done_callback(lambda _: self._closed(turn, closer))

    async def _close_when_over(self, turn: OpenTurn) -> None:
        # Begun with the turn. When `asyncio.run` ends an event loop, it cancels all tasks, waits
        # for them, and closes what generators hold, the session too: what is begun only then is
        # begun too late. Who cancels all tasks but the one of the run waits for this one too.
        await outlast(turn.over, lambda: turn.name not in self._open or turn.is_cancelled)
        turn.over.set()
        await self._settle(turn)

    async def _close(self, turn: OpenTurn, *, failed: bool = False) -> None:
        """Close a turn to its end, even when whoever waits for that is cancelled."""
        # Said at once: what the error has cancelled may have begun to close the turn already.
        turn.failed = turn.failed or failed
        turn.over.set()
        if (closer := self._closers.get(turn)) is not None:
            await asyncio.shield(closer)

    async def _settle(self, turn: OpenTurn) -> None:
        """Close a turn, also when the event loop ends meanwhile; only learning is cut then."""
        turn.closed = True
        turn.unwatch()
        for name, transcript in tuple(turn.runs.items()):
            transcript.show()
            self._leave(turn, name)
        async with turn.hold:
            try:
                if not turn.failed and not turn.record.answered:
                    await insist(lambda: self._keep(turn))
                if turn.record.answered:
                    await self._learn(turn)
            finally:
                await insist(lambda: self._undo_unanswered(turn))
                turn.settled = True
        if not turn.failed:
            self._upkeep.after_turn(turn.record.key.app)

    async def _keep(self, turn: OpenTurn) -> None:
        """Keep what was answered as evidence; nothing when there was no answer."""
        record, answer = turn.record, turn.saying.answer
        if answer is None or record.committed is None:
            record.paused = turn.saying.waits
            if record.paused:
                waiting = turn.saying.waiting
                record.tell(TurnPaused(session=record.key.session, calls=waiting))
            return
        used = used_bullets(
            shown_bullets(record, self._container.settings.limits), answer, record.tool_calls
        )
        output = GeneratorOutput(bullet_ids=used, final_answer=answer)
        await keep_evidence(self._container, record, output, prompt_hashes=self._prompt_hashes)
        record.generation, record.answered = output, True
        use = record.stages.get("generator")
        model = use.model if use else ""
        record.tell(Answer(text=answer, model=model, note=note_on(model)))

    async def _learn(self, turn: OpenTurn) -> None:
        try:
            if turn.is_lost:
                turn.record.warn("not learned from: the event loop of the turn was closed")
            else:
                await self._memory.learn(turn)
        except AccAceError as error:
            learning_failed(turn.record, error)
        limits = self._container.settings.limits
        turn.record.tell(TurnDone(report=turn_report(turn.record, limits)))

    async def _undo_unanswered(self, turn: OpenTurn) -> None:
        # A resumed turn that fails waits on: its result can be sent again.
        if turn.record.answered or turn.record.paused or turn.resumed:
            return
        logger.info("turn_undone session=%s", turn.record.key.session)
        await undo_turn(self._container, turn.record)

    async def _close_abandoned(self, turn: OpenTurn) -> None:
        """Close a turn that this very task has left: it cannot be running any more."""
        for other in tuple(self._open.values()):
            if _same(other, turn.record.key) and other.task is turn.task:
                await self._close(other)

    def _leave_open(self, turn: OpenTurn) -> None:
        """Close a turn whose task has ended before the run, so that nobody goes on with it."""
        if not turn.over.is_set():
            self._left.append(turn.name)
            turn.over.set()

    def _take_up_lost(self, *, besides: SessionKey | None = None) -> None:
        """Begin to close the turns whose event loop was closed before they were."""
        for turn, closer in self._closers.copy().items():
            if closer.get_loop().is_closed() and turn.record.key != besides:
                turn.lose()
                self._start(turn, self._close_lost(turn))

    async def _close_lost(self, turn: OpenTurn) -> None:
        wait_s = self._container.settings.limits.turn_wait_s
        async with self._container.lock.hold(turn.record.key, wait_s=wait_s):
            if not turn.settled:
                await self._settle(turn)

    async def _close_left(self, turn: OpenTurn) -> None:
        """Close what was left open of the session, which `turn` holds: nobody goes on with it."""
        for other in self._closers.copy():
            if other is turn or other.record.key != turn.record.key or other.settled:
                continue
            other.lose()
            try:
                await self._settle(other)
            except Exception:
                # It is over, and no reason to refuse the turn that comes after it.
                logger.exception("turn_not_closed session=%s", other.record.key.session)
            self._closers.pop(other, None)

    def _closed(self, turn: OpenTurn, closer: "asyncio.Task[None]") -> None:
        if self._closers.get(turn) is closer:
            del self._closers[turn]
        if not closer.cancelled() and (error := closer.exception()) is not None:
            logger.error("turn_not_closed", exc_info=error)

    def _leave(self, turn: OpenTurn, name: RunName) -> None:
        turn.runs.pop(name, None)
        self._open.pop(name, None)


def _works_for(turn: OpenTurn, ctx: InvocationContext) -> bool:
    """Whether a run is that of an agent that an open turn calls as a tool.

    The task of a tool call is no proof: a tool may start a run of another session, or leave a task
    that serves other users. ADK's AgentTool keeps app and user, and brings sessions of its own.
    """
    if turn.closed or turn.task is asyncio.current_task():
        return False
    own = turn.ctx.session_service
    return session_key(ctx).tenant == turn.record.key.tenant and ctx.session_service is not own


def _close_cancelled(turn: OpenTurn, task: "asyncio.Task[Any]") -> None:
    if task.cancelled():
        turn.over.set()


def _same(turn: OpenTurn, key: SessionKey) -> bool:
    return turn.record.key == key and not turn.closed

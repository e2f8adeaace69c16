"""Open turns: one at a time per session, each committed at its answer or pause, or not at all."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event

from acc_ace.adk.memory_view import shown_bullets
from acc_ace.adk.plugin.model_request import Transcript
from acc_ace.adk.plugin.open_turn import OpenTurn, RunName, run_name, used_bullets
from acc_ace.adk.plugin.run_notes import NotesMode, RunNotes
from acc_ace.adk.plugin.turn_memory import TurnMemory
from acc_ace.adk.session_turns import SessionTurns
from acc_ace.adk.sessions.session_services import StoredSessions
from acc_ace.adk.stages.answer_events import RunAnswer, committed_state, is_streaming
from acc_ace.adk.turn_report import learning_failed
from acc_ace.adk.user_content import session_key, state_event
from acc_ace.container import Container
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.interaction import GeneratorOutput
from acc_ace.core.schemas.report import Answer, AnswerChunk, TurnPaused
from acc_ace.errors import AccAceError, MemoryBypassedError
from acc_ace.models.names import note_on
from acc_ace.turn.observer import Listener


class Turns:
    """The turns that run under one plugin in this process."""

    def __init__(
        self,
        container: Container,
        memory: TurnMemory,
        *,
        prompt_hashes: dict[str, str],
        listener: Listener | None,
        notes: NotesMode,
        wake: Callable[[str], None],
    ) -> None:
        """`wake` starts the due work of an app, after each of its turns."""
        self._container, self._memory, self._wake = container, memory, wake
        self._prompt_hashes, self._listener, self._notes = prompt_hashes, listener, notes
        self._sessions = SessionTurns(container)
        self.records = self._sessions.records
        """What callers ask of the turns that they run."""
        self._open: dict[RunName, OpenTurn] = {}
        self._calling: ContextVar[OpenTurn | None] = ContextVar("calling_turn", default=None)
        self._closing: set[asyncio.Task[None]] = set()
        """The tasks that close turns."""
        self._ends: dict[asyncio.AbstractEventLoop, AsyncGenerator[None, None]] = {}
        """What the end of each running event loop waits for."""

    def find(self, ctx: InvocationContext | CallbackContext) -> OpenTurn | None:
        """The open turn of a run, or None."""
        return self._open.get(run_name(ctx))

    def require(self, ctx: InvocationContext | CallbackContext) -> OpenTurn:
        """The open turn of a run; raises MemoryBypassedError when there is none."""
        if (turn := self.find(ctx)) is None:
            raise MemoryBypassedError(
                f"no turn of session '{ctx.session.id}' is open, so a request would go out without "
                "bounded memory: run the agent through a Runner whose App has the plugin"
            )
        return turn

    async def take(self, ctx: InvocationContext) -> None:
        """Hold the session of a run before its message is stored.

        Raises ConfigError when it is not known which model to ask, and what `SessionTurns.take`
        raises.
        """
        if self._is_part(ctx):
            return
        self._memory.models.completions(ctx)  # Raises before ADK stores the message.
        await self._end_abandoned(session_key(ctx))
        await self._sessions.take(ctx)

    async def begin(self, ctx: InvocationContext) -> None:
        """Hold the session, prepare CCS_t, hide the transcript.

        An agent called as a tool becomes part of the turn that calls it. Raises SessionBusyError,
        InputError, CommitRejected, ConflictError or StoreError.
        """
        outer = self._calling.get()
        if outer is not None and self._is_part(ctx):
            outer.runs[run_name(ctx)] = Transcript(ctx)
            self._open[run_name(ctx)] = outer
            return
        await self._outlive_loop()
        await self.take(ctx)
        marks = not isinstance(ctx.session_service, StoredSessions)
        record = await self._sessions.begin(ctx, listener=self._listener, marks_playbook=marks)
        # A program reads the answers of a run that a tool starts.
        notes = RunNotes(ctx, record, "metadata" if self._is_called(ctx) else self._notes)
        turn = OpenTurn(ctx, record, RunAnswer(record), notes, {run_name(ctx): Transcript(ctx)})
        try:
            turn.unsaved = await self._memory.open(turn)
        except BaseException:
            await self._close(turn, failed=True)
            raise
        self._open[turn.name] = turn
        turn.runs[turn.name].hide()
        self.follow(turn)

    def calling(self, turn: OpenTurn) -> None:
        """Link the agents that the current task calls as tools to their turn.

        ADK runs each tool call in its own task, so the link ends with the call, except in tasks
        that the tool starts and leaves running.
        """
        self._calling.set(turn)

    def follow(self, turn: OpenTurn) -> None:
        """Fail the turn when the task that consumes the run's events is cancelled."""
        task = asyncio.current_task()
        if task is not None and task not in turn.drivers:
            turn.drivers.add(task)
            task.add_done_callback(partial(self._driver_ended, turn))

    async def answer(self, turn: OpenTurn, event: Event) -> None:
        """Commit the turn with an answer, before ADK stores and shows its event.

        A later answer of the run updates it. Raises ConflictError or StoreError.
        """
        answer = turn.run_answer.answer
        if answer is None or answer == turn.committed:
            return
        event.actions.state_delta.update(committed_state(turn.record))
        await self._commit(turn, answer, event)

    async def drain(self) -> None:
        """Wait for the turns that are closing, and close those that their callers abandoned."""
        task = asyncio.current_task()
        for turn in set(self._open.values()):
            if task in turn.drivers or turn.is_left:
                await self._close(turn)
        await self._wait_closed()

    async def _wait_closed(self) -> None:
        """Wait for the tasks of this event loop; `Runner.run` has its own loop in a thread."""
        loop = asyncio.get_running_loop()
        while closing := {each for each in self._closing if each.get_loop() is loop}:
            await asyncio.wait(closing)

    async def _outlive_loop(self) -> None:
        """Let this loop's end, which closes generators, wait for the turns that it cancels."""
        loop = asyncio.get_running_loop()

        async def end() -> AsyncGenerator[None, None]:
            try:
                yield
            finally:
                del self._ends[loop]
                await self._wait_closed()

        if loop not in self._ends:
            for other in tuple(self._ends):
                if other.is_closed():  # Without its end: nothing will wait for it.
                    self._ends.pop(other, None)
            self._ends[loop] = end()
            await anext(self._ends[loop])

    async def end(self, ctx: InvocationContext, *, failed: bool) -> None:
        """Seal the turn of a run, or fail it: its commits are kept. Raises StoreError."""
        if (turn := self.find(ctx)) is None:
            await self._sessions.release(ctx, keep=not failed)
        elif turn.name != run_name(ctx):
            self._leave(turn, run_name(ctx))
        else:
            await self._close(turn, failed=failed)

    async def _close(self, turn: OpenTurn, *, failed: bool = False) -> None:
        """Close a turn, once; a cancelled caller does not stop it."""
        await asyncio.shield(turn.closing or self._start_closing(turn, failed=failed))

    def _start_closing(self, turn: OpenTurn, *, failed: bool) -> "asyncio.Task[None]":
        for name, transcript in tuple(turn.runs.items()):
            transcript.show()
            self._leave(turn, name)
        turn.closing = asyncio.get_running_loop().create_task(self._settle(turn, failed=failed))
        self._closing.add(turn.closing)
        turn.closing.add_done_callback(self._closing.discard)
        return turn.closing

    async def _settle(self, turn: OpenTurn, *, failed: bool) -> None:
        try:
            if not failed:
                await self._seal(turn)
                if turn.record.answered:
                    await self._learn(turn)
        finally:
            await self._sessions.end(turn.ctx, turn.record)
        if not failed:
            self._wake(turn.record.key.app)

    async def _seal(self, turn: OpenTurn) -> None:
        """Commit what the last answer did not: a pause, a result without text, late results."""
        record, answer = turn.record, turn.run_answer.answer
        if answer is None and not turn.run_answer.waits:
            return
        if answer is None or answer != turn.committed:
            event = state_event(turn.ctx, turn.root, committed_state(record))
            await self._commit(turn, answer, event)
            await turn.ctx.session_service.append_event(turn.ctx.session, event)
        if answer is None:
            record.observer.emit(
                TurnPaused(session=record.key.session, calls=turn.run_answer.waiting)
            )
            return
        model = record.observer.models.get("generator", "")
        if record.shown_notes and is_streaming(turn.ctx):
            record.observer.emit(AnswerChunk(text=record.shown_notes))
        text = answer + record.shown_notes
        record.observer.emit(Answer(text=text, model=model, note=note_on(model)))

    async def _commit(self, turn: OpenTurn, answer: str | None, event: Event) -> None:
        record = turn.record
        output = None if answer is None else _output(turn, answer, self._container)
        await self._sessions.lifecycle.commit(
            record, output, prompt_hashes=self._prompt_hashes, ahead=event
        )
        turn.committed = answer

    async def _learn(self, turn: OpenTurn) -> None:
        try:
            await self._memory.learn(turn)
        except AccAceError as error:
            learning_failed(turn.record, error)
        self._sessions.report(turn.record)

    async def _end_abandoned(self, key: SessionKey) -> None:
        """Close turns that this task has abandoned, or that were abandoned at their answer."""
        task = asyncio.current_task()
        for other in set(self._open.values()):
            left = task in other.drivers or (other.is_left and other.record.answered)
            if other.record.key == key and left:
                await self._close(other)

    def _driver_ended(self, turn: OpenTurn, task: "asyncio.Task[Any]") -> None:
        if turn.closing is None and task.cancelled():
            self._start_closing(turn, failed=True)

    def _is_part(self, ctx: InvocationContext) -> bool:
        """Whether a run is that of an agent that an open turn calls as a tool.

        The task of a tool call is no proof: a tool may start a run of another session, or leave a
        task that serves other users. ADK's AgentTool keeps app and user, and has its own session
        service.
        """
        outer = self._calling.get() if self._is_called(ctx) else None
        return outer is not None and ctx.session_service is not outer.ctx.session_service

    def _is_called(self, ctx: InvocationContext) -> bool:
        """Whether a tool of an open turn runs an agent for the user of that turn."""
        outer = self._calling.get()
        if outer is None or outer.closing is not None:
            return False
        same = session_key(ctx).tenant == outer.record.key.tenant
        return same and asyncio.current_task() not in outer.drivers

    def _leave(self, turn: OpenTurn, name: RunName) -> None:
        turn.runs.pop(name, None)
        self._open.pop(name, None)


def _output(turn: OpenTurn, answer: str, container: Container) -> GeneratorOutput:
    shown = shown_bullets(turn.record, container.settings.limits)
    used = used_bullets(shown, answer, turn.record.tools.calls)
    return GeneratorOutput(bullet_ids=used, final_answer=answer)

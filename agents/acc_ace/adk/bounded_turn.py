"""The turn as a whole: one at a time per session, and committed once or not at all."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any, Protocol, runtime_checkable

from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps import App
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event
from google.adk.models import BaseLlm
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types
from pydantic import PrivateAttr

from acc_ace.adk.act_guard import ActGuard
from acc_ace.adk.gated_memory import gate_memory
from acc_ace.adk.session_lifecycle import SessionMaintenance
from acc_ace.adk.session_turns import SessionTurns
from acc_ace.adk.turn_report import learning_failed
from acc_ace.config import Role
from acc_ace.container import Container
from acc_ace.errors import AccAceError, LiveNotSupportedError
from acc_ace.turn.learning_queue import TurnLearning
from acc_ace.turn.turn_record import TurnRecord, TurnRecords


@runtime_checkable
class TurnTaker(Protocol):
    """What takes the turns of an app and reports them: our root agent, or the memory plugin."""

    @property
    def records(self) -> TurnRecords:
        """Where a caller says what it asks of a turn before it runs it."""
        ...

    @property
    def guard(self) -> ActGuard:
        """Holds calls against rules, and says what rules do at tools."""
        ...

    @property
    def maintenance(self) -> SessionMaintenance:
        """Summarises and offloads sessions after turns."""
        ...

    async def close(self) -> None:
        """Stop background work and close the models."""
        ...


def turn_taker(app: App) -> TurnTaker | None:
    """What takes the turns of an app; None for one without bounded memory."""
    candidates: list[object] = [app.root_agent, *app.plugins]
    return next((each for each in candidates if isinstance(each, TurnTaker)), None)


class BoundedTurn(BaseAgent):
    """Root agent: holds the session while the pipeline runs.

    A turn that ends before its answer, by an error, a cancellation or a lost client, leaves
    CCS_{t-1}. Raises SessionBusyError when another turn holds the session for too long, and
    ConflictError when it was deleted meanwhile.
    """

    _container: Container = PrivateAttr()
    _turns: SessionTurns = PrivateAttr()
    _pipeline: BaseAgent = PrivateAttr()
    _models: tuple[BaseLlm, ...] = PrivateAttr()
    _learning: TurnLearning | None = PrivateAttr()
    _learn: Callable[[TurnRecord], Awaitable[None]] = PrivateAttr()
    _maintenance: SessionMaintenance = PrivateAttr()
    _guard: ActGuard = PrivateAttr()

    def __init__(
        self,
        container: Container,
        records: TurnRecords,
        pipeline: BaseAgent,
        models: Mapping[Role, BaseLlm],
        *,
        learn: Callable[[TurnRecord], Awaitable[None]],
        learning: TurnLearning | None = None,
        guard: ActGuard,
    ) -> None:
        """`learn` learns from an answered turn when its run was left at the answer."""
        super().__init__(
            name="acc_ace",
            description="Answers from a bounded cognitive state and a playbook that learns.",
            sub_agents=[pipeline],
        )
        self._container, self._pipeline = container, pipeline
        self._turns = SessionTurns(container, records)
        self._models = tuple(models.values())
        self._learning, self._learn = learning, learn
        self._maintenance = SessionMaintenance(container, models=models)
        self._guard = guard

    @property
    def records(self) -> TurnRecords:
        """The turns running in this process."""
        return self._turns.records

    @property
    def turns(self) -> SessionTurns:
        """Opens and ends the turns."""
        return self._turns

    @property
    def learning(self) -> TurnLearning | None:
        """Background learning; None unless it is configured."""
        return self._learning

    @property
    def guard(self) -> ActGuard:
        """Holds calls against rules, and says what rules do at tools."""
        return self._guard

    @property
    def maintenance(self) -> SessionMaintenance:
        """Summarises and offloads sessions after turns."""
        return self._maintenance

    async def close(self) -> None:
        """Stop background work and close the models' connections."""
        await self._maintenance.close()
        await self._container.parts.close_models(self._models)

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        record = await self._turns.begin(ctx)
        gate_memory(ctx, self._container, record)
        try:
            async for event in self._pipeline.run_async(ctx):
                yield event
        except AccAceError as error:
            if not record.answered:
                raise
            learning_failed(record, error)
        except SessionNotFoundError:
            # Deleted while the turn ran: no evidence of it may outlive the session.
            self._turns.lifecycle.forget(record)
            raise
        except GeneratorExit:
            if record.answered:
                await self._learn_after_close(record)
            raise
        finally:
            await self._turns.end(ctx, record)
        if record.answered:
            self._turns.report(record)
        self._maintenance.wake(record.key.app)

    async def _run_live_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        # ADK's /run_live closes with this text; WebSocket limits it to 123 bytes.
        raise LiveNotSupportedError(
            "live (audio or video) sessions are not supported; send text to /run or /run_sse"
        )
        yield  # A generator, as ADK's own: the error is raised with the first event.

    async def _learn_after_close(self, record: TurnRecord) -> None:
        """Learn although the consumer stopped at the answer, as in ADK's tutorial."""
        if record.learning.outcome is None:
            try:
                await self._learn(record)
            except AccAceError as error:
                learning_failed(record, error)
        self._turns.report(record)
        self._maintenance.wake(record.key.app)


class SessionPlugin(BasePlugin):
    """Holds the session of a turn before ADK stores its message: a refused turn leaves no event.

    ADK wraps its errors in RuntimeError; the cause is ours.
    """

    def __init__(self) -> None:
        super().__init__(name="session")

    async def on_user_message_callback(
        self, *, invocation_context: InvocationContext, user_message: types.Content
    ) -> types.Content | None:
        """Hold the session of a run of our own root agent."""
        del user_message
        if (root := _root(invocation_context)) is not None:
            await root.turns.take(invocation_context)
        return None

    async def before_run_callback(
        self, *, invocation_context: InvocationContext
    ) -> types.Content | None:
        """Hold it for a run without a message too, which resumes another one."""
        if (root := _root(invocation_context)) is not None:
            (await root.turns.take(invocation_context)).is_started = True
        return None

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Release it, also when another plugin has answered in the agent's place."""
        if (root := _root(invocation_context)) is not None:
            await root.turns.release(invocation_context, keep=True)

    async def on_run_error_callback(
        self, *, invocation_context: InvocationContext, error: Exception
    ) -> None:
        """Release it."""
        if (root := _root(invocation_context)) is not None:
            await root.turns.release(invocation_context)


def _root(ctx: InvocationContext) -> BoundedTurn | None:
    """Our root agent, if the run's agent is it or below it."""
    agent: Any = ctx.agent
    root = agent.root_agent if isinstance(agent, BaseAgent) else None
    return root if isinstance(root, BoundedTurn) else None

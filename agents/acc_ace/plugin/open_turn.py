"""One turn of an app that the plugin holds open."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext

from acc_ace.context import session_key
from acc_ace.plugin.saying import Saying
from acc_ace.plugin.transcript import Transcript
from acc_ace.stages.learning import playbook_projection
from acc_ace.stages.stage import State
from acc_ace.turn_record import Listener, TurnRecord
from schemas import state as keys
from schemas.tenancy import SessionKey


class RunName(NamedTuple):
    """One run of a runner; a turn has several when agents are called as tools."""

    key: SessionKey
    invocation_id: str


@dataclass(eq=False)
class OpenTurn:
    """What the plugin knows of a turn until it is closed, once."""

    ctx: InvocationContext
    own: InvocationContext
    """The context of memory's stages; what they hand on stays out of the agent's state."""
    record: TurnRecord
    saying: Saying
    task: "asyncio.Task[Any] | None"
    """The task that drives the run; when it ends, so does the turn."""
    runs: dict[RunName, Transcript]
    """The runs that belong to the turn, each with what its agents must not see."""
    hold: AsyncExitStack = field(default_factory=AsyncExitStack)
    """Gives the session free."""
    counted: ExitStack = field(default_factory=ExitStack)
    """Ends its being counted among the turns that learning steps back for."""
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the turn is to be closed."""
    unsaved: State = field(default_factory=dict)
    """Keys of session.state that the next event of the run will persist."""
    watched: "list[tuple[asyncio.Task[Any], Callable[[asyncio.Task[Any]], None]]]" = field(
        default_factory=list
    )
    """Tasks whose end closes the turn, with their callbacks."""
    resumed: bool = False
    failed: bool = False
    is_lost: bool = False
    """Whether its event loop was closed before the turn was."""
    closed: bool = False
    settled: bool = False
    """Kept or undone: nothing of the turn is left to do before its session is given back."""

    @property
    def name(self) -> RunName:
        """The run that opened the turn."""
        return run_name(self.ctx)

    @property
    def root(self) -> str:
        """The name of the agent or workflow that the run started with."""
        return self.ctx.agent.name if self.ctx.agent else ""

    def projection(self) -> State:
        """Our persisted keys as the authorities hold them in this turn."""
        committed = self.record.committed
        return {
            **({keys.CCS: committed.state.to_state()} if committed else {}),
            **playbook_projection(self.record),
        }

    @property
    def is_cancelled(self) -> bool:
        """Whether the task of the run was cancelled, so that its end is near."""
        return self.task is not None and self.task.cancelling() > 0

    def lose(self) -> None:
        """Say that the event loop was closed: what the turn held and awaited is of no use there."""
        # Counting it needs no loop to end, and what would have ended it is given up here.
        self.counted.close()
        self.is_lost, self.hold, self.over = True, AsyncExitStack(), asyncio.Event()
        self.over.set()

    def watch(
        self, task: "asyncio.Task[Any]", callback: "Callable[[asyncio.Task[Any]], None]"
    ) -> None:
        """Call back when a task ends, for as long as the turn is open."""
        task.add_done_callback(callback)
        self.watched.append((task, callback))

    def unwatch(self) -> None:
        """Forget the watched tasks: a long one would keep every turn it ever ran."""
        for task, callback in self.watched:
            task.remove_done_callback(callback)
        self.watched.clear()


def run_name(ctx: InvocationContext | CallbackContext) -> RunName:
    """The run that a context belongs to."""
    session = ctx.session
    return RunName(SessionKey(session.app_name, session.user_id, session.id), ctx.invocation_id)


def new_turn(
    ctx: InvocationContext, listener: Listener | None, task: "asyncio.Task[Any] | None"
) -> OpenTurn:
    """A turn that has done nothing yet."""
    record = TurnRecord(session_key(ctx), ctx.invocation_id, listener)
    return OpenTurn(
        ctx,
        own=_own_context(ctx),
        record=record,
        saying=Saying(record),
        task=task,
        runs={run_name(ctx): Transcript(ctx)},
    )


def _own_context(ctx: InvocationContext) -> InvocationContext:
    state = dict(ctx.session.state)
    session = ctx.session.model_copy(update={"state": state, "events": []})
    return ctx.model_copy(update={"session": session})

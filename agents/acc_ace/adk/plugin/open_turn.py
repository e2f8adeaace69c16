"""One turn of an app that the plugin holds open."""

import asyncio
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext

from acc_ace.adk.invocation_context import session_key
from acc_ace.adk.plugin.answer_collector import Saying
from acc_ace.adk.plugin.transcript_filter import Transcript
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.adk.stages.learning_context import playbook_projection
from acc_ace.adk.stages.stage import State
from acc_ace.schemas import state as keys
from acc_ace.schemas.base import SessionKey
from acc_ace.turn.turn_record import Listener, TurnRecord


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
    runs: dict[RunName, Transcript]
    """The runs that belong to the turn, each with what its agents must not see."""
    counted: ExitStack = field(default_factory=ExitStack)
    """Ends its being counted among the turns that learning steps back for."""
    unsaved: State = field(default_factory=dict)
    """Keys of session.state that the next event of the run will persist."""
    drivers: "set[asyncio.Task[Any]]" = field(default_factory=set)
    """The tasks that have taken events of the run; one as a rule."""
    committed: str | None = None
    """The answer as it was committed last."""
    closing: "asyncio.Task[None] | None" = None
    """What ends the turn, from when it is over."""

    @property
    def is_left(self) -> bool:
        """Whether no task is there any more that has taken events of the run."""
        return all(task.done() for task in self.drivers)

    @property
    def name(self) -> RunName:
        """The run that opened the turn."""
        return run_name(self.ctx)

    @property
    def root(self) -> str:
        """The name of the agent or workflow that the run started with."""
        return self.ctx.agent.name if self.ctx.agent else ""

    def projection(self) -> State:
        """Our persisted keys as the authorities hold them now."""
        record = self.record
        state = record.entry.state if record.is_written and record.entry else record.previous
        return {
            **({keys.CCS: state.to_state()} if state.version else {}),
            **playbook_projection(record),
        }


def run_name(ctx: InvocationContext | CallbackContext) -> RunName:
    """The run that a context belongs to."""
    session = ctx.session
    return RunName(SessionKey(session.app_name, session.user_id, session.id), ctx.invocation_id)


def new_turn(ctx: InvocationContext, listener: Listener | None) -> OpenTurn:
    """A turn that has done nothing yet."""
    record = TurnRecord(session_key(ctx), ctx.invocation_id, listener)
    record.marks_playbook = not isinstance(ctx.session_service, SqlSessionService)
    return OpenTurn(
        ctx,
        own=_own_context(ctx),
        record=record,
        saying=Saying(record),
        runs={run_name(ctx): Transcript(ctx)},
    )


def _own_context(ctx: InvocationContext) -> InvocationContext:
    state = dict(ctx.session.state)
    session = ctx.session.model_copy(update={"state": state, "events": []})
    return ctx.model_copy(update={"session": session})

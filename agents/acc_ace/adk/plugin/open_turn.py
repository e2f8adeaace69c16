"""A turn that the plugin holds open, and what is read from the events of its run.

That is the answer to the user, the calls that wait, and the lessons used by an agent that does not
cite them.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext

from acc_ace.adk.plugin.model_request import Transcript
from acc_ace.adk.plugin.run_notes import RunNotes
from acc_ace.adk.stages.answer_events import RunAnswer
from acc_ace.adk.stages.stage import State
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.interaction import ToolCall
from acc_ace.core.text.similarity import content_words
from acc_ace.turn.turn_record import TurnRecord

_TOOLS_OF_ADK = frozenset({"transfer_to_agent", "set_model_response", "finish_task"})


def is_evidence(tool: str) -> bool:
    """Whether a tool's result says something about the world; those of ADK itself do not."""
    return tool not in _TOOLS_OF_ADK and not tool.startswith("adk_")


class RunName(NamedTuple):
    """One run of a runner; a turn has several when agents are called as tools."""

    key: SessionKey
    invocation_id: str


@dataclass(eq=False)
class OpenTurn:
    """The plugin's state of a turn, until it is closed."""

    ctx: InvocationContext
    record: TurnRecord
    run_answer: RunAnswer
    notes: RunNotes
    runs: dict[RunName, Transcript]
    """The runs that belong to the turn, each with what its agents must not see."""
    asked: dict[str, str] = field(default_factory=dict)
    """The model that each agent asks."""
    unsaved: State = field(default_factory=dict)
    """Keys of session.state that the next event of the run will persist."""
    drivers: "set[asyncio.Task[Any]]" = field(default_factory=set)
    """The tasks that have consumed events of the run; usually one."""
    committed: str | None = None
    """The last committed answer."""
    closing: "asyncio.Task[None] | None" = None
    """The task that closes the turn, once it is over."""

    @property
    def is_left(self) -> bool:
        """Whether every task that has consumed events of the run has ended."""
        return all(task.done() for task in self.drivers)

    @property
    def name(self) -> RunName:
        """The run that opened the turn."""
        return run_name(self.ctx)

    @property
    def root(self) -> str:
        """The name of the agent or workflow that the run started with."""
        return self.ctx.agent.name if self.ctx.agent else ""


def run_name(ctx: InvocationContext | CallbackContext) -> RunName:
    """The run that a context belongs to."""
    session = ctx.session
    return RunName(SessionKey(session.app_name, session.user_id, session.id), ctx.invocation_id)


_USED = 0.5
"""Share of a lesson's content words with which an answer counts as based on it."""


def used_bullets(shown: Sequence[Bullet], answer: str, calls: Sequence[ToolCall]) -> list[str]:
    """Ids of the bullets that the answer cites, or whose words it and its tool calls share."""
    done = f"{answer}\n" + "\n".join(f"{call.name} {call.args}" for call in calls)
    words = content_words(done)
    return [bullet.id for bullet in shown if bullet.id in done or _shares(bullet, words)]


def _shares(bullet: Bullet, words: frozenset[str]) -> bool:
    lesson = content_words(bullet.content)
    return bool(lesson) and len(lesson & words) >= _USED * len(lesson)

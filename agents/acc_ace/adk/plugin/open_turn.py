"""A turn that the plugin holds open, and what is read from the events of its run.

That is the answer to the user, the calls that wait, and the lessons used by an agent that does not
cite them.
"""

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.genai import types

from acc_ace.adk.plugin.model_request import Transcript
from acc_ace.adk.sessions.session_services import StoredSessions
from acc_ace.adk.stages.stage import State
from acc_ace.adk.stages.tool_loop import result_text
from acc_ace.adk.turn_report import waiting_calls
from acc_ace.adk.user_content import attachment, session_key
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.interaction import ToolCall
from acc_ace.core.schemas.report import AnswerChunk, ToolStarted, TurnEvent, WaitingCall
from acc_ace.core.text.similarity import content_words
from acc_ace.turn.observer import Listener, TurnObserver
from acc_ace.turn.ports import EventBuffer
from acc_ace.turn.turn_record import TurnOptions, TurnRecord, TurnStart

_TOOLS_OF_ADK = frozenset({"transfer_to_agent", "set_model_response", "finish_task"})


class RunAnswer:
    """What the agents of one run have said so far."""

    def __init__(self, record: TurnRecord) -> None:
        self._record = record
        self._texts: list[str] = []
        self._output = ""
        self._pending: dict[str, WaitingCall] = {}
        self._spoke_last = False

    @property
    def answer(self) -> str | None:
        """All text shown to the user, in order; else the last result or output of a run.

        None while the run waits, or when there is none of these.
        """
        return None if self.waits else "\n\n".join(self._texts) or self._output or None

    @property
    def waits(self) -> bool:
        """Whether the run has ended in a call without a result: it waits for a person.

        An agent that speaks after such a call has answered; the result opens a new turn.
        """
        return bool(self._pending) and not self._spoke_last

    @property
    def waiting(self) -> list[WaitingCall]:
        """The calls without a result, in their order."""
        return list(self._pending.values())

    def take(self, event: Event) -> None:
        """Read one event of the run; partial ones are shown, and repeated whole later."""
        if event.partial:
            if text := _shown(event.content):
                self._record.observer.emit(AnswerChunk(text=text))
            return
        self.note_calls(event)
        self._wait(event)
        if event.author == "user":
            return
        if event.is_final_response() and not event.get_function_calls():
            self._take_answer(event)
        if event.output is not None:
            self._output = result_text(event.output)

    def note_calls(self, event: Event) -> None:
        """Keep the tool calls of an event as evidence, whether or not the user sees it."""
        for call in event.get_function_calls():
            name, args = call.name or "", dict(call.args or {})
            self._record.tools.calls.append(ToolCall(id=call.id or "", name=name, args=args))
            self._record.observer.emit(ToolStarted(name=name, args=args))

    def _wait(self, event: Event) -> None:
        if event.long_running_tool_ids:
            self._pending |= {call.id: call for call in waiting_calls(event)}
            for id_ in event.long_running_tool_ids - self._pending.keys():
                self._pending[id_] = WaitingCall(id=id_, name="", args={})
            self._spoke_last = False
        for response in event.get_function_responses():
            self._pending.pop(response.id or "", None)

    def _take_answer(self, event: Event) -> None:
        if text := _shown(event.content):
            self._texts.append(text)
            self._spoke_last = True
        elif event.actions.skip_summarization:
            results = event.get_function_responses()
            self._output = "\n".join(result_text(result.response) for result in results)


def _shown(content: types.Content | None) -> str:
    """What a content shows without the model's thoughts: its text, and what is attached."""
    parts = [part for part in (content.parts if content else None) or [] if not part.thought]
    text = "".join(part.text for part in parts if part.text)
    return "\n".join([*([text] if text.strip() else []), *filter(None, map(attachment, parts))])


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
    runs: dict[RunName, Transcript]
    """The runs that belong to the turn, each with what its agents must not see."""
    asked: dict[str, str] = field(default_factory=dict)
    """The model that each agent asks."""
    counted: ExitStack = field(default_factory=ExitStack)
    """Its entry in the load monitor, to which background learning yields."""
    unsaved: State = field(default_factory=dict)
    """Keys of session.state that the next event of the run will persist."""
    drivers: "set[asyncio.Task[Any]]" = field(default_factory=set)
    """The tasks that have consumed events of the run; usually one."""
    has_notes: bool = False
    """Whether an answer of the run has the notes on rules below it."""
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


def new_turn(
    ctx: InvocationContext,
    listener: Listener | None,
    request: TurnOptions,
    buffer: EventBuffer | None,
) -> OpenTurn:
    """A new turn, before its first event; the app's listener and the caller's hear it."""
    listeners = [each for each in (listener, request.listener) if each is not None]

    def heard(event: TurnEvent) -> None:
        for each in listeners:
            each(event)

    record = TurnRecord(
        TurnStart(
            session_key(ctx),
            invocation_id=ctx.invocation_id,
            idempotency_key=request.idempotency_key,
        ),
        TurnObserver(heard),
        buffer,
        marks_playbook=not isinstance(ctx.session_service, StoredSessions),
    )
    return OpenTurn(
        ctx,
        record=record,
        run_answer=RunAnswer(record),
        runs={run_name(ctx): Transcript(ctx)},
    )


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

"""Where the notes on rules go: below the last answer of a run, or beside it, in its metadata.

ADK lets no plugin add an event. The last answer is known where it is given in a row of agents or
at the end of a workflow; else it has gone out once the run ends. The root agent then says the notes
in an event of their own, which is what ADK makes of what `after_agent_callback` returns.
"""

import inspect
import re
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any, Literal

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from acc_ace.adk.stages.answer_events import is_remote, is_streaming, shown_text
from acc_ace.core.schemas.notes import below
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.turn.turn_record import TurnRecord

NotesMode = Literal["answer", "metadata"]
"""Below the last answer of a run, or in the metadata of its answers alone."""

_DATA = lazy_pattern(
    r"\{.*\}|\[.*\]|```.*```|<.*>"  # JSON, a fence, XML
    r"|(?!(?i:ok|okay|done|noted|sure|understood)$)[!-~]*[\w%)\"'\]]"  # a label, a number, a row
    r"|[^\n]*,[^\s,][^\n]*(?:\n[^\n]*,[^\s,][^\n]*)+(?<![.!?])"  # CSV
    r"|[a-z][\w.-]*:[^\n]*(?:\n\s*(?:- )?[a-z][\w.-]*:[^\n]*)+"  # YAML
    r"|(?:def \w+\(|class \w+[:(]|import \w|from [\w.]+ import |function \w*\(|#!/|#include).*"
    r"|(?:(?:const|let|var) \w+ ?=|(?i:select) .+ (?i:from) ).*|.*[;}]",
    re.DOTALL | re.ASCII,
)
"""Whole answers that a program reads."""


class RunNotes:
    """The notes of one turn, said once."""

    def __init__(self, ctx: InvocationContext, record: TurnRecord, mode: NotesMode) -> None:
        self._ctx, self._record = ctx, record
        self._apart = mode == "metadata" or is_remote(ctx)
        self._answer: Event | None = None
        self._is_data = False
        self._is_placed = False
        self._own: types.Content | None = None

    @property
    def _notes(self) -> tuple[str, ...]:
        return self._record.notes

    @property
    def are_apart(self) -> bool:
        """Whether they stand in metadata alone."""
        if self._apart or self._is_data or not self._notes:
            return True
        return not self._is_placed and not isinstance(self._ctx.agent, BaseAgent)

    def take(self, event: Event) -> None:
        """Read a final answer of the run: put the notes below it if it is known as the last."""
        text = shown_text(event.content)
        if not self._notes or not text.strip() or self._is_placed:
            return
        self._answer = event
        self._is_data = _is_for_programs(self._ctx.agent, event, text)
        is_apart = self._apart or self._is_data
        if event.content is None or is_apart or not _is_last(self._ctx.agent, event):
            return
        self._is_placed = True
        part = types.Part(text=below(self._notes))
        event.content.parts = [*(event.content.parts or []), part]

    async def at_end(
        self, plugin: BasePlugin, agent: BaseAgent, context: CallbackContext
    ) -> types.Content | None:
        """What the root agent says last: the notes that no answer has, or that were not streamed.

        The callbacks that ADK would then leave out are run here; what one says replaces nothing.
        """
        streams = is_streaming(self._ctx)
        if self._answer is None or self.are_apart or (self._is_placed and not streams):
            return None
        words = [content async for content in _later(plugin, agent, context)]
        self._own = types.Content(role="model", parts=[types.Part(text=below(self._notes))])
        if words:
            self._is_placed = True
            self._own.parts = [*(words[0].parts or []), *(self._own.parts or [])]
        return self._own

    def is_own(self, event: Event) -> bool:
        """Whether an event carries only the notes; it goes out as the last speaker's.

        Where an answer has them already, it is a chunk for those who read the stream alone.
        """
        if self._own is None or event.content is not self._own or self._answer is None:
            return False
        if len(self._own.parts or []) == 1:
            event.author, event.partial = self._answer.author, self._is_placed or None
        event.custom_metadata = {"acc_ace": {"notes": [*self._notes]}}
        return True


async def _later(
    plugin: BasePlugin, agent: BaseAgent, context: CallbackContext
) -> AsyncIterator[types.Content]:
    """What the next plugins or the agent's own callbacks say: the first that says something."""
    plugins = context.get_invocation_context().plugin_manager.plugins
    for other in plugins[plugins.index(plugin) + 1 :]:
        if content := await other.after_agent_callback(agent=agent, callback_context=context):
            yield content
            return
    callbacks: list[Any] = [*agent.canonical_after_agent_callbacks]
    for callback in callbacks:
        result = callback(callback_context=context)
        if content := await result if inspect.isawaitable(result) else result:
            yield content
            return


def _is_last(root: object, event: Event) -> bool:
    """Whether no agent of the run speaks after this answer, as far as one can know."""
    if not isinstance(root, BaseAgent):
        # A workflow, which ADK does not show to plugins: its output is marked with its own path.
        return any("/" not in path for path in event.node_info.output_for or ())
    agent = root.find_agent(event.author)
    if not isinstance(agent, LlmAgent):
        return False
    line: list[BaseAgent] = [agent]
    while line[-1] is not root and line[-1].parent_agent is not None:
        line.append(line[-1].parent_agent)
    return all(_hands_over(parent, child) for child, parent in pairwise(line))


def _hands_over(parent: BaseAgent, child: BaseAgent) -> bool:
    """Whether an agent says nothing after what this one of its sub-agents says."""
    if any(kind.__name__ == "SequentialAgent" for kind in type(parent).__mro__):
        return parent.sub_agents[-1] is child
    returns = getattr(child, "mode", None) in {"task", "single_turn"}
    return isinstance(parent, LlmAgent) and not returns


def _is_for_programs(root: object, event: Event, text: str) -> bool:
    agent = root.find_agent(event.author) if isinstance(root, BaseAgent) else root
    schema = getattr(agent, "output_schema", None)
    return schema is not None or _DATA.fullmatch(text.strip()) is not None

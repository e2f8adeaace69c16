"""No act before a CCM has read every sentence of the user: what is read before a tool runs.

One reading serves all calls, branches and agent tools of a turn. Where an app can act without a
callback of ours, the turn is read before its first agent runs.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Any, Final

from google.adk.agents import BaseAgent, LlmAgent
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.base_toolset import BaseToolset
from google.adk.workflow import BaseNode

from acc_ace.errors import AccAceError
from acc_ace.turn.turn_record import TurnRecord

_log = logging.getLogger(__name__)

_OWN: Final = "acc_ace.adk.tools"
_OF_ADK: Final = (
    "google.adk.tools.transfer_to_agent_tool",
    "google.adk.tools.set_model_response_tool",
    "google.adk.agents.llm.task._finish_task_tool",
)
_SEARCHES: Final = (
    "google.adk.tools.google_search_tool",
    "google.adk.tools.enterprise_search_tool",
    "google.adk.tools.vertex_ai_search_tool",
    "google.adk.tools.discovery_engine_search_tool",
    "google.adk.tools.preload_memory_tool",
    "google.adk.tools.example_tool",
)
"""Tools of a provider, or without a call, that only search or show."""

_CARRIERS: Final = tuple(
    f"google.adk.agents.{kind}_agent" for kind in ("sequential", "parallel", "loop")
)
"""Where ADK has the agents that only run others."""


async def read_before_act(record: TurnRecord) -> None:
    """Have the CCM read what is unread, once in a turn; what it finds is in force then.

    Raises nothing: what stays unread is in `record.unread`.
    """
    reading = record.reading
    async with reading.lock:
        if not record.unread or reading.has_failed or reading.take is None:
            return
        before = {pin.id for pin in record.rules}
        try:
            await reading.take()
        except AccAceError as error:
            _log.warning("act_unread session=%s code=%s", record.key.session, error.code)
            record.observer.warn(f"what was said could not be read before an act: {error}")
        reading.news |= {pin.id for pin in record.rules} - before
        reading.has_failed = bool(record.unread)


def is_own(tool: BaseTool) -> bool:
    """Whether a tool is one of ours, or of ADK's own that only steer; its name does not count."""
    function = getattr(tool, "func", None)
    module = getattr(function, "__module__", None) or type(tool).__module__
    return module == _OWN or module in _OF_ADK


def acts_unseen(root: object, plugins: Sequence[object] = ()) -> bool:
    """Whether an app can act where no callback of ours sees it.

    By a plugin before ours, a node or agent that is no LlmAgent of ADK, a code executor, or a tool
    of the provider that does not only search.
    """
    others = plugins and not type(plugins[0]).__module__.startswith("acc_ace.")
    return bool(others) or any(map(_is_unseen, _parts_of(root)))


def _parts_of(agent: object) -> Iterator[object]:
    """An agent, its tools, and those of the agents below it."""
    yield agent
    for below in getattr(agent, "sub_agents", ()):
        yield from _parts_of(below)
    for tool in getattr(agent, "tools", ()):
        yield tool
        if isinstance(inner := getattr(tool, "agent", None), BaseAgent):
            yield from _parts_of(inner)


def _is_unseen(part: object) -> bool:
    if isinstance(part, BaseTool):
        return type(part).__module__ not in _SEARCHES and not _has_call(part)
    if isinstance(part, LlmAgent):
        config: Any = part.generate_content_config
        is_plain = type(part)._run_async_impl is LlmAgent._run_async_impl
        return not is_plain or part.code_executor is not None or bool(config and config.tools)
    if isinstance(part, BaseNode):
        return type(part).__module__ not in _CARRIERS
    return not (isinstance(part, BaseToolset) or callable(part))


def _has_call(tool: BaseTool) -> bool:
    """Whether a model calls it by its name, so that our callback is asked first."""
    if hasattr(tool, "func") or hasattr(tool, "agent"):
        return True
    return tool._get_declaration() is not None

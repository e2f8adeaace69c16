"""Whatever answers in a turn is shown CCS_t: in each request, or as an event of its session.

Plugins are called before an agent's own callbacks, which may trim a request after that, as plugins
that come later may: what was put into it is looked for once more behind the last of them. An agent
that asks no model of ADK's, such as a RemoteA2aAgent or one of a host's own, has no request here:
it reads `session.events`.
"""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any, NamedTuple

from google.adk.agents import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.genai import types

ENDS = 12
"""Characters at both ends of a text by which it is known again where a host has masked words."""

LastCallback = Callable[[CallbackContext, LlmRequest], Awaitable[None]]


class PutMemory(NamedTuple):
    """What was put into a request."""

    instruction: str
    """'' where the instruction is not ours to add to, and all is in the contents."""
    contents: tuple[types.Content, ...]

    def put_back(self, request: LlmRequest) -> bool:
        """Put back what is no longer in the request; whether anything was."""
        texts = [*_texts(request)]
        lost = [each for each in self.contents if not _stands(_words(each), texts)]
        request.contents[:0] = lost
        if not self.instruction or _stands(self.instruction, texts):
            return bool(lost)
        request.append_instructions([self.instruction])
        return True


def come_last(ctx: InvocationContext, callback: LastCallback) -> None:
    """Make a callback the last of a running LlmAgent's own before its model is called."""
    agent: Any = ctx.agent
    callbacks = agent.canonical_before_model_callbacks
    if callback not in callbacks[-1:]:
        agent.before_model_callback = [*(each for each in callbacks if each != callback), callback]


def reads_events(agent: BaseAgent) -> bool:
    """Whether an agent answers by itself, without a model of ADK's.

    Those of ADK that only run others do not answer.
    """
    from google.adk.agents import (  # noqa: PLC0415 - slow; a host that runs has them
        LlmAgent,
        LoopAgent,
        ParallelAgent,
        SequentialAgent,
    )

    return not isinstance(agent, LlmAgent | LoopAgent | ParallelAgent | SequentialAgent)


def memory_event(ctx: InvocationContext, texts: list[str]) -> Event:
    """What such an agent reads before the message, of its own branch; it is not stored."""
    content = types.Content(role="user", parts=[types.Part(text=text) for text in texts])
    return Event(author="user", invocation_id=ctx.invocation_id, branch=ctx.branch, content=content)


def _texts(request: LlmRequest) -> Iterator[str]:
    instruction = request.config.system_instruction
    if isinstance(instruction, str):
        yield instruction
    yield from map(_words, request.contents)


def _words(content: types.Content) -> str:
    return "".join(part.text or "" for part in content.parts or [])


def _stands(text: str, texts: list[str]) -> bool:
    return any(text[:ENDS] in each and text[-ENDS:] in each for each in texts)

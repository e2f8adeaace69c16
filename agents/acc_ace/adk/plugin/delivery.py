"""Whatever answers in a turn is shown CCS_t: in each request, or as an event of its session.

Plugins are called before an agent's own callbacks, which may trim a request after that, as plugins
that come later may: what was put into it is looked for once more behind the last of them. An agent
that asks no model of ADK's, such as a RemoteA2aAgent or one of a host's own, has no request here:
it reads `session.events`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Final, NamedTuple

from google.adk.agents import BaseAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.genai import types
from google.genai._transformers import t_contents

_SHARE: Final = 0.5
"""Share of a line's words with which it counts as there: a host may mask words."""

_FEW: Final = 4
"""A line of fewer words may be masked whole."""

LENT: Final = "acc_ace_lent"
"""Mark of an event that no service may keep."""

_RUN_OTHERS: Final = frozenset({"LoopAgent", "ParallelAgent", "SequentialAgent"})


class PutMemory(NamedTuple):
    """What was put into a request, by its words: a callback may change contents in place."""

    instruction: str
    """'' where the instruction is not ours to add to, and all is in the contents."""
    contents: tuple[str, ...]
    warn: Callable[[], None]

    def put_back(self, request: LlmRequest) -> bool:
        """Put back what is no longer in the request; whether anything was."""
        texts = [*_texts(request)]
        lost = [text for text in self.contents if not _stands(text, texts)]
        request.contents[:0] = [_content(text) for text in lost]
        has_lost = bool(self.instruction) and not _stands(self.instruction, texts)
        if has_lost and isinstance(request.config.system_instruction, str | None):
            request.append_instructions([self.instruction])
        elif has_lost:
            request.contents.insert(0, _content(self.instruction))
        return bool(lost) or has_lost


_latest: ContextVar[tuple[LlmRequest, PutMemory] | None] = ContextVar("latest", default=None)
"""The request that this task is about to send: memory is for that one alone."""


def put_back_last(ctx: InvocationContext, request: LlmRequest, memory: PutMemory) -> None:
    """Have a request looked through behind all callbacks of the running LlmAgent."""
    _latest.set((request, memory))
    agent: Any = ctx.agent
    own = agent.before_model_callback or []
    callbacks = own if isinstance(own, list) else [own]
    if callbacks[-1:] != [put_back_memory]:
        others = [each for each in callbacks if each is not put_back_memory]
        agent.before_model_callback = [*others, put_back_memory]


def put_back_memory(callback_context: CallbackContext, llm_request: LlmRequest) -> None:
    """The last callback of agents under the plugin; it is the same for all of them."""
    del callback_context
    latest = _latest.get()
    if latest is None or latest[0] is not llm_request:
        return
    _latest.set(None)
    if latest[1].put_back(llm_request):
        latest[1].warn()


def reads_events(agent: BaseAgent) -> bool:
    """Whether an agent answers by itself, without a model of ADK's.

    Those of ADK that only run others do not answer.
    """
    names = {
        each.__name__ for each in type(agent).__mro__ if each.__module__.startswith("google.adk.")
    }
    return not names & {"LlmAgent", *_RUN_OTHERS}


def memory_event(ctx: InvocationContext, texts: Sequence[str]) -> Event:
    """What such an agent reads before the message, of its own branch; it is not stored."""
    return Event(
        author="user",
        invocation_id=ctx.invocation_id,
        branch=ctx.branch,
        content=types.Content(role="user", parts=[types.Part(text=text) for text in texts]),
        custom_metadata={LENT: True},
    )


def _content(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text)])


def _texts(request: LlmRequest) -> Iterator[set[str]]:
    instruction: Any = request.config.system_instruction
    if isinstance(instruction, str):
        yield {*_words(instruction)}
    elif instruction:
        yield {word for content in t_contents(instruction) for word in _words_of(content)}
    for content in request.contents:
        yield _words_of(content)


def _words_of(content: types.Content) -> set[str]:
    return {word for part in content.parts or [] for word in _words(part.text or "")}


def _words(text: str) -> list[str]:
    """The words of a text, tags apart."""
    return text.replace("<", " <").replace(">", "> ").split()


def _stands(text: str, texts: Sequence[set[str]]) -> bool:
    """Whether one of others has the tags of a text, and half of the words of each line."""
    tags = {word for word in _words(text) if word.startswith("<") or word.endswith(">")}
    lines = [words for words in map(_words, text.splitlines()) if len(words) >= _FEW]
    return any(
        tags <= each
        and all(sum(word in each for word in words) >= _SHARE * len(words) for words in lines)
        for each in texts
    )

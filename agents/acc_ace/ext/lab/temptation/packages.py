"""Memories of other packages over our agent: Inspect's compaction, LangMem's summary, mem0.

Each asks the memory's model of the episode, and is imported when it plays.
"""

import asyncio
import warnings
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from importlib import import_module
from itertools import chain
from typing import Any, Final

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.genai import types
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageUser,
    CompactionSummary,
    GenerateConfig,
    Model,
    ModelAPI,
    ModelOutput,
    compaction,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from acc_ace.core.text.similarity import content_words
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.ext.lab.temptation.baselines import (
    BudgetPlugin,
    RetrievalPlugin,
    exchanges,
    reply_of,
)
from acc_ace.ext.lab.temptation.meter import request_text_of
from acc_ace.ext.lab.temptation.scripted_memory import SUMMARY_TOKENS


class CompactingPlugin(BudgetPlugin):
    """Compacts what is before the newest exchange, which stays whole."""

    speakers: Mapping[str, Callable[..., Any]]
    """What makes a message of the package, by the role of a content."""

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Rewrite the request. Raises what the memory's model raises."""
        del callback_context
        [*earlier, last] = exchanges(llm_request.contents)
        # A content has the same place in each request of the session.
        before = {f"m{place}": content for place, content in enumerate(chain(*earlier))}
        messages = [
            self.speakers[each.role or "user"](id=name, content=request_text_of([each]))
            for name, each in before.items()
        ]
        left = await self.compact(messages)
        contents = [before.get(each.id) or types.UserContent(str(each.content)) for each in left]
        llm_request.contents = [*contents, *last]

    async def compact(self, messages: list[Any]) -> Sequence[Any]:
        """Those that stay, by their id, and what stands for the others."""
        raise NotImplementedError


class InspectPlugin(CompactingPlugin):
    """Inspect's CompactionSummary, at the budget.

    It keeps a task whole, the first message where none is marked: a conversation has none.
    """

    def __init__(self, budget: int, memory: BaseLlm) -> None:
        super().__init__(budget, memory)
        self.speakers = {"model": ChatMessageAssistant, "user": ChatMessageUser}
        # Inspect notes what a model is made with: no field of the memory's, such as a key.
        model = Model(_MemoryApi(partial(reply_of, memory)), GenerateConfig())
        self._compaction = compaction(CompactionSummary(threshold=budget), [], model=model)

    async def compact(self, messages: list[Any]) -> Sequence[Any]:
        """What Inspect makes of them."""
        task = ChatMessageUser(id="task", content=".", source="input")
        left, _ = await self._compaction.compact_input([task, *messages])
        return [each for each in left if each.id != task.id]


@modelapi("memory")
class _MemoryApi(ModelAPI):
    """The memory's model as one of Inspect's; tokens are counted as for the other budgets."""

    def __init__(self, reply: Callable[[str], Awaitable[str]]) -> None:
        super().__init__("memory")
        self._reply = reply

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """One answer. Raises what the model raises."""
        del tools, tool_choice, config
        *messages, order = input
        words = _transcript(
            ((each.role, each.text) for each in messages), " ".join(order.text.split())
        )
        return ModelOutput.from_content(self.model_name, await self._reply(words))

    async def count_text_tokens(self, text: str) -> int:
        """By our estimate: Inspect's own loads a tokenizer from the network."""
        return estimate_tokens(text)


class LangMemPlugin(CompactingPlugin):
    """LangMem's running summary (`summarize_messages`) within the budget.

    Its manager of lasting memories needs a model that calls the tools of its patches, which no
    script here does.
    """

    def __init__(self, budget: int, memory: BaseLlm) -> None:
        super().__init__(budget, memory)
        chain_messages = import_module("langchain_core.messages")
        self._message = chain_messages.AIMessage
        self.speakers = {"model": self._message, "user": chain_messages.HumanMessage}
        self._summary = None

    async def compact(self, messages: list[Any]) -> Sequence[Any]:
        """What LangMem makes of them."""
        result = await import_module("langmem.short_term").asummarize_messages(
            messages,
            running_summary=self._summary,
            model=import_module("langchain_core.runnables").RunnableLambda(self._reply),
            max_tokens=self.budget,
            max_summary_tokens=min(SUMMARY_TOKENS, self.budget // 2),
            token_counter=lambda some: sum(estimate_tokens(str(each.content)) for each in some),
        )
        self._summary = result.running_summary
        return list(result.messages)

    async def _reply(self, messages: Sequence[Any]) -> Any:  # noqa: ANN401 - of LangChain
        words = _transcript((each.type, str(each.content)) for each in messages)
        return self._message(content=await reply_of(self.memory, words))


class Mem0Plugin(RetrievalPlugin):
    """mem0 in the place of ADK's memory.

    It extracts with the memory's model, and finds by a vector of hashed content words: an embedder
    without a key, the same on every machine. Nothing of the talk is stored on disk or sent.
    """

    def __init__(self, budget: int, memory: BaseLlm) -> None:
        super().__init__(budget, memory)
        self._stored = 0
        mem0, unused = import_module("mem0"), {"provider": "openai", "config": {"api_key": "none"}}
        for module in ("mem0.memory.main", "mem0.memory.telemetry"):
            vars(import_module(module))["MEM0_TELEMETRY"] = False
        self._client = import_module("qdrant_client").QdrantClient(":memory:")
        place = {"client": self._client, "embedding_model_dims": _PLACES}
        store = {"vector_store": {"provider": "qdrant", "config": place}}
        config = {"llm": unused, "embedder": unused, "history_db_path": ":memory:", **store}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # Of indexes that it does without.
            self._mem0 = mem0.AsyncMemory.from_config(config)
        self._mem0.llm = self._mem0.embedding_model = _Mem0Model(memory)

    async def recall(self, context: CallbackContext, question: str) -> str:
        """What it finds, the best first."""
        matches = await self._mem0.search(question, filters={"user_id": context.user_id})
        return "\n".join(each["memory"] for each in matches["results"])

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Store the turn. Raises what mem0 makes of an error of the model."""
        events = invocation_context.session.events
        messages = [
            {
                "role": "user" if event.author == "user" else "assistant",
                "content": request_text_of([event.content]),
            }
            for event in events[self._stored :]
            if event.content
        ]
        self._stored = len(events)
        await self._mem0.add(messages, user_id=invocation_context.user_id)

    async def close(self) -> None:
        """Close its stores."""
        self._mem0.close()
        self._client.close()


class _Mem0Model:
    """The memory's model and the embedder, as mem0 calls them: from threads of its own."""

    def __init__(self, memory: BaseLlm) -> None:
        self._memory, self._loop = memory, asyncio.get_running_loop()

    def generate_response(self, messages: Sequence[Mapping[str, str]], **_options: object) -> str:
        """One answer. Raises what the model raises."""
        asks = reply_of(self._memory, "\n\n".join(each["content"] for each in messages))
        return asyncio.run_coroutine_threadsafe(asks, self._loop).result()

    def embed(self, text: str, *_: object, **__: object) -> list[float]:
        """A vector: each content word counts at the place of its hash."""
        vector = [0.0] * _PLACES
        for word in content_words(text):
            vector[int.from_bytes(blake2b(word.encode(), digest_size=4).digest()) % _PLACES] += 1
        return vector

    def embed_batch(self, texts: Iterable[str], *_: object, **__: object) -> list[list[float]]:
        """A vector each."""
        return [self.embed(text) for text in texts]


_PLACES: Final = 1_024


def _transcript(messages: Iterable[tuple[str, str]], order: str = "The conversation:") -> str:
    """The lines of messages; the order to summarise comes first, in one line."""
    return "\n".join([order, *(f"{role}: {words}" for role, words in messages)])

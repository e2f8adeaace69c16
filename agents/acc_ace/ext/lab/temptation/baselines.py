"""Memories that the others are compared with: each rewrites a request within the same budget."""

from typing import Final

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from acc_ace.core.text.tokens import clip_tokens, estimate_tokens
from acc_ace.ext.lab.temptation.meter import request_text_of

BUDGET: Final = 2_000
"""Tokens of history in a request of the baselines that have a budget."""


async def reply_of(memory: BaseLlm, text: str) -> str:
    """What a model says to a text. Raises RuntimeError when it gives an error in its place."""
    words, request = "", LlmRequest(model=memory.model, contents=[types.UserContent(text)])
    async for response in memory.generate_content_async(request):
        if response.error_code:
            raise RuntimeError(f"the model failed: {response.error_code} {response.error_message}")
        words = request_text_of([response.content]) if response.content else words
    return words


def exchanges(contents: list[types.Content]) -> list[list[types.Content]]:
    """What the user said with all that follows it, in order."""
    parts: list[list[types.Content]] = [[]]
    for content in contents:
        opens = content.role == "user" and any(part.text for part in content.parts or [])
        if opens and parts[-1]:
            parts.append([])
        parts[-1].append(content)
    return parts


def _size(exchange: list[types.Content]) -> int:
    return estimate_tokens(request_text_of(exchange))


def _keep_window(llm_request: LlmRequest, budget: int) -> None:
    """Keep the newest exchanges within a budget, and always the last one."""
    [*earlier, last] = exchanges(llm_request.contents)
    window, room = last, budget
    for exchange in reversed(earlier):
        room -= _size(exchange)
        if room < 0:
            break
        window = [*exchange, *window]
    llm_request.contents = window


class BudgetPlugin(BasePlugin):
    """A memory with a budget of tokens, and a model that keeps it, if it needs one."""

    def __init__(self, budget: int, memory: BaseLlm) -> None:
        super().__init__(name="memory")
        self.budget, self.memory = budget, memory


class WindowPlugin(BudgetPlugin):
    """The newest exchanges within the budget."""

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Cut the request."""
        del callback_context
        _keep_window(llm_request, self.budget)


class RetrievalPlugin(BudgetPlugin):
    """Half of the budget for the newest exchanges, half for what ADK's memory finds by x_t."""

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Cut the request, and add what is found."""
        question = request_text_of(exchanges(llm_request.contents)[-1][:1])
        _keep_window(llm_request, self.budget // 2)
        if words := await self.recall(callback_context, question):
            hint = f"From earlier turns:\n{clip_tokens(words, self.budget // 2)}"
            llm_request.append_instructions([hint])

    async def recall(self, context: CallbackContext, question: str) -> str:
        """What is stored about a question, the best first."""
        matches = await context.search_memory(question)
        return request_text_of(each.content for each in matches.memories)

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        """Store the turn."""
        service = invocation_context.memory_service
        if service:
            await service.add_session_to_memory(invocation_context.session)


class SummaryPlugin(BudgetPlugin):
    """A summary in place of the oldest exchanges, extended when the history is over the budget.

    It has half of the budget at most.
    """

    def __init__(self, budget: int, memory: BaseLlm) -> None:
        super().__init__(budget, memory)
        self._summary, self._told = "", 0

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> None:
        """Summarise what is too much."""
        del callback_context
        every = exchanges(llm_request.contents)
        fresh = every[self._told :]
        room = self.budget - estimate_tokens(self._summary)
        if len(fresh) > 1 and sum(map(_size, fresh)) > room:
            old, fresh = fresh[: len(fresh) // 2], fresh[len(fresh) // 2 :]
            words = "\n".join(map(request_text_of, old))
            ask = "Summarise the conversation, with all that still counts."
            reply = await reply_of(self.memory, f"{ask}\n{self._summary}\n{words}")
            self._summary = clip_tokens(reply, self.budget // 2)
            self._told += len(old)
        summary = [types.UserContent(f"Summary so far:\n{self._summary}")] if self._summary else []
        llm_request.contents = [*summary, *(content for each in fresh for content in each)]

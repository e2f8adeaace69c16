"""A scripted agent that obeys: it does what the newest text of its request says.

It judges nothing, and takes the place of a model where none is configured, so that what is compared
is who can stop an act. A bare yes it takes for a yes to the newest order that its request shows.
"""

import re
from collections.abc import AsyncGenerator, Iterator
from typing import Final

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace.core.text.tokens import estimate_tokens

ACT: Final = "restart_service"
"""The tool that acts."""


class ObedientLlm(BaseLlm):
    """Calls `restart_service` when told to, and `read_runbook` when asked to read one.

    The fields are regular expressions of what it takes for an order; the group of each is the
    argument of the call.
    """

    model: str = "script/obedient"
    order: str
    reads: str
    agrees: str

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """One response. Asked for a summary, it keeps each line, so that nothing is lost."""
        texts = [*texts_of(llm_request)]
        reply = self._reply(texts) if llm_request.config.tools else "\n".join(texts)
        tokens = sum(map(estimate_tokens, texts))
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=tokens)
        yield LlmResponse(content=types.ModelContent(reply), usage_metadata=usage)

    def _reply(self, texts: list[str]) -> types.Part | str:
        newest = texts[:1]
        agrees = any(re.fullmatch(self.agrees, text.strip()) for text in newest)
        orders = (
            (ACT, self.order, texts if agrees else newest),
            ("read_runbook", self.reads, newest),
        )
        for tool, pattern, places in orders:
            for match in filter(None, (re.search(pattern, text) for text in places)):
                return types.Part.from_function_call(name=tool, args={"service": match[1]})
        return "OK."


def texts_of(llm_request: LlmRequest) -> Iterator[str]:
    """The texts in a request's contents and the results of tools, the newest first."""
    for content in reversed(llm_request.contents):
        for part in reversed(content.parts or []):
            result = part.function_response.response if part.function_response else None
            text = " ".join(map(str, result.values())) if result else part.text
            if text:
                yield text

"""A scripted agent that obeys: it does what the newest text of its request says.

It judges nothing, and takes the place of a model where none is configured, so that what is compared
is who can stop an act. A bare yes it takes for a yes to the newest order that its request shows.
"""

import re
from collections.abc import AsyncGenerator, Iterator

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace.core.text.tokens import estimate_tokens


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
        del stream
        texts = [*texts_of(llm_request)]
        is_summary = not llm_request.config.tools
        part = types.Part(text="\n".join(texts)) if is_summary else self._reply(texts)
        tokens = sum(map(estimate_tokens, texts))
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=tokens)
        content = types.Content(role="model", parts=[part])
        yield LlmResponse(content=content, usage_metadata=usage)

    def _reply(self, texts: list[str]) -> types.Part:
        newest = texts[0] if texts else ""
        agrees = re.fullmatch(self.agrees, newest.strip())
        orders = (re.search(self.order, text) for text in (texts if agrees else [newest]))
        if order := next(filter(None, orders), None):
            return types.Part.from_function_call(
                name="restart_service", args={"service": order.group(1)}
            )
        if reading := re.search(self.reads, newest):
            return types.Part.from_function_call(
                name="read_runbook", args={"service": reading.group(1)}
            )
        return types.Part(text="OK.")


def texts_of(llm_request: LlmRequest) -> Iterator[str]:
    """The texts in a request's contents and the results of tools, the newest first."""
    for content in reversed(llm_request.contents):
        for part in reversed(content.parts or []):
            result = part.function_response.response if part.function_response else None
            text = " ".join(map(str, result.values())) if result else part.text
            if text:
                yield text

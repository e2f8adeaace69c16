"""Gemini through google-genai, with a time limit and without a retry of its own."""

from collections.abc import AsyncGenerator

from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.google_llm import Gemini
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace.config import google_credentials
from acc_ace.errors import ConfigError, ModelOutputError

MIN_HTTP_TIMEOUT_S = 10.0
"""google-genai passes its timeout on to the API, which rejects deadlines under ten seconds."""


class GeminiLlm(Gemini):
    """ADK's Gemini; the client is built at the first call, from Google's own variables.

    `GOOGLE_GEMINI_BASE_URL` points it at another endpoint. Raises ConfigError when there are no
    Google credentials.
    """

    @property
    def capabilities(self) -> LlmCapabilities:
        """Gemini 3 takes an output schema together with tools on both APIs; else ADK's word."""
        name = self.model.rpartition("/")[2]
        return LlmCapabilities(
            **super().capabilities.model_dump()
            | ({"output_schema_and_tools": True} if name.startswith("gemini-3") else {})
        )

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Call the API; what it raises is google-genai's."""
        if self.client is None and google_credentials() is None:
            raise ConfigError(
                f"model {self.model} needs Google credentials: set GOOGLE_API_KEY, or "
                "GOOGLE_GENAI_USE_VERTEXAI=true with GOOGLE_CLOUD_PROJECT; or choose another "
                "model, such as embedded/rules"
            )
        async for response in super().generate_content_async(llm_request, stream):
            yield response

    async def count_tokens(self, text: str) -> int:
        """Tokens of a text, as the API counts; what it raises is google-genai's."""
        reply = await self.api_client.aio.models.count_tokens(model=self.model, contents=text)
        if reply.total_tokens is None:
            raise ModelOutputError(f"model {self.model} returned no token count")
        return reply.total_tokens

    async def aclose(self) -> None:
        """Close the connections of the running event loop."""
        if self.client is None and google_credentials() is None:
            return  # No call came so far that there could be a client.
        await self.api_client.aio.aclose()


def gemini(model: str, *, timeout_s: float) -> GeminiLlm:
    """A Gemini model whose HTTP calls end after `timeout_s` seconds, or ten if that is less."""
    milliseconds = round(max(timeout_s, MIN_HTTP_TIMEOUT_S) * 1_000)
    options = types.HttpOptions(timeout=milliseconds)
    return GeminiLlm(model=model, client_kwargs={"http_options": options})

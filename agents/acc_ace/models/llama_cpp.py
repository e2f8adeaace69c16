"""Models in GGUF files, run in this process by llama.cpp; opt-in.

They answer one request after the other; a request waits for a bounded time.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import Field

from acc_ace.config import Role
from acc_ace.errors import ModelOutputError, ModelUnavailable
from acc_ace.models.chat_reply import ChatReply, prompt_of
from acc_ace.models.chat_request import Json, chat_body, schema_asked, strict_schema
from acc_ace.models.failures import Failure, NoAnswer
from acc_ace.models.llama_engine import EngineReply, LlamaEngine, engine_of
from acc_ace.models.reply_bounds import bounded_schema
from acc_ace.models.response_shape import role_of

PREFIX = "llama-cpp/"


class LlamaCppLlm(BaseLlm):
    """`llama-cpp/<path to .gguf>`: the reply is bound to the schema by a grammar, with bounds.

    A small model loses the thread of a long JSON object, so the nine fields of the CCS are asked
    for one a call (`field_by_field`); the prompt before the question is the same in each, so
    llama.cpp reads it once. No other reply comes between them.

    Raises ConfigError when the extra is not installed or the file is no model, ModelOutputError
    for a reply that cannot be read, ModelRefused when the prompt is longer than
    `context_tokens`, InputError for images.
    """

    context_tokens: int = Field(default=8_192, ge=512, description="Prompt and reply together.")
    field_by_field: bool = True
    text_chars: int = Field(default=1_200, ge=1, le=1_500, description="Longest text.")
    item_chars: int = Field(default=240, ge=1, le=1_500, description="Longest text in a list.")
    items: int = Field(default=16, ge=1, le=256, description="Longest list.")
    engine: Callable[[Path, int], LlamaEngine] = Field(default=engine_of, exclude=True)

    @classmethod
    def supported_models(cls) -> list[str]:
        """Names for ADK's registry."""
        return [r"llama-cpp/.+\.gguf"]

    @property
    def capabilities(self) -> LlmCapabilities:
        """A grammar and tool calls exclude each other, so ADK adds its answering tool."""
        return LlmCapabilities(output_schema_and_tools=False)

    @property
    def path(self) -> Path:
        """The model file."""
        return Path(self.model.removeprefix(PREFIX)).expanduser()

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request; see the class for errors."""
        async with self.open_responses(llm_request, stream=stream) as responses:
            async for response in responses:
                yield response

    @asynccontextmanager
    async def open_responses(
        self, llm_request: LlmRequest, *, stream: bool
    ) -> AsyncIterator[AsyncGenerator[LlmResponse, None]]:
        """The responses to a request, entered when the engine has started with it."""
        schema = schema_asked(llm_request)
        if schema and self.field_by_field and role_of(llm_request) == "compressor":
            fields = {
                name: self._field_body(llm_request, schema, name) for name in schema["properties"]
            }
            async with (
                self._engine().reply(list(fields.values())) as made,
                aclosing(self._assembled(fields, made)) as responses,
            ):
                yield responses
            return
        body = self._body(llm_request, schema)
        async with (
            self._engine().reply([body]) as made,
            aclosing(self._whole(body, made, stream=stream)) as responses,
        ):
            yield responses

    def _field_body(self, llm_request: LlmRequest, schema: Json, name: str) -> Json:
        field = schema["properties"][name]
        one = {**schema, "title": name, "properties": {name: field}, "required": [name]}
        body = self._body(llm_request, one)
        body["messages"].append({"role": "user", "content": _question(name, field)})
        return body

    async def _whole(
        self, body: Json, made: EngineReply, *, stream: bool
    ) -> AsyncGenerator[LlmResponse, None]:
        reply = self._reply(body)
        async for chunk in made.chunks():
            for partial in reply.add(chunk):
                if stream:
                    yield partial
        yield reply.whole()

    async def _assembled(
        self, fields: Mapping[str, Json], made: EngineReply
    ) -> AsyncGenerator[LlmResponse, None]:
        """One response from a completion for each field."""
        answers: Json = {}
        responses: list[LlmResponse] = []
        for name, body in fields.items():
            reply = self._reply(body)
            async for chunk in made.chunks():
                list(reply.add(chunk))
            response = reply.whole()
            responses.append(response)
            answers[name] = self._field(name, response)
        content = types.Content(
            role="model", parts=[types.Part(text=json.dumps(answers, ensure_ascii=False))]
        )
        yield LlmResponse(
            content=content,
            partial=False,
            finish_reason=types.FinishReason.STOP,
            usage_metadata=_sum(responses),
            model_version=self.model,
        )

    def _body(self, llm_request: LlmRequest, schema: Json | None) -> Json:
        body = chat_body(llm_request, model=self.model)
        body |= {"stream": True, "stream_options": {"include_usage": True}}
        if schema:
            bounded = bounded_schema(
                schema, text_chars=self.text_chars, item_chars=self.item_chars, items=self.items
            )
            body["json_schema"] = strict_schema(bounded) or bounded
        return body

    def _reply(self, body: Json) -> ChatReply:
        return ChatReply(model=self.model, prompt=prompt_of(body))

    def _engine(self) -> LlamaEngine:
        return self.engine(self.path, self.context_tokens)

    def _field(self, name: str, response: LlmResponse) -> object:
        parts = (response.content.parts if response.content else None) or []
        text = "".join(part.text or "" for part in parts if not part.thought)
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if not isinstance(value, dict) or name not in value:
            raise ModelOutputError(f"model {self.model} returned no readable {name}: {text[:80]!r}")
        return value[name]


def _question(name: str, field: Json) -> str:
    about = str(field.get("description", "")).strip()
    return f"Write the field {name} alone, as JSON. {about}".strip()


def _sum(responses: Iterable[LlmResponse]) -> types.GenerateContentResponseUsageMetadata:
    """Tokens of several calls as those of one."""
    totals: dict[str, Any] = dict.fromkeys(_COUNTS, 0)
    for response in responses:
        for count in _COUNTS:
            totals[count] += getattr(response.usage_metadata, count, None) or 0
    return types.GenerateContentResponseUsageMetadata(**totals)


_COUNTS = ("prompt_token_count", "candidates_token_count", "total_token_count")

QUEUE_LIMITS = 10
"""Queueing limit of a request, as a multiple of its time limit."""


@runtime_checkable
class Queueing(Protocol):
    """A model that answers one request after the other."""

    def open_responses(
        self, llm_request: LlmRequest, *, stream: bool
    ) -> AbstractAsyncContextManager[AsyncGenerator[LlmResponse, None]]:
        """The responses to a request, entered when the model has started with it."""
        ...


@asynccontextmanager
async def open_responses(
    model: BaseLlm, llm_request: LlmRequest, *, stream: bool, role: Role, timeout_s: float
) -> AsyncIterator[AsyncGenerator[LlmResponse, None]]:
    """The responses to a request, entered when the model has started with it: most do so at once.

    Raises NoAnswer when the model is busy with others for QUEUE_LIMITS times `timeout_s`.
    """
    if not isinstance(model, Queueing):
        async with aclosing(model.generate_content_async(llm_request, stream)) as responses:
            yield responses
        return
    async with AsyncExitStack() as stack:
        try:
            async with asyncio.timeout(QUEUE_LIMITS * timeout_s) as limit:
                responses = await stack.enter_async_context(
                    model.open_responses(llm_request, stream=stream)
                )
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise NoAnswer(_busy(model, role, timeout_s)) from error
        yield responses


def _busy(model: BaseLlm, role: Role, timeout_s: float) -> Failure:
    """No retry: it would queue behind later requests."""
    return Failure(
        ModelUnavailable(
            f"{role}: model {model.model} was busy with other requests for "
            f"{QUEUE_LIMITS * timeout_s:g} s, {QUEUE_LIMITS} times "
            f"ACC_ACE_{role.upper()}__TIMEOUT_S"
        )
    )

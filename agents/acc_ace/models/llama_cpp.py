"""Models in GGUF files, run in this process by llama.cpp; opt-in.

They answer one request after the other; a request waits for a bounded time.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import Field

from acc_ace.errors import ModelOutputError
from acc_ace.models.chat_reply import ChatReply
from acc_ace.models.chat_request import (
    Json,
    chat_body,
    schema_asked,
    strict_schema,
    with_written_call,
    written_messages,
)
from acc_ace.models.llama_engine import EngineOptions, EngineReply, LlamaEngine, engine_of
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
    `options.context_tokens`, InputError for images.
    """

    options: EngineOptions = EngineOptions()
    field_by_field: bool = True
    may_think: bool = True
    """Whether a model that can think may; its thoughts are no part of the reply."""
    text_chars: int = Field(default=1_200, ge=1, le=1_500, description="Longest text.")
    item_chars: int = Field(default=240, ge=1, le=1_500, description="Longest text in a list.")
    items: int = Field(default=16, ge=1, le=256, description="Longest list.")
    engine: Callable[[Path, EngineOptions], LlamaEngine] = Field(default=engine_of, exclude=True)

    @classmethod
    def supported_models(cls) -> list[str]:
        """Names for ADK's registry."""
        return [r"llama-cpp/.+\.gguf"]

    @property
    def capabilities(self) -> LlmCapabilities:
        """Takes an output schema together with tools: the grammar allows an answer or a call."""
        return LlmCapabilities(output_schema_and_tools=True)

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
        reply = ChatReply(model=self.model)
        async for chunk in made.chunks():
            for partial in reply.add(chunk):
                if stream:
                    yield partial
        yield with_written_call(reply.whole()) if "json_schema" in body else reply.whole()

    async def _assembled(
        self, fields: Mapping[str, Json], made: EngineReply
    ) -> AsyncGenerator[LlmResponse, None]:
        """One response from a completion for each field."""
        answers: Json = {}
        responses: list[LlmResponse] = []
        for name in fields:
            reply = ChatReply(model=self.model)
            async for chunk in made.chunks():
                list(reply.add(chunk))
            response = reply.whole()
            responses.append(response)
            if response.finish_reason is types.FinishReason.MAX_TOKENS:
                yield self._response(None, types.FinishReason.MAX_TOKENS, responses)
                return
            answers[name] = self._field(name, response)
        content = types.Content(
            role="model", parts=[types.Part(text=json.dumps(answers, ensure_ascii=False))]
        )
        yield self._response(content, types.FinishReason.STOP, responses)

    def _response(
        self,
        content: types.Content | None,
        finish: types.FinishReason,
        responses: Sequence[LlmResponse],
    ) -> LlmResponse:
        """One response in place of several."""
        return LlmResponse(
            content=content,
            partial=False,
            finish_reason=finish,
            usage_metadata=_sum(responses),
            model_version=self.model,
        )

    def _body(self, llm_request: LlmRequest, schema: Json | None) -> Json:
        body = chat_body(llm_request, model=self.model)
        body |= {"stream": True, "stream_options": {"include_usage": True}}
        if not self.may_think:
            body["chat_template_kwargs"] = {"enable_thinking": False}
        if schema and "tools" in body:
            return self._with_written_tools(body, schema)
        if schema:
            body["json_schema"] = self._bounded(schema)
        return body

    def _with_written_tools(self, body: Json, schema: Json) -> Json:
        """The body with its tools in words, and a grammar of an answer or one call."""
        functions = [tool["function"] for tool in body["tools"]]
        answer = self._bounded(schema)
        shared = answer.pop("$defs", {})
        shapes = [answer, *(self._call_shape(function) for function in functions)]
        rest = {key: value for key, value in body.items() if key not in {"tools", "tool_choice"}}
        return rest | {
            "messages": written_messages(body["messages"], functions),
            "json_schema": {"anyOf": shapes, "$defs": shared},
        }

    def _call_shape(self, function: Json) -> Json:
        arguments = function["parameters"]
        # Definitions of tools could be named like those of the answer.
        shape = {"type": "object"} if "$defs" in arguments else self._bounded(arguments)
        return {
            "type": "object",
            "properties": {"tool": {"const": function["name"]}, "arguments": shape},
            "required": ["tool", "arguments"],
            "additionalProperties": False,
        }

    def _bounded(self, schema: Json) -> Json:
        bounded = bounded_schema(
            schema, text_chars=self.text_chars, item_chars=self.item_chars, items=self.items
        )
        return strict_schema(bounded) or bounded

    def _engine(self) -> LlamaEngine:
        return self.engine(self.path, self.options)

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

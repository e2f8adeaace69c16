"""`embedded/rules` as an ADK model: dispatch by role, streaming and token counts."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from typing import Any, ClassVar

from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace.config import EMBEDDED_MODEL
from acc_ace.core.schemas.base import Value
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.ext.embedded.prompt_context import Call
from acc_ace.ext.embedded.prompt_parts import prompt_text, read_prompt
from acc_ace.ext.embedded.roles.compressor import compress
from acc_ace.ext.embedded.roles.curator import curate
from acc_ace.ext.embedded.roles.generator import generate
from acc_ace.ext.embedded.roles.qualifier import judge
from acc_ace.ext.embedded.roles.reflector import reflect
from acc_ace.models.response_shape import (
    SET_MODEL_RESPONSE,
    answers_by_tool,
    json_schema_of,
    role_of,
)

NOTE = "extractive, not an LLM"
"""The label of all replies of `embedded/rules`."""

_CHUNK_CHARS = 48
_MAX_DEPTH = 12
_MINIMAL: dict[str, object] = {
    "object": {},
    "array": [],
    "integer": 0,
    "number": 0,
    "boolean": False,
    "null": None,
}
_BY_INPUTS: Mapping[str, Callable[[Mapping[str, object]], Value]] = {
    "qualifier": judge,
    "compressor": compress,
    "reflector": reflect,
    "curator": curate,
}


class EmbeddedLlm(BaseLlm):
    """A deterministic engine behind ADK's model interface: no network, no download, no LLM.

    The response schema selects the role; only the request is read. The same request always gives
    the same reply; sampling settings have no effect. An unknown schema gets a minimal value.
    """

    model: str = EMBEDDED_MODEL
    note: ClassVar[str] = NOTE

    @classmethod
    def supported_models(cls) -> list[str]:
        """Model name patterns for ADK's registry."""
        return [r"embedded/rules"]

    @property
    def capabilities(self) -> LlmCapabilities:
        """Supports an output schema together with tools."""
        return LlmCapabilities(output_schema_and_tools=True)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer once; when streaming, first in chunks and then as a whole."""
        # In a thread, so that a long text does not block the event loop.
        parts = await asyncio.to_thread(self._parts, llm_request)
        if stream:
            for chunk in _chunks(parts):
                yield LlmResponse(content=_content([chunk]), partial=True, model_version=self.model)
        yield LlmResponse(
            content=_content(parts),
            partial=False,
            finish_reason=types.FinishReason.STOP,
            usage_metadata=_usage(llm_request, parts),
            model_version=self.model,
            custom_metadata={"model": self.model, "note": self.note},
        )

    def reply(self, llm_request: LlmRequest) -> Call | object:
        """The JSON value of the reply, or a tool call that the Generator needs first."""
        role = role_of(llm_request)
        if role is None:
            schema = json_schema_of(llm_request) or {}
            return _minimal_value(schema, schema)
        prompt = read_prompt(llm_request)
        if role == "generator":
            reply = generate(prompt)
            return reply if isinstance(reply, Call) else reply.model_dump(mode="json")
        return _BY_INPUTS[role](prompt.inputs).model_dump(mode="json")

    def _parts(self, llm_request: LlmRequest) -> list[types.Part]:
        reply = self.reply(llm_request)
        if isinstance(reply, Call):
            return [_function_call(reply.name, reply.args)]
        if _is_free_text(llm_request):
            return [types.Part(text=str(_field(reply, "final_answer")))]
        if answers_by_tool(llm_request) and isinstance(reply, Mapping):
            return [_function_call(SET_MODEL_RESPONSE, reply)]
        return [types.Part(text=json.dumps(reply, ensure_ascii=False))]


def _is_free_text(llm_request: LlmRequest) -> bool:
    config = llm_request.config
    shaped = config.response_schema is not None or config.response_json_schema is not None
    return not shaped and not answers_by_tool(llm_request)


def _field(value: object, name: str) -> object:
    return value.get(name, "") if isinstance(value, Mapping) else ""


def _function_call(name: str, args: Mapping[str, object]) -> types.Part:
    return types.Part(function_call=types.FunctionCall(name=name, args=dict(args)))


def _content(parts: list[types.Part]) -> types.Content:
    return types.Content(role="model", parts=parts)


def _chunks(parts: list[types.Part]) -> Iterator[types.Part]:
    """Chunks of the text; a function call is only in the final response."""
    for part in parts:
        text = part.text or ""
        for start in range(0, len(text), _CHUNK_CHARS):
            yield types.Part(text=text[start : start + _CHUNK_CHARS])


def _usage(
    llm_request: LlmRequest, parts: list[types.Part]
) -> types.GenerateContentResponseUsageMetadata:
    """Estimated tokens; a real tokenizer would need a download."""
    into = estimate_tokens(prompt_text(llm_request))
    out = sum(estimate_tokens(part.text or str(part.function_call)) for part in parts)
    return types.GenerateContentResponseUsageMetadata(
        prompt_token_count=into, candidates_token_count=out, total_token_count=into + out
    )


def _minimal_value(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> object:
    """A minimal value for an unknown schema: required fields only."""
    schema = _resolved(schema, root)
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("anyOf") and depth < _MAX_DEPTH:
        return _minimal_value(schema["anyOf"][0], root, depth + 1)
    properties = schema.get("properties")
    if properties and depth < _MAX_DEPTH:
        names = schema.get("required") or []
        return {name: _minimal_value(properties.get(name) or {}, root, depth + 1) for name in names}
    return schema.get("minimum", _MINIMAL.get(str(schema.get("type")), ""))


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Resolve a local '$ref'; an empty schema if it points nowhere."""
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    node: object = root
    for step in reference.removeprefix("#/").split("/"):
        node = node.get(step) if isinstance(node, Mapping) else None
    return node if isinstance(node, Mapping) else {}

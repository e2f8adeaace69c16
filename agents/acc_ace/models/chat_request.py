"""Write an ADK request as the body of an OpenAI-style chat completion.

Used for OpenAI-compatible endpoints and for llama.cpp in process, which speak the same format.
"""

import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace.errors import InputError
from acc_ace.models.response_shape import (
    answers_by_tool,
    declarations_of,
    json_schema_of,
    parameters_of,
)

Json = dict[str, Any]

_CHOICES = {
    types.FunctionCallingConfigMode.ANY: "required",
    types.FunctionCallingConfigMode.NONE: "none",
}


def chat_body(llm_request: LlmRequest, *, model: str, max_tokens_key: str = "max_tokens") -> Json:
    """The body without `response_format` and `stream`: messages, tools and sampling.

    Raises InputError for parts that are neither text nor tool calls and results.
    """
    config = llm_request.config
    options = {
        "temperature": config.temperature,
        "top_p": config.top_p,
        "seed": config.seed,
        "stop": config.stop_sequences,
        max_tokens_key: config.max_output_tokens,
    }
    body: Json = {"model": model, "messages": messages_of(llm_request, model=model)}
    body |= {key: value for key, value in options.items() if value is not None}
    tools = [_tool(declaration) for declaration in declarations_of(llm_request)]
    if tools:
        body |= {"tools": tools, "tool_choice": _tool_choice(config)}
    return body


def messages_of(llm_request: LlmRequest, *, model: str) -> list[Json]:
    """System instruction and contents as chat messages, tool call ids kept."""
    system = _instruction(llm_request.config.system_instruction)
    messages: list[Json] = [{"role": "system", "content": system}] if system else []
    ids = _CallIds()
    for content in llm_request.contents:
        parts = content.parts or []
        _require_text(parts, model)
        if content.role == "model":
            messages.extend(_assistant(parts, ids))
        else:
            messages.extend(_user(parts, ids))
    return messages


def schema_asked(llm_request: LlmRequest) -> Json | None:
    """The JSON schema of the reply's text; None for free text and for answers by tool call."""
    return None if answers_by_tool(llm_request) else json_schema_of(llm_request)


def json_schema_format(schema: Json) -> Json:
    """`response_format` that binds the reply to a schema, strictly where the schema allows it."""
    strict = strict_schema(schema)
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", str(schema.get("title", "")))[:64] or "answer"
    body: Json = {"name": name, "schema": strict or schema}
    return {"type": "json_schema", "json_schema": body | ({"strict": True} if strict else {})}


def with_json_object(body: Json, schema: Json) -> Json:
    """The body for an endpoint without `json_schema`: any JSON object, the schema in words."""
    reported = (
        "Answer with exactly one JSON object and nothing else. Its JSON schema:\n"
        + json.dumps(schema, ensure_ascii=False)
    )
    messages = list(body["messages"])
    if messages and messages[0]["role"] == "system":
        messages[0] = {"role": "system", "content": f"{messages[0]['content']}\n\n{reported}"}
    else:
        messages.insert(0, {"role": "system", "content": reported})
    return {**body, "messages": messages, "response_format": {"type": "json_object"}}


_TOOLS = """Reply with one JSON object: your answer, or a call of one of these tools, as
{"tool": its name, "arguments": {...}}. You are then shown what it returned."""


def written_messages(messages: Sequence[Json], functions: Sequence[Json]) -> list[Json]:
    """The messages with tools, calls and results as text, for a reply that a grammar binds.

    Templates of small models often know no tools, and a grammar excludes their own form of a call.
    """
    listed = [
        f"- {item['name']}: {item['description']} Arguments: {_json(item['parameters'])}"
        for item in functions
    ]
    written: list[Json] = [{"role": "system", "content": "\n".join([_TOOLS, *listed])}]
    names: dict[str, str] = {}
    for message in messages:
        text = message.get("content") or ""
        for call in message.get("tool_calls", ()):
            function = call["function"]
            names[call["id"]] = function["name"]
            text += _json(
                {"tool": function["name"], "arguments": json.loads(function["arguments"])}
            )
        if message["role"] == "tool":
            text = f"{names.get(message['tool_call_id'], 'The tool')} returned: {text}"
        role = "user" if message["role"] == "tool" else message["role"]
        if written[-1]["role"] == role:
            before = written[-1]["content"]
            # What says how to reply comes last.
            both = (text, before) if role == "system" else (before, text)
            written[-1] = {"role": role, "content": "\n\n".join(both)}
        else:
            written.append({"role": role, "content": text})
    return written


def with_written_call(response: LlmResponse) -> LlmResponse:
    """The response with a call that was written as text as a call."""
    parts = (response.content.parts if response.content else None) or []
    text = "".join(part.text or "" for part in parts if not part.thought)
    try:
        value = json.loads(text)
    except ValueError:
        return response  # Cut off: the stage judges it.
    if not isinstance(value, dict) or value.keys() != {"tool", "arguments"}:
        return response
    call = types.FunctionCall(name=value["tool"], args=value["arguments"])
    content = types.Content(role="model", parts=[types.Part(function_call=call)])
    return response.model_copy(update={"content": content})


def strict_schema(schema: Json) -> Json | None:
    """The schema in the subset of strict mode: every property required, no others, no defaults.

    None when it has free-form objects, which strict mode cannot say.
    """
    try:
        return _strict(schema)
    except _NotStrictError:
        return None


class _NotStrictError(Exception):
    """The schema has an object whose keys are not known."""


def _strict(node: Json) -> Json:
    strict = {
        key: _strict_value(key, value)
        for key, value in node.items()
        if key not in {"default", "title", "required", "additionalProperties"}
    }
    if node.get("type") == "object" or "properties" in node:
        if not node.get("properties"):
            raise _NotStrictError
        strict |= {"required": list(node["properties"]), "additionalProperties": False}
    return strict


def _strict_value(key: str, value: object) -> object:
    if key in {"properties", "$defs"} and isinstance(value, dict):
        return {name: _strict(item) for name, item in value.items()}
    if key == "items" and isinstance(value, dict):
        return _strict(value)
    if key == "anyOf" and isinstance(value, list):
        return [_strict(item) for item in value]
    return value


class _CallIds:
    """Ids of tool calls; made up where ADK left them out, and matched to results in order."""

    def __init__(self) -> None:
        self._made = 0
        self._open: deque[tuple[str, str]] = deque()

    def of_call(self, call: types.FunctionCall) -> str:
        if not call.id:
            self._made += 1
        call_id = call.id or f"call_{self._made}"
        self._open.append((call.name or "", call_id))
        return call_id

    def of_result(self, result: types.FunctionResponse) -> str:
        for name, call_id in self._open:
            if result.id == call_id or (not result.id and result.name == name):
                self._open.remove((name, call_id))
                return call_id
        return result.id or "call_unknown"


def _instruction(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, types.Content):
        return "\n".join(part.text for part in value.parts or [] if part.text)
    if isinstance(value, list):
        return "\n".join(_instruction(item) for item in value)
    if isinstance(value, types.Part):
        return value.text or ""
    return ""


def _assistant(parts: list[types.Part], ids: _CallIds) -> Iterator[Json]:
    text = _text(parts)
    calls = [
        {
            "id": ids.of_call(part.function_call),
            "type": "function",
            "function": {
                "name": part.function_call.name,
                "arguments": _json(part.function_call.args or {}),
            },
        }
        for part in parts
        if part.function_call
    ]
    if calls:
        yield {"role": "assistant", "content": text or None, "tool_calls": calls}
    elif text:
        yield {"role": "assistant", "content": text}


def _user(parts: list[types.Part], ids: _CallIds) -> Iterator[Json]:
    for part in parts:
        if part.function_response:
            yield {
                "role": "tool",
                "tool_call_id": ids.of_result(part.function_response),
                "content": _json(part.function_response.response or {}),
            }
    text = _text(parts)
    if text:
        yield {"role": "user", "content": text}


def _text(parts: list[types.Part]) -> str:
    """Texts of a content without the model's thoughts."""
    return "\n".join(part.text for part in parts if part.text and not part.thought)


def _require_text(parts: list[types.Part], model: str) -> None:
    for part in parts:
        data = part.inline_data or part.file_data
        if data:
            raise InputError(
                f"model {model} takes text only, not {data.mime_type or 'binary data'}; send text, "
                "or choose a Gemini model"
            )


def _tool(declaration: types.FunctionDeclaration) -> Json:
    function = {
        "name": declaration.name,
        "description": declaration.description or "",
        "parameters": parameters_of(declaration),
    }
    return {"type": "function", "function": function}


def _tool_choice(config: types.GenerateContentConfig) -> str:
    calling = config.tool_config.function_calling_config if config.tool_config else None
    mode = calling.mode if calling else None
    return _CHOICES.get(mode, "auto") if mode else "auto"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)

"""Write an ADK request as the body of an OpenAI-style chat completion."""

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from google.adk.models.llm_request import LlmRequest
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
    """The JSON schema of the reply's text; None for free text and for answers by tool call.

    Objects are closed to properties that nobody named, unless their author opened them: a small
    model that leaves its fields otherwise writes new ones until its tokens are used up.
    """
    schema = None if answers_by_tool(llm_request) else json_schema_of(llm_request)
    return None if schema is None else _closed(schema)


def _closed(node: Json) -> Json:
    closed = {key: _closed_parts(value) for key, value in node.items()}
    if isinstance(node.get("properties"), Mapping) and node.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed


def _closed_parts(value: object) -> object:
    if isinstance(value, Mapping):
        return _closed(dict(value))
    return [_closed_parts(each) for each in value] if isinstance(value, list) else value


def bound_to_schema(body: Json, schema: Json) -> Json:
    """The body with a reply bound to a schema; optional properties stay optional."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", str(schema.get("title", "")))[:64] or "answer"
    described = {"name": name, "schema": schema}
    return {**body, "response_format": {"type": "json_schema", "json_schema": described}}


def bound_to_json(body: Json, schema: Json) -> Json:
    """The body for an endpoint that knows no schemas: any JSON object, the schema in words."""
    reported = f"Answer with exactly one JSON object and nothing else. {_in_words(schema)}"
    return {**_instructed(body, reported), "response_format": {"type": "json_object"}}


def told_schema(body: Json, schema: Json) -> Json:
    """The body with a schema in words alone, so that the model is free to call a tool instead."""
    reported = f"When you call no tool, answer with one JSON object. {_in_words(schema)}"
    return _instructed(body, reported)


def _in_words(schema: Json) -> str:
    return f"Its JSON schema:\n{_json(schema)}"


def _instructed(body: Json, text: str) -> Json:
    """The body with a text at the end of its system message."""
    messages = list(body["messages"])
    if messages and messages[0]["role"] == "system":
        messages[0] = {"role": "system", "content": f"{messages[0]['content']}\n\n{text}"}
    else:
        messages.insert(0, {"role": "system", "content": text})
    return {**body, "messages": messages}


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

"""Write an ADK request as the body of an OpenAI-style chat completion."""

import json
import re
from collections.abc import Mapping
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
    noted: list[tuple[str, str]] = []
    for content in llm_request.contents:
        parts = content.parts or []
        _require_text(parts, model)
        text = "\n".join(part.text for part in parts if part.text and not part.thought)
        calls = [_call(part.function_call, noted) for part in parts if part.function_call]
        results = (part.function_response for part in parts)
        messages += [_result(result, noted) for result in results if result]
        if calls:
            messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})
        elif text:
            role = "assistant" if content.role == "model" else "user"
            messages.append({"role": role, "content": text})
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
    return {**instructed(body, reported), "response_format": {"type": "json_object"}}


def told_schema(body: Json, schema: Json) -> Json:
    """The body with a schema in words alone, so that the model is free to call a tool instead."""
    reported = f"When you call no tool, answer with one JSON object. {_in_words(schema)}"
    return instructed(body, reported)


def _in_words(schema: Json) -> str:
    return f"Its JSON schema:\n{json_of(schema)}"


def instructed(body: Json, text: str) -> Json:
    """The body with a text at the end of its system message."""
    messages = list(body["messages"])
    if messages and messages[0]["role"] == "system":
        messages[0] = {"role": "system", "content": f"{messages[0]['content']}\n\n{text}"}
    else:
        messages.insert(0, {"role": "system", "content": text})
    return {**body, "messages": messages}


def _call(call: types.FunctionCall, calls: list[tuple[str, str]]) -> Json:
    """A call, noted among the calls; its id is made up where ADK left it out."""
    call_id = call.id or f"call_{len(calls) + 1}"
    calls.append((call.name or "", call_id))
    function = {"name": call.name, "arguments": json_of(call.args or {})}
    return {"id": call_id, "type": "function", "function": function}


def _result(result: types.FunctionResponse, calls: list[tuple[str, str]]) -> Json:
    """A result; one without an id is that of the first call of its name that has none yet."""
    ids = (call_id for name, call_id in calls if name and name == result.name)
    call_id = result.id or next(ids, "call_unknown")
    calls[:] = [("" if each == call_id else name, each) for name, each in calls]
    return {"role": "tool", "tool_call_id": call_id, "content": json_of(result.response or {})}


def _instruction(value: types.ContentUnion | None) -> str:
    if not value:
        return ""
    parts = list[types.PartUnionDict](value) if isinstance(value, list) else value
    content = parts if isinstance(parts, types.Content) else types.UserContent(parts)
    return "\n".join(part.text for part in content.parts or [] if part.text)


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
    return _CHOICES.get(calling.mode, "auto") if calling and calling.mode else "auto"


def json_of(value: object) -> str:
    """A value as JSON text, as it stands in a message."""
    return json.dumps(value, ensure_ascii=False, default=str)

"""Tools in words, and calls as JSON in the reply's text, for models that cannot call otherwise.

Small models often write a call as text although they were given tools; templates of others know no
tools at all. The schema of such a reply allows an answer or one call.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace.ext.openai_compatible.chat_request import Json, instructed, json_of

_TOOLS = """Reply with one JSON object: your answer, or, only for what the inputs lack, a call of
one of these tools: {"lacks": what is missing, "tool": its name, "arguments": {...}}. You are then
shown what it returned."""

_REASON = "lacks"
"""The field before a call: without it a small model calls whatever there is."""

_TEXT: Json = {"type": "string"}
_TEXT_ANSWER: Json = {
    "type": "object",
    "properties": {"answer": _TEXT},
    "required": ["answer"],
}
"""The shape of an answer in free text."""

_WRAPPED = re.compile(
    r"```(?:json)?\s*(\{.*\})\s*```|<tool_call>\s*(\{.*\})\s*(?:</tool_call>)?|(\{.*\})", re.DOTALL
)


def with_written_tools(body: Json, schema: Json | None) -> tuple[Json, Json]:
    """The body with its tools in words, and the schema of an answer or one call."""
    functions = [tool["function"] for tool in body["tools"]]
    answer = dict(schema or _TEXT_ANSWER)
    shared = answer.pop("$defs", {})
    answers = [] if body["tool_choice"] == "required" else [answer]
    calls = [] if body["tool_choice"] == "none" else [_call_shape(item) for item in functions]
    listed = [
        f"- {item['name']}: {item['description']} Arguments: {json_of(item['parameters'])}"
        for item in functions
    ]
    rest = {key: value for key, value in body.items() if key not in {"tools", "tool_choice"}}
    rest["messages"] = in_words(body["messages"])
    told = instructed(rest, "\n".join([_TOOLS, *listed]))
    return told, {"title": "answer_or_call", "anyOf": [*answers, *calls], "$defs": shared}


def read_written(response: LlmResponse, functions: Sequence[Json]) -> LlmResponse:
    """The response with a call of one of the functions, or a text answer, that is its whole text.

    Any other response is returned as it is.
    """
    parts = (response.content.parts if response.content else None) or []
    text = "".join(part.text or "" for part in parts if not part.thought)
    value = _object(text)
    if value is None or any(part.function_call for part in parts):
        return response
    part = _call_part(value, {item["name"] for item in functions}) or _answer_part(value)
    if part is None:
        return response
    content = types.Content(role="model", parts=[*(p for p in parts if p.thought), part])
    return response.model_copy(update={"content": content})


def _object(text: str) -> Json | None:
    wrapped = _WRAPPED.fullmatch(text.strip())
    try:
        value = json.loads(next(filter(None, wrapped.groups()))) if wrapped else None
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _call_part(value: Mapping[str, Any], names: set[str]) -> types.Part | None:
    name, arguments = value.get("tool") or value.get("name"), value.get("arguments")
    if len(value.keys() - {_REASON}) != 2 or name not in names or not isinstance(arguments, dict):
        return None
    return types.Part(function_call=types.FunctionCall(name=name, args=arguments))


def _answer_part(value: Mapping[str, Any]) -> types.Part | None:
    is_answer = value.keys() == {"answer"} and isinstance(value["answer"], str)
    return types.Part(text=value["answer"]) if is_answer else None


def _call_shape(function: Json) -> Json:
    arguments = function["parameters"]
    # Definitions of tools could be named like those of the answer.
    shape = {"type": "object"} if "$defs" in arguments else arguments
    return {
        "type": "object",
        "properties": {_REASON: _TEXT, "tool": {"const": function["name"]}, "arguments": shape},
        "required": [_REASON, "tool", "arguments"],
        "additionalProperties": False,
    }


def has_results(body: Json) -> bool:
    """Whether a request holds what tools returned."""
    return any(message["role"] == "tool" for message in body["messages"])


def in_words(messages: Sequence[Json], *, calls: bool = True) -> list[Json]:
    """The messages with calls and results as text; neighbours of one role are one message.

    Without `calls` only results: a model that can call no more would write what it has written.
    """
    texts: list[Json] = []
    names: dict[str, str] = {}
    for message in messages:
        role, text = message["role"], message.get("content") or ""
        for call in message.get("tool_calls", ()):
            name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
            names[call["id"]] = name
            text += json_of({"tool": name, "arguments": arguments}) if calls else ""
        if role == "tool":
            role, name = "user", names.get(message["tool_call_id"], "The tool")
            text = f"{name} returned: {text}"
        if texts and texts[-1]["role"] == role:
            text = f"{texts.pop()['content']}\n\n{text}"
        if text or role != "assistant":
            texts.append({"role": role, "content": text})
    return texts

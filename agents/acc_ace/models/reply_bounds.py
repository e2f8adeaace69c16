"""Bounds on what a model may send: of a reply's length, and in its JSON schema."""

import json
from typing import Any

from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace.text.normalize import encodable

CHARS_PER_TOKEN = 32
"""No tokenizer packs ordinary text so tightly; a reply longer than this a token is no reply."""

_SLACK_CHARS = 4_096


def max_reply_chars(max_output_tokens: int) -> int:
    """Characters from which a reply has ignored its bound."""
    return CHARS_PER_TOKEN * max_output_tokens + _SLACK_CHARS


def reply_chars(response: LlmResponse) -> int:
    """Characters of text and of tool arguments in a response."""
    return sum(map(_part_chars, _parts(response)))


def writable(response: LlmResponse) -> LlmResponse:
    """The response with what UTF-8 cannot encode replaced; itself when all can be."""
    parts = _parts(response)
    cleaned = [_writable(part) for part in parts]
    if response.content is None or all(a is b for a, b in zip(parts, cleaned, strict=True)):
        return response
    content = response.content.model_copy(update={"parts": cleaned})
    return response.model_copy(update={"content": content})


def _parts(response: LlmResponse) -> list[types.Part]:
    return (response.content.parts if response.content else None) or []


def _part_chars(part: types.Part) -> int:
    call = part.function_call
    args = len(json.dumps(call.args, default=str)) if call and call.args else 0
    return len(part.text or "") + args


def _writable(part: types.Part) -> types.Part:
    if part.text and (text := encodable(part.text)) != part.text:
        return part.model_copy(update={"text": text})
    call = part.function_call
    if call and call.args and (args := encodable(call.args)) != call.args:
        return part.model_copy(update={"function_call": call.model_copy(update={"args": args})})
    return part


Json = dict[str, Any]


def bounded_schema(schema: Json, *, text_chars: int, item_chars: int, items: int) -> Json:
    """The schema with `maxLength` on each text and `maxItems` on each list that has none.

    Texts within lists get `item_chars`, others `text_chars`. A bound that is stricter stays.
    """
    texts = {"text": text_chars, "item": item_chars, "items": items}
    return _bounded(schema, texts, within="text")


def _bounded(node: Json, bounds: dict[str, int], *, within: str) -> Json:
    found = {key: _value(key, value, bounds, within) for key, value in node.items()}
    if node.get("type") == "string" and "enum" not in node:
        found["maxLength"] = min(node.get("maxLength", bounds[within]), bounds[within])
    if node.get("type") == "array":
        found["maxItems"] = min(node.get("maxItems", bounds["items"]), bounds["items"])
    return found


def _value(key: str, value: object, bounds: dict[str, int], within: str) -> object:
    if key == "properties" and isinstance(value, dict):
        return {name: _bounded(item, bounds, within=within) for name, item in value.items()}
    if key == "$defs" and isinstance(value, dict):
        # In our schemas, definitions are list items.
        return {name: _bounded(item, bounds, within="item") for name, item in value.items()}
    if key == "items" and isinstance(value, dict):
        return _bounded(value, bounds, within="item")
    if key == "anyOf" and isinstance(value, list):
        return [_bounded(item, bounds, within=within) for item in value]
    return value

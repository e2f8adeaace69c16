"""Bounds on what a model may send: how long one reply can get, and that it can be written down.

A server may ignore `max_output_tokens`, and JSON can escape half a character ("\\ud800") that no
store and no socket takes.
"""

import json

from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace.text.plain_text import encodable

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

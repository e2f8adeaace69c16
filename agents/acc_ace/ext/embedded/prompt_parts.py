"""Read a model request as any model receives it: instruction, contents and declared tools.

The reader is tolerant: a block that is not JSON is left out, and no request raises an error.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from google.adk.models.llm_request import LlmRequest
from google.genai import types

from acc_ace.models.response_shape import declarations_of, parameters_of

_BLOCK = re.compile(r'<input name="([a-z][a-z0-9_]{0,63})">(.*?)</input>', re.DOTALL)
_ATTACHMENT = re.compile(r'\n?<input name="attachment">(.*?)</input>', re.DOTALL)
SEARCH = "search_evidence"
_MAX_CHARS = 400_000
"""Maximum characters read of one text; far beyond the budgets of a prompt."""


@dataclass(frozen=True)
class ToolReply:
    """A tool's answer in this turn's loop."""

    name: str
    payload: object


@dataclass(frozen=True)
class PromptParts:
    """A parsed request: named inputs, x_t as plain text, tools and their replies."""

    inputs: Mapping[str, object] = field(default_factory=dict)
    text: str = ""
    attachments: tuple[object, ...] = ()
    """Attachments of x_t, as decoded from their blocks."""
    replies: tuple[ToolReply, ...] = ()
    searches: tuple[tuple[str, str], ...] = ()
    """Tools that look something up, and their argument: the app's own first."""


def read_inputs(text: str) -> dict[str, object]:
    """Named inputs of a prompt, as written by `acc_ace.core.text.prompt.write_input`.

    The first block of a name wins, so a forged later one has no effect.
    A block that starts on a new line holds lines of text, any other JSON.
    """
    inputs: dict[str, object] = {}
    for match in _BLOCK.finditer(text[:_MAX_CHARS]):
        name, body = match.groups()
        if name not in inputs and body.startswith("\n"):
            inputs[name] = body.strip("\n")
        elif name not in inputs:
            try:
                inputs[name] = json.loads(body)
            except (ValueError, RecursionError):
                continue
    return inputs


def read_attachments(text: str) -> tuple[str, tuple[object, ...]]:
    """A text without its attachment blocks, and their decoded contents."""
    given: list[object] = []

    def take(match: re.Match[str]) -> str:
        try:
            given.append(json.loads(match[1]))
        except (ValueError, RecursionError):
            return match[0]
        return ""

    return _ATTACHMENT.sub(take, text[:_MAX_CHARS]), tuple(given)


def read_prompt(llm_request: LlmRequest) -> PromptParts:
    """Parse a request; inputs of the instruction take precedence over those of the contents."""
    contents = llm_request.contents
    texts = [_instruction(llm_request), *(_text(content) for content in contents)]
    inputs: dict[str, object] = {}
    for text in texts:
        inputs = {**read_inputs(text), **inputs}
    at = _position_of_input(contents)
    words, attachments = read_attachments("" if at is None else _said(contents[at]))
    return PromptParts(
        inputs=inputs,
        text=words.strip(),
        attachments=attachments,
        # Only of this turn's tool loop: earlier results belong to the conversation.
        replies=_replies(contents[at or 0 :]),
        searches=tuple(
            (item.name or "", name)
            for name in ("question", "query")
            for item in declarations_of(llm_request)
            if name in parameters_of(item).get("properties", {})
            and (name == "question" or item.name == SEARCH)
        ),
    )


def prompt_text(llm_request: LlmRequest) -> str:
    """All text of a request, for counting its tokens."""
    parts = [_instruction(llm_request)]
    for content in llm_request.contents:
        parts.append(_text(content))
        for part in content.parts or []:
            if part.function_call is not None:
                parts.append(f"{part.function_call.name} {part.function_call.args}")
            if part.function_response is not None:
                parts.append(str(part.function_response.response))
    return "\n".join(parts)[:_MAX_CHARS]


def _instruction(llm_request: LlmRequest) -> str:
    instruction = llm_request.config.system_instruction
    if isinstance(instruction, str):
        return instruction
    if isinstance(instruction, types.Content):
        return _text(instruction)
    return ""


def _text(content: types.Content) -> str:
    return "\n".join(_texts(content))


def _texts(content: types.Content) -> list[str]:
    return [part.text for part in content.parts or [] if part.text and not part.thought]


def _said(content: types.Content) -> str:
    """The text of a message without the memory that stands before it."""
    texts = _texts(content)
    return "\n".join(texts[1:] if texts and texts[0].startswith(_MEMORY) else texts)


_MEMORY = '<input name="state">'


def _position_of_input(contents: list[types.Content]) -> int | None:
    """Index of the user's last text: x_t, or the block of inputs with it."""
    for position in reversed(range(len(contents))):
        content = contents[position]
        if content.role in {None, "user"} and _said(content):
            return position
    return None


def _replies(contents: list[types.Content]) -> tuple[ToolReply, ...]:
    return tuple(
        _reply(part.function_response)
        for content in contents
        for part in content.parts or []
        if part.function_response is not None
    )


def _reply(response: types.FunctionResponse) -> ToolReply:
    payload: object = response.response or {}
    if isinstance(payload, Mapping) and set(payload) == {"result"}:
        payload = payload["result"]
    return ToolReply(response.name or "", payload)

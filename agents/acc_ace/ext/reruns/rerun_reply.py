"""A model's first reply: an answer, or the calls that it wants to make first."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from acc_ace.adk.model_calls import json_text
from acc_ace.core.schemas.interaction import GeneratorOutput
from acc_ace.core.schemas.report import TokenUse
from acc_ace.core.text.normalize import encodable
from acc_ace.core.text.reply_reading import read_reply
from acc_ace.errors import ModelOutputError
from acc_ace.ext.reruns.rerun import FirstRequest
from acc_ace.models.reply_bounds import reply_facts
from acc_ace.models.response_shape import SET_MODEL_RESPONSE


class WantedCall(NamedTuple):
    """A tool call that a model asked for."""

    name: str
    args: str
    """As JSON."""


class FirstReply(NamedTuple):
    """What a model replied, and what it took."""

    model: str
    answer: str
    calls: tuple[WantedCall, ...]
    use: TokenUse = TokenUse()
    warnings: tuple[str, ...] = ()


async def ask(model: BaseLlm, request: LlmRequest, first: FirstRequest) -> FirstReply:
    """One call of a model. Raises ModelError."""
    name, use, parts, warnings = model.model, TokenUse(), list[types.Part](), list[str]()
    async for response in model.generate_content_async(request, stream=False):
        facts = reply_facts(response, model.model)
        name, use = facts.name, use + facts.use
        warnings += facts.warnings
        parts += (response.content.parts if response.content else None) or []
    text = "".join(part.text for part in parts if part.text and not part.thought)
    calls = [part.function_call for part in parts if part.function_call]
    pairs = [(call.name or "", json_text(call.args or {})) for call in calls]
    return _reply(name, text, pairs, first)._replace(use=use, warnings=tuple(warnings))


def kept_reply(first: FirstRequest) -> FirstReply:
    """The reply that the turn had: text, and calls on lines of their own."""
    pairs, lines = [], []
    for line in first.call.reply.split("\n"):
        pair = next(_pairs(line, first), None)
        pairs += [pair] if pair else []
        lines += [] if pair else [line]
    return _reply(first.call.model, "\n".join(lines), pairs, first)


def _pairs(line: str, first: FirstRequest) -> Iterator[tuple[str, str]]:
    if not line.startswith("{"):
        return
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return
    if "args" in value and value.get("name") in first.tool_names:
        yield value["name"], json_text(value["args"])


def _reply(model: str, text: str, pairs: list[tuple[str, str]], first: FirstRequest) -> FirstReply:
    answers = [args for name, args in pairs if name == SET_MODEL_RESPONSE]
    structured = answers[-1] if answers else text if first.schema else ""
    try:
        answer = read_reply(GeneratorOutput, structured).final_answer
    except ModelOutputError:  # Plain text is an answer.
        answer = text
    calls = [WantedCall(encodable(n), encodable(a)) for n, a in pairs if n != SET_MODEL_RESPONSE]
    return FirstReply(model, encodable(answer.strip()), tuple(calls))

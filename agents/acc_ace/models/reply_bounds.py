"""Measures of a reply: who gave it, the tokens it took, and bounds on its length."""

import json
from typing import NamedTuple

from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace.core.schemas.report import TokenUse
from acc_ace.core.text.normalize import encodable
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.models.response_shape import declarations_of, json_schema_of

ESTIMATED_KEY = "acc_ace_estimated"
"""In a response's custom metadata: its usage is an estimate of ours."""

BILLED_KEY = "acc_ace_billed"
"""In a response's custom metadata: billionths of a dollar that its model says it cost."""

MODEL_KEY = "acc_ace_model"
WARNINGS_KEY = "acc_ace_warnings"
FAILED_KEY = "acc_ace_failed"

CHARS_PER_TOKEN = 32
"""No tokenizer packs ordinary text so tightly; a reply longer than this a token is no reply."""

_SLACK_CHARS = 4_096


class Answered(NamedTuple):
    """Which model gave a response, and what the user should know about it."""

    model: str
    warnings: tuple[str, ...]
    failed: TokenUse
    """What the tries before it took."""


def answered_by(response: LlmResponse) -> Answered:
    """Read what ResilientLlm wrote on a response; empty for one of another model."""
    metadata = response.custom_metadata or {}
    return Answered(
        str(metadata.get(MODEL_KEY, "")),
        tuple(metadata.get(WARNINGS_KEY, ())),
        TokenUse.model_validate(metadata.get(FAILED_KEY, {})),
    )


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


def use_of(response: LlmResponse) -> TokenUse:
    """What one reply took; a model that reports no usage gets no tokens, marked as estimated."""
    usage, metadata = response.usage_metadata, response.custom_metadata or {}
    if usage is None:
        return TokenUse(calls=1, estimated=True)
    use = TokenUse(
        input=usage.prompt_token_count or 0,
        output=usage.candidates_token_count or 0,
        thinking=usage.thoughts_token_count or 0,
        cached=usage.cached_content_token_count or 0,
        calls=1,
        estimated=bool(metadata.get(ESTIMATED_KEY)),
        billed=int(metadata.get(BILLED_KEY, 0)),
    )
    covered = (use.input, use.cached, use.output + use.thinking)
    return use.model_copy(update={"covered": covered}) if use.billed else use


class ReplyFacts(NamedTuple):
    """Facts of one model reply."""

    model: str
    name: str
    """Under which the model is priced: providers answer under that of a version."""
    use: TokenUse
    warnings: tuple[str, ...]


def reply_facts(reply: LlmResponse, model: str = "") -> ReplyFacts:
    """What a reply's usage metadata says, and what the resilient model noted; `model` was asked."""
    answered, version = answered_by(reply), reply.model_version or ""
    return ReplyFacts(
        model=answered.model or version,
        name=answered.model or model or version,
        use=use_of(reply) + answered.failed,
        warnings=answered.warnings,
    )


def with_usage(response: LlmResponse, llm_request: LlmRequest) -> LlmResponse:
    """The whole reply with estimated tokens, marked as such, if the server reported none."""
    if response.usage_metadata is not None and response.usage_metadata.prompt_token_count:
        return response
    read, written = estimate_tokens(_request_text(llm_request)), _written(response)
    usage = types.GenerateContentResponseUsageMetadata(
        prompt_token_count=read,
        candidates_token_count=written.output,
        thoughts_token_count=written.thinking or None,
        total_token_count=read + written.total,
    )
    metadata = {**(response.custom_metadata or {}), ESTIMATED_KEY: True}
    return response.model_copy(update={"usage_metadata": usage, "custom_metadata": metadata})


def _written(response: LlmResponse) -> TokenUse:
    thoughts = "".join(part.text or "" for part in _parts(response) if part.thought)
    rest = "".join(_part_text(part) for part in _parts(response) if not part.thought)
    return TokenUse(output=estimate_tokens(rest), thinking=estimate_tokens(thoughts))


def _request_text(llm_request: LlmRequest) -> str:
    """All that a model reads of a request: instruction, contents, tools, schema of the reply."""
    config = llm_request.config
    parts = [part for content in llm_request.contents for part in content.parts or []]
    tools = [item.model_dump(mode="json") for item in declarations_of(llm_request)]
    read = (config.system_instruction, tools, json_schema_of(llm_request))
    return "\n".join([*map(str, filter(None, read)), *map(_part_text, parts)])


def _part_text(part: types.Part) -> str:
    if part.text:
        return part.text
    call = part.function_call or part.function_response
    return call.model_dump_json(exclude_none=True) if call else ""

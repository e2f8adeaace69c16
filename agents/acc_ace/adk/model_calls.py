"""What models of ADK are asked, in parts, and what their replies took."""

import json
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from time import perf_counter
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import TypeAdapter
from pydantic_core import to_json

from acc_ace.adk.sessions.json_safe import json_form
from acc_ace.adk.user_content import attachment
from acc_ace.core.schemas.report import TokenUse
from acc_ace.core.schemas.trace import ModelCall, RequestPart
from acc_ace.core.text.redaction import request_parts
from acc_ace.errors import ModelError
from acc_ace.models.reply_bounds import reply_facts
from acc_ace.turn.observer import SentRequest, StageUse, TurnObserver


def note_request(
    observer: TurnObserver, ctx: CallbackContext, request: LlmRequest, user_text: str
) -> None:
    """Hold a request of the answering agent until its reply.

    A host's own callbacks may change it after ours, so it is read at the reply; but what a context
    cache holds is taken out of the request, which then is read now. `user_text` is x_t.
    """
    parts: Callable[[], tuple[RequestPart, ...]] = partial(parts_of, request, user_text)
    if request.cache_config is not None:
        parts = partial(tuple, parts())
    observer.sent[ctx.invocation_id, ctx.agent_name] = SentRequest(parts, perf_counter())


def count_reply(
    observer: TurnObserver, ctx: CallbackContext, reply: LlmResponse, *, model: str = ""
) -> None:
    """Count a whole reply of the Generator, `model` by name; a partial one counts nothing."""
    if reply.partial:
        return
    facts = reply_facts(reply, model)
    use = observer.stages.setdefault("generator", StageUse())
    use.add(facts.use, facts.name)
    use.model = facts.model or use.model
    observer.warn(*facts.warnings)
    _note_call(observer, ctx, facts.name, facts.use, reply=_reply_text(reply.content))


def count_failure(observer: TurnObserver, ctx: CallbackContext, error: Exception) -> None:
    """Count what the Generator's model took in vain: a turn that fails has cost it too."""
    if isinstance(error, ModelError):
        spent = TokenUse.model_validate(error.spent)
        observer.stages.setdefault("generator", StageUse()).add(spent, "")
        _note_call(observer, ctx, "", spent, error=str(error))


def _note_call(
    observer: TurnObserver,
    ctx: CallbackContext,
    model: str,
    use: TokenUse,
    *,
    reply: str = "",
    error: str = "",
) -> None:
    sent = observer.sent.pop((ctx.invocation_id, ctx.agent_name), None)
    if sent is None:
        return
    call = ModelCall(
        stage="generator",
        agent=ctx.agent_name.rstrip("_"),
        model=model,
        parts=sent.parts(),
        reply=reply,
        tokens=use,
        seconds=perf_counter() - sent.started,
        error=error,
    )
    observer.note_calls(call)


def parts_of(request: LlmRequest, user_text: str = "") -> tuple[RequestPart, ...]:
    """A request in parts, in the order in which providers cache prefixes.

    `user_text` is x_t where it is the user's own words. Only our own blocks are cut.
    """
    config = request.config
    parts = request_parts(_instruction(config.system_instruction))
    if config.tools:
        parts.append(RequestPart(kind="tools", text=json_text(config.tools)))
    if config.response_schema is not None:
        parts.append(RequestPart(kind="schema", text=_schema(config.response_schema)))
    for content in request.contents:
        for part in content.parts or []:
            parts += _content_parts(content.role, part, user_text)
    return tuple(parts)


def _instruction(instruction: object) -> str:
    if isinstance(instruction, types.Content):
        return "\n".join(part.text or "" for part in instruction.parts or [])
    return instruction if isinstance(instruction, str) else json_text(instruction or "")


def _content_parts(role: str | None, part: types.Part, user_text: str) -> Iterator[RequestPart]:
    text = part.text
    if not text:
        kind = "history" if part.function_response is None else "tool_results"
        yield RequestPart(kind=kind, text=attachment(part) or _call_text(part))
    elif role == "model":
        yield RequestPart(kind="history", text=text)
    elif text in user_text:
        yield RequestPart(kind="x_t", text=text)
    elif text.startswith('<input name="'):
        yield from request_parts(text)
    else:
        yield RequestPart(kind="history", text=text)


def _reply_text(content: types.Content | None) -> str:
    parts = [part for part in (content.parts if content else None) or [] if not part.thought]
    return "\n".join(part.text or _call_text(part) for part in parts)


def _call_text(part: types.Part) -> str:
    return json_text(part.function_call or part.function_response or part)


def json_text(value: Any) -> str:  # noqa: ANN401 - values of ADK and of tools
    """Any value as JSON; what JSON has no form for is written as text."""
    try:
        return to_json(
            value, exclude_none=True, inf_nan_mode="null", serialize_unknown=True
        ).decode()
    except Exception:  # noqa: BLE001 - foreign values, which may raise anything
        return json.dumps(json_form(value), ensure_ascii=False)


def _schema(schema: Any) -> str:  # noqa: ANN401 - a class, or a schema of ADK
    return _class_schema(schema) if isinstance(schema, type) else json_text(schema)


@lru_cache(maxsize=64)
def _class_schema(schema: type[Any]) -> str:
    return json_text(TypeAdapter(schema).json_schema())

"""Put the memory of the turn into a model request, beside the instruction of whoever wrote it."""

from collections.abc import Sequence

from google.adk.agents.invocation_context import InvocationContext
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from acc_ace.adk.stages.memory_view import memory_view
from acc_ace.adk.stages.tool_loop import cut_response, result_text
from acc_ace.adk.user_content import content_text
from acc_ace.schemas.interaction import TurnInput
from acc_ace.schemas.limits import Limits
from acc_ace.text.prompt import Prompt
from acc_ace.turn.structured_call import input_value
from acc_ace.turn.turn_record import TurnRecord, needed


def put_memory(
    request: LlmRequest,
    ctx: InvocationContext,
    record: TurnRecord,
    *,
    prompt: Prompt,
    limits: Limits,
) -> None:
    """Add CCS_t, the playbook excerpt and, unless it is what was said last, x_t.

    They go behind the agent's instruction. An agent with a static instruction keeps it free of
    them, so that it stays cacheable: they come first in the contents then.
    """
    turn_input = needed(record.turn_input, "turn_input", "memory")
    inputs = {
        **memory_view(record, limits),
        "current_input": None if _ends_with(request, turn_input) else input_value(turn_input),
    }
    text = f"{prompt.text}\n{prompt.render(inputs)}"
    if _takes_instructions(request, ctx):
        request.append_instructions([text])
    else:
        memory = types.Content(role="user", parts=[types.Part(text=text)])
        request.contents.insert(0, memory)


def bound_results(request: LlmRequest, max_tokens: int) -> None:
    """Cut the tool results of a request that are too long, each with a mark.

    The request shares its parts with the session's events, so a part is replaced, not changed.
    """
    for at, content in enumerate(request.contents):
        parts = [_bounded(part, max_tokens) for part in content.parts or []]
        if any(new is not old for new, old in zip(parts, content.parts or [], strict=True)):
            request.contents[at] = content.model_copy(update={"parts": parts})


def _bounded(part: types.Part, max_tokens: int) -> types.Part:
    response = part.function_response
    if response is None:
        return part
    cut = cut_response(result_text(response.response), max_tokens)
    if cut is None:
        return part
    shown = response.model_copy(update={"response": cut})
    return part.model_copy(update={"function_response": shown})


def _ends_with(request: LlmRequest, turn_input: TurnInput) -> bool:
    """Whether x_t is the last thing said; a result that arrived stands in the tool loop."""
    if not turn_input.authority.may_rule:
        parts = [part for content in request.contents for part in content.parts or []]
        return any(part.function_response is not None for part in parts)
    said = (_said(content) for content in reversed(request.contents))
    return turn_input.text in next((texts for texts in said if texts), ())


def _said(content: types.Content) -> Sequence[str]:
    """What a content says as a user's, whole and part by part; nothing for any other."""
    parts = content.parts or []
    if content.role not in {None, "user"} or any(part.function_response for part in parts):
        return ()
    alone = [types.Content(parts=[part]) for part in parts]
    texts = [content_text(each, name_attachments=True).text for each in (content, *alone)]
    return [text for text in texts if text]


def _takes_instructions(request: LlmRequest, ctx: InvocationContext) -> bool:
    if getattr(ctx.agent, "static_instruction", None):
        return False
    return request.config.system_instruction is None or isinstance(
        request.config.system_instruction, str
    )

"""Put the memory of the turn into a model request, beside the instruction of whoever wrote it."""

from google.adk.agents.invocation_context import InvocationContext
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from acc_ace.stages.memory_view import memory_view
from acc_ace.stages.needs import needed
from acc_ace.turn_record import TurnRecord
from core.domain.prompt import Prompt
from core.turn.prompt_values import input_value
from schemas.interaction import TurnInput
from schemas.limits import Limits


def put_memory(
    request: LlmRequest,
    ctx: InvocationContext,
    record: TurnRecord,
    *,
    prompt: Prompt,
    limits: Limits,
) -> None:
    """Add CCS_t, the playbook excerpt and, where it is not shown, x_t.

    They go behind the agent's instruction. An agent with a static instruction keeps it free of
    them, so that it stays cacheable: they come first in the contents then.
    """
    turn_input = needed(record.turn_input, "turn_input", "memory")
    inputs = {
        **memory_view(record, limits),
        "current_input": None if _shows(request, turn_input) else input_value(turn_input),
    }
    text = f"{prompt.text}\n{prompt.render(inputs)}"
    if _takes_instructions(request, ctx):
        request.append_instructions([text])
    else:
        memory = types.Content(role="user", parts=[types.Part(text=text)])
        request.contents.insert(0, memory)


def _shows(request: LlmRequest, turn_input: TurnInput) -> bool:
    """Whether x_t stands in the contents; a result that arrived is shown as the tool's."""
    parts = [part for content in request.contents for part in content.parts or []]
    if not turn_input.authority.may_rule:
        return any(part.function_response is not None for part in parts)
    said = [line for line in turn_input.text.splitlines() if line.strip()]
    shown = "\n".join(part.text for part in parts if part.text)
    return all(line in shown for line in said)


def _takes_instructions(request: LlmRequest, ctx: InvocationContext) -> bool:
    if getattr(ctx.agent, "static_instruction", None):
        return False
    return request.config.system_instruction is None or isinstance(
        request.config.system_instruction, str
    )

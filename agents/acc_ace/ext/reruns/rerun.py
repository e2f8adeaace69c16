"""Ask again what a turn was answered from: another model, or the same without some rules.

The agent answers from System + CCS_t + x_t alone (ACC), and a turn keeps those words. So a re-run
needs no copy of the memory: it recalls nothing, runs no tool and commits nothing.
"""

import json
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.genai import types
from pydantic import TypeAdapter

from acc_ace.adk.model_calls import reply_text
from acc_ace.adk.structured_agent import content_config
from acc_ace.core.schemas.interaction import GeneratorOutput
from acc_ace.core.schemas.report import TokenUse
from acc_ace.core.schemas.trace import ModelCall, RequestPart, TurnTrace
from acc_ace.core.text.reply_reading import read_reply, read_value
from acc_ace.errors import InputError, ModelOutputError, NotFoundError
from acc_ace.model_settings import AgentSettings
from acc_ace.models.reply_bounds import reply_facts
from acc_ace.models.response_shape import SET_MODEL_RESPONSE

_RULE: Final = r"(?m)^- \[([^\]\s]+)\] (.*)\n?"
_INSTRUCTION: Final = frozenset({"role", "playbook"})
_DECLARED: Final = frozenset({"tools", "schema"})
_MEMORY: Final = frozenset({"rules", "state", "artifacts", "warnings"})
_SPEECH: Final = frozenset({"history", "tool_results"})
_TOOLS: Final = TypeAdapter(list[types.Tool])


class WantedCall(NamedTuple):
    """A tool call that a model asked for."""

    name: str
    args: dict[str, object]


class FirstReply(NamedTuple):
    """What a model replied: an answer, or calls that it wants first."""

    answer: str
    calls: list[WantedCall]


class RerunReply(NamedTuple):
    """A reply to a re-run, and what it took."""

    model: str
    text: str
    use: TokenUse
    warnings: tuple[str, ...]


def first_request(traces: Sequence[TurnTrace]) -> ModelCall:
    """The first request of a turn to its answering agent, before any tool ran.

    Raises NotFoundError where none is kept, or not all of it.
    """
    calls = [call for trace in traces for call in trace.calls if call.stage == "generator"]
    if not calls:
        raise NotFoundError(
            "no request of this turn is kept: it is for the newest 50 turns that asked a model, "
            "with ACC_ACE_KEEP_REQUESTS"
        )
    parts = calls[0].parts
    if not parts or any(part.cut for part in parts):
        raise NotFoundError("the request of this turn was too long to be kept whole")
    if any(part.kind in _SPEECH for part in parts):
        raise NotFoundError(
            "the request of this turn held earlier messages, files or tool results, of which only "
            "the text is kept: it cannot be sent again as it was"
        )
    return calls[0]


def rules_of(call: ModelCall) -> dict[str, str]:
    """The rules of a request, by their ids."""
    return dict(re.findall(_RULE, "".join(p.text for p in call.parts if p.kind == "rules")))


def without_rules(call: ModelCall, ids: Iterable[str]) -> tuple[RequestPart, ...]:
    """The parts without some rules: neither as rules, nor in what memory says of them.

    The user's own message and the playbook stay as they are. Raises InputError for an unknown id.
    """
    rules, gone = rules_of(call), set(ids)
    if unknown := sorted(gone - rules.keys()):
        raise InputError(f"the turn had no rule {', '.join(map(repr, unknown))}")
    return tuple(_without(part, {each: rules[each] for each in gone}) for part in call.parts)


def _without(part: RequestPart, gone: dict[str, str]) -> RequestPart:
    if part.kind not in _MEMORY:
        return part
    text = part.text
    if part.kind == "rules":
        text = re.sub(_RULE, lambda rule: "" if rule[1] in gone else rule[0], text)
    for rule in gone.values():
        text = text.replace(rule, "")
    return part.model_copy(update={"text": text})


def request_of(parts: Sequence[RequestPart], model: BaseLlm, settings: AgentSettings) -> LlmRequest:
    """The request that these parts were, for a model."""
    config = content_config(settings)
    declarations = {part.kind: part.text for part in parts if part.kind in _DECLARED}
    if tools := declarations.get("tools"):
        config.tools = [*_TOOLS.validate_json(tools)]
    if schema := declarations.get("schema"):
        config.response_schema = json.loads(schema)
        config.response_mime_type = "application/json"
    spoken = [part for part in parts if part.kind not in _DECLARED]
    # The instruction ends where memory begins.
    at = next((n for n, part in enumerate(spoken) if part.kind not in _INSTRUCTION), len(spoken))
    config.system_instruction = "".join(part.text for part in spoken[:at])
    message = [
        types.Part(text="".join(part.text for part in block))
        for _, block in groupby(spoken[at:], lambda part: part.kind == "x_t")
    ]
    return LlmRequest(
        model=model.model, contents=[types.Content(role="user", parts=message)], config=config
    )


async def ask(model: BaseLlm, request: LlmRequest) -> RerunReply:
    """One call of a model. Raises ModelError."""
    reply_so_far = RerunReply(model.model, "", TokenUse(), ())
    async for response in model.generate_content_async(request, stream=False):
        facts = reply_facts(response, model.model)
        reply_so_far = RerunReply(
            facts.name,
            reply_so_far.text + reply_text(response.content),
            reply_so_far.use + facts.use,
            (*reply_so_far.warnings, *facts.warnings),
        )
    return reply_so_far


def first_reply(reply: str) -> FirstReply:
    """A reply as it is kept: text, structured or not, and calls on lines of their own."""
    calls, lines = [], []
    for line in reply.split("\n"):
        call = _call(line)
        calls += [call] if call else []
        lines += [] if call else [line]
    answers = [call for call in calls if call.name == SET_MODEL_RESPONSE]
    try:
        if answers:
            output = read_value(GeneratorOutput, answers[-1].args)
        else:
            output = read_reply(GeneratorOutput, "\n".join(lines))
    except ModelOutputError:  # Plain text is an answer.
        return FirstReply("\n".join(lines).strip(), calls)
    return FirstReply(output.final_answer, [call for call in calls if call not in answers])


def _call(line: str) -> WantedCall | None:
    if not line.startswith("{"):
        return None
    try:
        value = json.loads(line)
    except ValueError:
        return None
    name, args = value.get("name"), value.get("args", {})
    is_call = isinstance(name, str) and isinstance(args, dict) and not value.keys() - _CALL
    return WantedCall(name, args) if is_call else None


_CALL: Final = frozenset({"id", "name", "args"})

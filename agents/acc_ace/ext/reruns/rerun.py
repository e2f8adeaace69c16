"""The request that a turn was answered from, to ask it again: whole, or without some rules.

The agent answers from System + CCS_t + x_t alone (ACC), and a turn keeps those words. So a re-run
needs no copy of the memory: it recalls nothing, runs no tool and commits nothing.
"""

import json
import re
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.genai import types
from pydantic import TypeAdapter

from acc_ace.adk.structured_agent import content_config
from acc_ace.core.gates.ccs_budget import NOTHING
from acc_ace.core.schemas.trace import ModelCall, RequestPart, TurnTrace
from acc_ace.errors import InputError, NotFoundError
from acc_ace.model_settings import AgentSettings

_RULE: Final = r"(?m)^- \[([^\]\s]+)\] (.*)\n?"
_INSTRUCTION: Final = frozenset({"role", "playbook"})
_MEMORY: Final = frozenset({"state", "artifacts", "warnings"})
_SPEECH: Final = frozenset({"history", "tool_results"})
_TOOLS: Final = TypeAdapter(list[types.Tool])
_SHORTEST: Final = 8
"""Characters of a rule below which its words may stand for something else."""


class FirstRequest(NamedTuple):
    """A turn's first request to its answering agent, before any tool ran."""

    call: ModelCall
    tools: tuple[types.Tool, ...]
    """Only those that the app runs: what a provider runs would act."""
    schema: dict[str, object] | None

    @property
    def rules(self) -> dict[str, str]:
        """The rules in it, by their ids."""
        texts = [part.text for part in self.call.parts if part.kind == "rules"]
        return dict(re.findall(_RULE, "".join(texts)))

    @property
    def tool_names(self) -> set[str]:
        """The functions that the model may call."""
        return {each.name or "" for tool in self.tools for each in tool.function_declarations or ()}


def first_request(traces: Sequence[TurnTrace]) -> FirstRequest:
    """The first request of a turn that was answered.

    Raises NotFoundError where none is kept, or not as it was.
    """
    calls = (call for trace in traces for call in trace.calls)
    call = next((call for call in calls if call.stage == "generator" and not call.error), None)
    if call is None:
        raise NotFoundError(
            "no answered request of this turn is kept: it is for the newest 50 turns that asked a "
            "model, with ACC_ACE_KEEP_REQUESTS"
        )
    if not call.parts or any(part.cut for part in call.parts):
        raise NotFoundError("the request of this turn was too long to be kept whole")
    if any(part.kind in _SPEECH for part in call.parts):
        raise NotFoundError(
            "the request of this turn held earlier messages, files or tool results, of which only "
            "the text is kept: it cannot be sent again as it was"
        )
    texts = {part.kind: part.text for part in call.parts}
    try:
        tools = _TOOLS.validate_json(texts.get("tools", "[]"))
        schema = json.loads(texts.get("schema", "null"))
    except ValueError as error:  # What looks like a secret was masked as it was stored.
        raise NotFoundError("the tools of this turn's request are not kept as they were") from error
    return FirstRequest(call, tuple(each for each in tools if each.function_declarations), schema)


def without_rules(request: FirstRequest, ids: Collection[str]) -> tuple[RequestPart, ...]:
    """The parts without some rules: neither as rules, nor in what memory says of them.

    The user's own message and the playbook stay as they are. Raises InputError for an unknown id.
    """
    if unknown := sorted({*ids} - request.rules.keys()):
        raise InputError(f"the turn had no rule {', '.join(map(repr, unknown))}")
    words = [text for each, text in request.rules.items() if each in ids]
    return tuple(_without(part, ids, words) for part in request.call.parts)


def _without(part: RequestPart, ids: Collection[str], words: Sequence[str]) -> RequestPart:
    text = part.text
    if part.kind == "rules":
        text = re.sub(_RULE, lambda rule: "" if rule[1] in ids else rule[0], text).rstrip("\n")
        text += f" {NOTHING}" if text.endswith("constraints:") else ""
    elif part.kind in _MEMORY:
        for rule in sorted(words, key=len, reverse=True):
            text = re.sub(_words(rule), "", text) if len(rule) >= _SHORTEST else text
    return part.model_copy(update={"text": text})


def kinds_with(parts: Sequence[RequestPart], words: Sequence[str]) -> list[str]:
    """The kinds of parts in which the words of a rule stand."""
    return sorted({p.kind for p in parts for rule in words if re.search(_words(rule), p.text)})


def _words(rule: str) -> str:
    """A pattern of a rule's words, which the user may have said with other white space."""
    words = r"\s+".join(map(re.escape, rule.split()))
    return rf"(?<!\w){words}(?!\w)"


def request_of(
    request: FirstRequest,
    parts: Sequence[RequestPart],
    model: BaseLlm,
    settings: AgentSettings,
) -> LlmRequest:
    """The request with these parts, for a model."""
    config = content_config(settings)
    config.tools = [*request.tools] or None
    # The instruction says the form too; not every model takes a schema beside tools.
    if request.schema and (not request.tools or model.capabilities.output_schema_and_tools):
        config.response_schema = request.schema
        config.response_mime_type = "application/json"
    spoken = [part for part in parts if part.kind not in {"tools", "schema"}]
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

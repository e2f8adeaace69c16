"""What `bench.turn_cost` counts: everything on the wire, by one tokenizer, and the models' replies.

A request is its tool declarations, its response schema, its system instruction and its contents,
in this order: providers put what is constant first. Each role's replies have a realistic size, as
`bench.incident_talk` says; the usual answer of the Curator is an empty list of changes.
"""

import importlib
import json
import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from google.adk.models import BaseLlm
from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import Field

from acc_ace.core.text.rules.own_words import own_words
from acc_ace.core.text.tokens import CJK, estimate_tokens
from acc_ace.models.response_shape import declarations_of, json_schema_of, parameters_of, role_of
from bench.incident_talk import FIRST_RULE, RULES, Exchange, exchanges

try:
    _BPE = importlib.import_module("bpe_openai").get_encoding("o200k_base")
except ImportError:
    _BPE = None

OUTPUT_PRICE = 6.0
"""Price of a token of output, as a multiple of one of input."""

CACHED_PRICE = 0.25
"""Price of a cached prompt token, as a share of the full price."""

CACHE_MINIMUM = 1_024
"""Tokens that a shared prefix needs to be cached; providers set 1,024 or more."""

_THEN = re.compile(rf"[{CJK}]|[^\W_{CJK}]{{1,4}}|[^\w\s]|_")
_BLOCK = re.compile(r'<input name="([a-z_]+)">.*?</input>', re.DOTALL)
_ARTIFACT = re.compile(r'"artifact_id":"([^"]+)"|<artifact id="([^"]+)"')
_QUOTATIONS = re.compile(r"^- \[[a-z]+:[^\]\n]+\] .*", re.MULTILINE)
_BULLET = re.compile(r"\[([^\]\s]+)\] helpful=\d")
_SUMMARIES = ("The following is a conversation history", "Compact the conversation")


@dataclass
class TurnUse:
    """What one turn sent and received."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    real_in: int = 0
    """The same by a real BPE; 0 where none is installed."""
    real_out: int = 0
    own_in: int = 0
    """The same as the product counts."""
    cached: int = 0
    """Tokens of the input that a cache of prefixes covers."""
    has_rule: bool = False
    """Whether the request for the answer holds the rule of turn 3 word for word."""
    shared: list[tuple[str, float]] = field(default_factory=list)
    """The stage of each request, and which share of it repeats the stage's last one."""
    beyond: int = 0
    """Tokens of requests for the answer beyond what repeats the last one of a turn before."""
    quoted: int = 0
    """Those of them that are quotations."""
    stages: Counter[str] = field(default_factory=Counter)
    """Calls by stage."""
    parts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Tokens by stage and part of the request or reply."""

    @property
    def cost(self) -> float:
        """Money, in tokens of input."""
        return self.tokens_in + OUTPUT_PRICE * self.tokens_out

    @property
    def cached_cost(self) -> float:
        """The same with cached prefixes."""
        return self.cost - (1 - CACHED_PRICE) * self.cached


class MeteredLlm(BaseLlm):
    """Plays every role, says what the turn's exchange has, and counts."""

    model: str = "scripted/turn-cost"
    now: Exchange = Field(default_factory=lambda: next(exchanges()))
    use: TurnUse = Field(default_factory=TurnUse)
    before: dict[str, str] = Field(default_factory=dict)

    @property
    def capabilities(self) -> LlmCapabilities:
        """Takes an output schema together with tools."""
        return LlmCapabilities(output_schema_and_tools=True)

    def begin(self, exchange: Exchange) -> None:
        """A turn begins."""
        self.now, self.use = exchange, TurnUse()

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Count, and answer at once."""
        parts = dict(wire_parts(llm_request))
        wire = "\n".join(parts.values())
        role = _role(llm_request, wire)
        reply = self._reply(role, llm_request, wire)
        said = reply.text or json.dumps(reply.model_dump(mode="json", exclude_none=True))
        self._count(role, parts, wire, said)
        yield LlmResponse(
            content=types.Content(role="model", parts=[reply]),
            partial=False,
            usage_metadata=types.GenerateContentResponseUsageMetadata(
                prompt_token_count=tokens_then(wire),
                candidates_token_count=tokens_then(said),
            ),
        )

    def _count(self, role: str, parts: dict[str, str], wire: str, said: str) -> None:
        use, tokens = self.use, tokens_then(wire)
        use.calls += 1
        use.stages[role] += 1
        use.tokens_in += tokens
        use.tokens_out += tokens_then(said)
        use.real_in += real_tokens(wire)
        use.own_in += estimate_tokens(wire)
        use.real_out += real_tokens(said)
        for name, text in parts.items():
            for part, size in _sizes(name, text):
                use.parts[role, part] += size
        use.parts[role, "output"] += tokens_then(said)
        if role in self.before:
            same = shared_chars(self.before[role], wire)
            prefix = tokens_then(wire[:same])
            if role == "generator":
                use.beyond += tokens - prefix
                use.quoted += sum(map(tokens_then, _QUOTATIONS.findall(wire, same)))
            use.cached += prefix if prefix >= CACHE_MINIMUM else 0
            use.shared.append((role, prefix / tokens))
        self.before[role] = wire
        if role == "generator":
            use.has_rule = FIRST_RULE in wire

    def _reply(self, role: str, request: LlmRequest, wire: str) -> types.Part:
        if role == "generator":
            if self.now.acts and not _has_result(request):
                host = self.now.entities[0].removeprefix("server:")
                return types.Part.from_function_call(name="drain_host", args={"host": host})
            if self.now.calls_tool and not _has_result(request):
                return types.Part.from_function_call(
                    name="calculate", args={"expression": "164 / 200 * 100"}
                )
            if json_schema_of(request) is None:
                return types.Part(text=self.now.answer)
        if role == "summarizer":
            text = summary(wire, self.now)
            is_json = json_schema_of(request) is not None
            return types.Part(text=json.dumps({"summary": text}) if is_json else text)
        value = _structured(role, self.now, wire)
        return types.Part(text=json.dumps(value, ensure_ascii=False))


def wire_parts(request: LlmRequest) -> Iterator[tuple[str, str]]:
    """The parts of a request in their order on the wire."""
    declared = [
        {"name": each.name, "description": each.description, "parameters": parameters_of(each)}
        for each in declarations_of(request)
    ]
    schema = json_schema_of(request)
    yield "tools", _json(declared) if declared else ""
    yield "schema", _json(schema) if schema else ""
    yield "system", str(request.config.system_instruction or "")
    yield "contents", "\n".join(map(_shown, request.contents))


def tokens_then(text: str) -> int:
    """Tokens as they were counted until 2026-11-29, in which the goals are set."""
    return len(_THEN.findall(text))


def real_tokens(text: str) -> int:
    """Tokens by o200k_base, where `pip install bpe-openai` has brought it; else 0."""
    return len(_BPE.encode(text)) if _BPE else 0


def shared_chars(before: str, now: str) -> int:
    """Length of the common prefix."""
    pairs = zip(before, now, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def summary(wire: str, now: Exchange) -> str:
    """What a faithful summarizer says: the rules that it was shown, and the newest state."""
    rules = [rule for rule in RULES if rule in wire]
    return (
        "Conversation Language: English. The user works on a slow checkout and asks what to check "
        f"next. {' '.join(rules)} Latest: {now.gist} {now.cue} {now.doubt} Earlier steps looked "
        "at the slow query log, the connection pool, the backups, the cache and the certificates."
    )


def _structured(role: str, now: Exchange, wire: str) -> dict[str, object]:
    ids = list(dict.fromkeys(first or second for first, second in _ARTIFACT.findall(wire)))
    used = _BULLET.findall(wire)[:1]
    match role:
        case "qualifier":
            reason = "It states a measurement of the same host, which the question compares with."
            return {
                "decisions": [
                    {"artifact_id": each, "relevant": at % 2 == 0, "reason": reason}
                    for at, each in enumerate(ids)
                ]
            }
        case "compressor":
            return _state(now)
        case "generator":
            return {
                "reasoning": ["The state holds the newest values.", "No constraint is touched."],
                "bullet_ids": used,
                "final_answer": now.answer,
            }
        case "reflector":
            return {
                "reasoning": "The user corrects a name and a limit that the last answer took over "
                "from an older state. The answer was right in its order and wrong in the limit.",
                "error_identification": "The limit of connections was out of date.",
                "root_cause_analysis": "The value came from an earlier turn and was not checked.",
                "correct_approach": "Ask for the current limit before a threshold is derived.",
                "key_insight": "",
                "bullet_tags": [{"id": each, "tag": "neutral"} for each in used],
                "corrects_previous": True,
                "previous_bullet_tags": [],
            }
        case "guard":
            return {"why": "Taking a host out of rotation restarts nothing.", "conflict": False}
        case "curator":
            return {
                "reasoning": "The correction concerns facts of this case only; no lesson is new.",
                "operations": [],
            }
        case _:
            raise ValueError(f"no reply is scripted for the role '{role}'")


def _state(now: Exchange) -> dict[str, object]:
    changes: list[dict[str, object]] = []

    def number(sentence: str) -> int:
        return 1 + [each.text for each in own_words(now.said).sentences].index(sentence)

    if now.goal:
        changes.append({"says": "the goal", "sentence": number(now.goal), "kind": "goal"})
    if now.rule:
        rule = {"says": "a rule", "sentence": number(now.rule), "kind": "restriction"}
        changes.append(rule)
    return {
        "semantic_gist": now.gist,
        "focal_entities": list(now.entities),
        "relational_map": [now.relation],
        "predictive_cue": now.cue,
        "uncertainty_signal": now.doubt,
        "input_is": "A report of measurements with a question.",
        "rule_changes": changes,
    }


def _role(request: LlmRequest, wire: str) -> str:
    if json_schema_of(request) is None:
        return "summarizer" if any(mark in wire for mark in _SUMMARIES) else "generator"
    return role_of(request) or "summarizer"


def _has_result(request: LlmRequest) -> bool:
    parts = request.contents[-1].parts or [] if request.contents else []
    return any(part.function_response for part in parts)


def _shown(content: types.Content) -> str:
    parts = (
        part.text
        if part.text is not None
        else json.dumps(part.model_dump(mode="json", exclude_none=True), ensure_ascii=False)
        for part in content.parts or []
    )
    return f"{content.role}: " + "\n".join(parts)


def _sizes(name: str, text: str) -> Iterator[tuple[str, int]]:
    """Tokens of a part of the request, its tagged blocks apart."""
    for block in _BLOCK.finditer(text):
        yield block.group(1), tokens_then(block.group(0))
    yield name, tokens_then(_BLOCK.sub(" ", text))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

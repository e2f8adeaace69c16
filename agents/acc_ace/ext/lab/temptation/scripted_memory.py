"""A scripted model that keeps a contender's memory: it summarises, reads and judges, and loses.

A summary keeps lines. For ours it replies as the key-free engine does; where it `reads` a scenario,
it points at the rule and its release, and judges calls, as the scenario's author meant them. Each
line, each item of a reply's list, and each verdict is lost with probability `loss`.
"""

import json
import random
import re
from collections.abc import AsyncGenerator, Iterator
from typing import Any, Final

from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import PrivateAttr

from acc_ace.core.text.tokens import clip_tokens
from acc_ace.errors import ModelUnavailable
from acc_ace.ext.embedded.prompt_parts import read_inputs
from acc_ace.ext.lab.temptation.meter import request_text, request_text_of, scripted
from acc_ace.ext.lab.temptation.scenario import LabCall, Scenario, bare
from acc_ace.models.response_shape import role_of

SUMMARY_TOKENS: Final = 500
"""Length of a summary."""

_NUMBERED: Final = r"⟦(\d+)⟧([^⟦\n]+)"
_RULE: Final = r"\[(c-\d+)\]([^\n]+)"
_MEM0: Final = r"(?s).*\n## New Messages\n(.*?)\n## Observation Date\n"
"""What mem0 asks to extract from: behind its instructions, which name it too."""


class ScriptedMemory(BaseLlm):
    """Replies for all roles but the agent's."""

    loss: float = 0.0
    _reads: Scenario | None = PrivateAttr()
    _engine: BaseLlm = PrivateAttr()
    _coin: random.Random = PrivateAttr()

    def __init__(self, engine: BaseLlm, *, reads: Scenario | None, loss: float, seed: str) -> None:
        super().__init__(model="scripted/memory", loss=loss)
        self._reads, self._engine = reads, engine
        self._coin = random.Random(seed)  # noqa: S311 - repeatable, no secret

    @property
    def capabilities(self) -> LlmCapabilities:
        """Those of the engine."""
        return self._engine.capabilities

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """One response. Raises ModelUnavailable as a judge that does not read."""
        del stream
        role = role_of(llm_request)
        if role == "guard":
            yield _replied(json.dumps(self._verdict(llm_request)), llm_request)
        elif role in {None, "generator"}:  # No schema: a summary is asked for.
            yield _replied(self._summary(request_text_of(llm_request.contents)), llm_request)
        else:
            async for response in self._engine.generate_content_async(llm_request):
                yield self._lossy(llm_request, response, is_read=role == "compressor")

    def _keeps(self) -> bool:
        return self._coin.random() >= self.loss

    def _summary(self, text: str) -> str:
        """Lines after the first, which orders the summary; one that reads keeps the rule's.

        For mem0 each line is a memory.
        """
        if news := re.match(_MEM0, text):
            lines = [line for line in news[1].splitlines() if line.strip() and self._keeps()]
            return json.dumps({"memory": [{"text": line} for line in lines]})
        lines = [line for line in text.splitlines()[1:] if line.strip() and self._keeps()]
        rule = bare(self._reads.rule) if self._reads else None
        first = [line for line in lines if rule and rule in bare(line)][:1]
        rest = [line for line in lines if line not in first]
        while rest and clip_tokens(whole := "\n".join([*first, *rest]), SUMMARY_TOKENS) != whole:
            rest.pop(self._coin.randrange(len(rest)))
        return "\n".join([*first, *rest])

    def _verdict(self, llm_request: LlmRequest) -> dict[str, object]:
        if not self._reads:
            raise ModelUnavailable("no scripted model judges calls; the compiled rules decide")
        inputs = read_inputs(request_text(llm_request))
        call, rules = json.loads(str(inputs["call"])), inputs["rules"]
        is_wrong = self._reads.wrong.is_done_by(LabCall(tool=call["tool"], args=call["arguments"]))
        own = bare(self._reads.rule)
        rule_id = next((rule["id"] for rule in _list(rules) if bare(rule["text"]) in own), None)
        return {"conflict": is_wrong and rule_id is not None and self._keeps(), "rule_id": rule_id}

    def _lossy(
        self, llm_request: LlmRequest, response: LlmResponse, *, is_read: bool
    ) -> LlmResponse:
        text = request_text_of([response.content]) if response.content else ""
        if not text.startswith("{"):
            return response
        reply: dict[str, Any] = json.loads(text)
        if is_read and self._reads:
            reply["rule_changes"] = list(_changes(self._reads, request_text(llm_request)))
        for name, value in reply.items():
            if isinstance(value, list):
                reply[name] = [item for item in value if self._keeps()]
        return _replied(json.dumps(reply, ensure_ascii=False), llm_request)


def _changes(scenario: Scenario, text: str) -> Iterator[dict[str, object]]:
    rule, release = bare(scenario.rule), bare(scenario.release)
    rule_ids = [rule_id for rule_id, words in re.findall(_RULE, text) if bare(words) in rule]
    entry = read_inputs(text).get("current_input")
    words = str(entry.get("text", "")) if isinstance(entry, dict) else ""
    for number, sentence in re.findall(_NUMBERED, words):
        if bare(sentence) in rule:
            yield {"sentence": int(number), "kind": "restriction"}
        elif bare(sentence) in release:
            for rule_id in rule_ids:
                yield {"sentence": int(number), "kind": "release", "rule_id": rule_id}


def _replied(text: str, llm_request: LlmRequest) -> LlmResponse:
    return scripted(types.Part(text=text), llm_request)


def _list(value: object) -> list[dict[str, str]]:
    return value if isinstance(value, list) else []

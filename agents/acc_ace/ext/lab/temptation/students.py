"""A scripted agent, which can use only what a request says.

It does what it is asked. It keeps to a rule that it is shown, but for temptation: with
probability p it breaks it, and with p once more it believes a text that claims to lift it. A rule
that it is not shown it cannot keep. The same coin falls for all contenders of an episode.
"""

import random
from collections.abc import AsyncGenerator
from typing import Final

from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import PrivateAttr

from acc_ace.ext.lab.temptation.meter import request_text, scripted, shows
from acc_ace.ext.lab.temptation.scenario import bare
from acc_ace.ext.lab.temptation.talk import Talk, TalkTurn


class ScriptedAgent(BaseLlm):
    """Knows how each task of its talk is done, and nothing else that is not in the request."""

    p: float = 0.0
    coin: str = ""
    """What the coin is drawn from."""
    _talk: Talk = PrivateAttr()

    def __init__(self, talk: Talk, *, p: float, coin: str) -> None:
        super().__init__(model="scripted/agent", p=p, coin=coin)
        self._talk = talk

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """One response."""
        del stream
        yield scripted(self._reply(llm_request), llm_request)

    def _reply(self, llm_request: LlmRequest) -> types.Part:
        turn, results = self.asked(llm_request.contents)
        if results:
            failed = any("error" in (each.response or {}) for each in results)
            return types.Part(text="It was not done." if failed else "Done.")
        text = request_text(llm_request)
        scenario, attack = self._talk.scenario, self._talk.attack
        is_shown = shows(text, scenario.rule, but=attack)
        if turn.probe == "information":
            return types.Part(text=f"You said: {scenario.rule}" if is_shown else "I do not know.")
        is_wrong = self.tempts(turn)
        is_lifted = shows(text, scenario.release)
        if is_wrong and is_shown and not is_lifted and not self._breaks(text):
            return types.Part(text="I may not: a rule of yours forbids it.")
        call = turn.task.call if turn.task else None
        if call is None:
            return types.Part(text="Noted.")
        return types.Part(function_call=types.FunctionCall(name=call.tool, args=dict(call.args)))

    def tempts(self, turn: TalkTurn) -> bool:
        """Whether a turn asks for the forbidden call, before or after the release."""
        return turn.task == self._talk.scenario.wrong

    def asked(self, contents: list[types.Content]) -> tuple[TalkTurn, list[types.FunctionResponse]]:
        """The turn whose words come last, as they were said, and what tools returned since."""
        turns = {bare(turn.say): turn for turn in self._talk.turns}
        for place in range(len(contents) - 1, -1, -1):
            spoken = (turns.get(bare(part.text or "")) for part in contents[place].parts or [])
            if turn := next(filter(None, spoken), None):
                later = [part for content in contents[place:] for part in content.parts or []]
                return turn, [part.function_response for part in later if part.function_response]
        return TalkTurn(""), []

    def _breaks(self, text: str) -> bool:
        coin, attack = random.Random(self.coin), self._talk.attack  # noqa: S311 - repeatable, no secret
        first, second = coin.random(), coin.random()
        return first < self.p or (second < self.p and bool(attack) and shows(text, attack))


_TRIES: Final = 2
"""Replies of a real model in the turn that tempts: a call, and one more once it was stopped."""


class DecisiveAgent(BaseLlm):
    """A real model where a turn tempts; the script before and after, which needs no model."""

    _real: BaseLlm = PrivateAttr()
    _script: ScriptedAgent = PrivateAttr()
    _is_lifted: bool = PrivateAttr(default=False)
    """Whether the user has lifted the rule: the same words are asked for again then."""

    def __init__(self, real: BaseLlm, script: ScriptedAgent) -> None:
        super().__init__(model=real.model)
        self._real, self._script = real, script

    @property
    def capabilities(self) -> LlmCapabilities:
        """Those of the real model."""
        return self._real.capabilities

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Raises what the real model raises."""
        turn, results = self._script.asked(llm_request.contents)
        self._is_lifted |= turn.probe == "release"
        decides = len(results) < _TRIES and self._script.tempts(turn) and not self._is_lifted
        who = self._real if decides else self._script
        async for response in who.generate_content_async(llm_request, stream=stream):
            yield response

"""A scripted agent, which can use only what a request says.

It does what it is asked. It keeps to a rule that it is shown, but for temptation: with
probability p it breaks it, and with p once more it believes a text that claims to lift it. A rule
that it is not shown it cannot keep. The same coin falls for all contenders.
"""

import random
from collections.abc import AsyncGenerator

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import PrivateAttr

from acc_ace.ext.lab.temptation.meter import bare, request_text, request_text_of, scripted, shows
from acc_ace.ext.lab.temptation.talk import Talk, TalkTurn


class ScriptedAgent(BaseLlm):
    """Knows how each task of its talk is done, and nothing else that is not in the request."""

    p: float = 0.0
    seed: int = 0
    _talk: Talk = PrivateAttr()

    def __init__(self, talk: Talk, *, p: float, seed: int) -> None:
        super().__init__(model="scripted/agent", p=p, seed=seed)
        self._talk = talk

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """One response."""
        del stream
        yield scripted(self._reply(llm_request), llm_request)

    def _reply(self, llm_request: LlmRequest) -> types.Part:
        turn, results = self._asked(llm_request.contents)
        if results:
            return types.Part(text=f"It returned: {request_text_of(results)[:200]}")
        text = request_text(llm_request)
        scenario, attack = self._talk.scenario, self._talk.attack
        is_shown = shows(text, scenario.rule, but=attack)
        if turn.probe == "information":
            return types.Part(text=f"You said: {scenario.rule}" if is_shown else "I do not know.")
        is_wrong = turn.call is not None and turn.call == scenario.wrong.call
        is_lifted = shows(text, scenario.release)
        if is_wrong and is_shown and not is_lifted and not self._breaks(turn, text):
            return types.Part(text="I may not: a rule of yours forbids it.")
        if turn.call is None:
            return types.Part(text="Noted.")
        return types.Part(
            function_call=types.FunctionCall(name=turn.call.tool, args=dict(turn.call.args))
        )

    def _asked(self, contents: list[types.Content]) -> tuple[TalkTurn, list[types.Content]]:
        """The turn whose words come last, as they were said, and what tools returned since."""
        turns = {bare(turn.say): turn for turn in self._talk.turns}
        for place in range(len(contents) - 1, -1, -1):
            spoken = (turns.get(bare(part.text or "")) for part in contents[place].parts or [])
            if turn := next(filter(None, spoken), None):
                after = contents[place:]
                return turn, [each for each in after if _is_result(each)]
        return TalkTurn(""), []

    def _breaks(self, turn: TalkTurn, text: str) -> bool:
        attack = self._talk.attack
        coin = random.Random(f"{self.seed} {self._talk.scenario.name} {turn.probe}")  # noqa: S311 - repeatable, no secret
        first, second = coin.random(), coin.random()
        return first < self.p or (second < self.p and bool(attack) and shows(text, attack))


def _is_result(content: types.Content) -> bool:
    return any(part.function_response for part in content.parts or [])

"""The model of the lives that are tried: it says words that occur once, and keeps what it saw."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from pydantic import PrivateAttr

from acc_ace.errors import ModelUnavailable
from acc_ace.models.response_shape import json_schema_of
from tests.fakes.default_replies import prompt_text
from tests.fakes.scripted_llm import ScriptedLlm, text_content

Meanwhile = Callable[[str], Awaitable[None]]
"""What happens while background work waits for a model, which was shown a text."""


def word_of(number: int) -> str:
    """A word that no text holds by chance."""
    return f"zor{chr(97 + number // 26)}{chr(97 + number % 26)}x"


def words_in(text: str) -> Iterator[str]:
    """Those words in a text."""
    at = -1
    while (at := text.find("zor", at + 1)) >= 0:
        yield text[at : at + 6]


class LifeModel(ScriptedLlm):
    """Answers with the word it is told to."""

    _answer: str = PrivateAttr(default="ok")
    _fails: bool = PrivateAttr(default=False)
    _seen: list[str] = PrivateAttr(default_factory=list)
    _meanwhile: Meanwhile | None = PrivateAttr(default=None)

    def begin(self, answer: str, *, fails: bool) -> None:
        """Set what the next turn is answered."""
        self._answer, self._fails = answer, fails
        self._seen.clear()

    def meanwhile(self, act: Meanwhile | None) -> None:
        """Let something happen while the next background call is answered."""
        self._meanwhile = act

    @property
    def seen(self) -> list[str]:
        """What a turn's stages were shown since it began."""
        return list(self._seen)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a stage of the turn, or background work."""
        text = prompt_text(llm_request)
        properties = (json_schema_of(llm_request) or {}).get("properties", {})
        if "preferences" in properties:
            if (act := self._meanwhile) is not None:
                self._meanwhile = None
                await act(text)
            yield LlmResponse(content=text_content("{}"), partial=False)
            return
        self._seen.append(text)
        if "final_answer" not in properties:
            async for response in super().generate_content_async(llm_request, stream):
                yield response
            return
        if self._fails:
            raise ModelUnavailable("the model fell over")
        answer = {"reasoning": ["."], "bullet_ids": [], "final_answer": self._answer}
        yield LlmResponse(content=text_content(json.dumps(answer)), partial=False)

"""Play a dialogue with a contender: what was said as it was recorded, then the questions."""

from collections.abc import AsyncGenerator
from typing import Final

from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import Field, PrivateAttr

from acc_ace.core.schemas.base import Value
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.ext.lab.dialogues.dialogue import Dialogue, Exchange, Inquiry, has_fact
from acc_ace.ext.lab.temptation.contenders import Cast, Desk, contender
from acc_ace.ext.lab.temptation.meter import Cost, MeteredLlm, TrialMeter, request_text, scripted

UNKNOWN: Final = "I do not know."


class InquiryReply(Value):
    """What became of a question."""

    name: str
    kind: str
    turn: int = Field(description="Exchanges before it.")
    answer: str
    facts: int = Field(description="What it takes to answer; 0 where code cannot judge.")
    visible: int = Field(description="Facts that stood in the agent's request, word for word.")
    outdated: bool = Field(description="The answer has an earlier value, and not the present one.")
    right: bool | None = Field(description="All facts in the answer; None where code cannot judge.")
    tokens: int = Field(description="Of the agent's request.")


class DialogueGrade(Value):
    """What became of a dialogue."""

    contender: str
    dialogue: str
    loss: float
    budget: int
    replies: tuple[InquiryReply, ...]
    mean_tokens: float = Field(description="Of the agent's requests, over all turns.")
    last_tokens: int = Field(description="Of its request in the last turn.")
    cost: Cost


class RecordedAgent(BaseLlm):
    """Answers as it was recorded; questions by a model, or by a script.

    The script is honest: it says the facts that its request shows, else an earlier value that it
    shows, else that it does not know.
    """

    _model: BaseLlm | None = PrivateAttr()
    _step: Exchange | Inquiry = PrivateAttr()

    def __init__(self, model: BaseLlm | None = None) -> None:
        super().__init__(model=model.model if model else "scripted/agent")
        self._model, self._step = model, Exchange(user="")

    @property
    def capabilities(self) -> LlmCapabilities:
        """Those of the model, if there is one."""
        return self._model.capabilities if self._model else super().capabilities

    def turn_to(self, step: Exchange | Inquiry) -> None:
        """What is said next."""
        self._step = step

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Raises what the model raises."""
        step = self._step
        if isinstance(step, Inquiry) and self._model:
            async for response in self._model.generate_content_async(llm_request, stream=stream):
                yield response
            return
        words = step.agent or "…" if isinstance(step, Exchange) else _script(step, llm_request)
        yield scripted(types.Part(text=words), llm_request)


def _script(inquiry: Inquiry, llm_request: LlmRequest) -> str:
    text = request_text(llm_request)
    visible = [fact for fact in inquiry.facts if has_fact(text, fact)]
    earlier = [value for value in inquiry.outdated if has_fact(text, value)]
    return " ".join(visible or earlier[-1:]) or UNKNOWN


async def play_dialogue(
    name: str,
    dialogue: Dialogue,
    *,
    agent: RecordedAgent,
    memory: BaseLlm,
    loss: float,
    budget: int,
    meter: TrialMeter,
) -> DialogueGrade:
    """One dialogue. Raises what a model raises, and RuntimeError for an error in its place."""
    cast = Cast(MeteredLlm(agent, meter, is_agent=True), MeteredLlm(memory, meter))
    replies, sizes, turn = list[InquiryReply](), list[int](), 0
    async with contender(name)(Desk(budget=budget), cast) as seat:
        for step in dialogue.steps:
            agent.turn_to(step)
            meter.begin_turn()
            answer = await seat.say(step.user if isinstance(step, Exchange) else step.ask)
            text = meter.requests[0] if meter.requests else ""
            sizes.append(estimate_tokens(text))
            turn += isinstance(step, Exchange)
            if isinstance(step, Inquiry):
                replies.append(_reply(step, turn, text, answer))
    return DialogueGrade(
        contender=name,
        dialogue=dialogue.name,
        loss=loss,
        budget=budget,
        replies=tuple(replies),
        mean_tokens=sum(sizes) / len(sizes),
        last_tokens=sizes[-1],
        cost=meter.cost(),
    )


def _reply(inquiry: Inquiry, turn: int, text: str, answer: str) -> InquiryReply:
    facts = [] if inquiry.is_kept else inquiry.facts
    is_right = all(has_fact(answer, fact) for fact in facts) if facts else None
    return InquiryReply(
        name=inquiry.name,
        kind=inquiry.kind,
        turn=turn,
        answer=answer,
        facts=len(inquiry.facts),
        visible=sum(has_fact(text, fact) for fact in inquiry.facts),
        outdated=not is_right and any(has_fact(answer, value) for value in inquiry.outdated),
        right=is_right,
        tokens=estimate_tokens(text),
    )

"""Tokens by the model's own count where it has one."""

import asyncio

import pytest
from google.adk.models.base_llm import BaseLlm

from acc_ace.ext.strategies.memory import Message, MessageRole
from acc_ace.ext.strategies.memory_strategy import EstimatedTokens
from acc_ace.ext.strategies.transcript import estimate_message
from acc_ace.models.token_counter import ModelTokens, token_counter
from tests.fakes.clock import START
from tests.fakes.scripted_llm import ScriptedLlm


class Counting:
    """Counts a token for each character."""

    def __init__(self, *, broken: bool = False) -> None:
        self.asked: list[str] = []
        self._broken = broken

    async def count_tokens(self, text: str) -> int:
        self.asked.append(text)
        if self._broken:
            raise OSError("no network")
        return len(text)


def message(text: str) -> Message:
    return Message(id=text, timestamp=START, role=MessageRole.USER, content=text)


async def test_the_parts_never_add_up_to_less_than_the_models_count() -> None:
    counting = Counting()
    messages = [message("one"), message("two words"), message("三つの言葉")]
    counted = await ModelTokens(counting).count(messages)
    assert [item.message for item in counted] == messages
    assert sum(item.tokens for item in counted) >= len(counting.asked[0])


async def test_only_what_is_new_is_counted_in_one_call() -> None:
    counting = Counting()
    counter = ModelTokens(counting)
    first = await counter.count([message("one"), message("two")])
    assert (await counter.count([message("one"), message("two")])) == first
    await counter.count([message("one"), message("two"), message("three")])
    assert counting.asked == ["one\ntwo", "three"]


async def test_a_model_that_cannot_count_now_is_replaced_by_the_estimate() -> None:
    counted = await ModelTokens(Counting(broken=True)).count([message("one two")])
    assert counted[0].tokens == estimate_message(message("one two"))


@pytest.mark.parametrize("model", [ScriptedLlm()])
async def test_a_model_without_a_counter_is_estimated(model: BaseLlm) -> None:
    assert isinstance(token_counter(model), EstimatedTokens)


async def test_a_count_outlives_what_others_learn_while_the_model_is_asked() -> None:
    asked, answers = asyncio.Event(), asyncio.Event()

    class Waiting(Counting):
        async def count_tokens(self, text: str) -> int:
            if text == "mine":
                asked.set()
                await answers.wait()
            return await super().count_tokens(text)

    counter = ModelTokens(Waiting())
    [first] = await counter.count([message("the system prompt")])
    mine = asyncio.create_task(counter.count([message("the system prompt"), message("mine")]))
    await asked.wait()
    await counter.count([message(f"text {number}") for number in range(4_096)])
    answers.set()
    assert (await mine)[0].tokens == first.tokens


async def test_what_is_counted_again_is_forgotten_last() -> None:
    counting = Counting()
    counter = ModelTokens(counting)
    await counter.count([message("the system prompt")])
    for number in range(5_000):
        await counter.count([message("the system prompt"), message(f"text {number}")])
    assert [text for text in counting.asked if "system" in text] == ["the system prompt"]

"""Words that a host's callback masks in a request stay masked: the original is not put back."""

import re
from collections.abc import Callable

import pytest
from google.adk.agents import LlmAgent
from google.adk.models.llm_request import LlmRequest
from google.genai import types

from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.pipeline.desk import Desk
from tests.pipeline.readers import STATE, count, texts_of
from tests.pipeline.test_plugin_delivery import (
    HOSTS,
    Change,
    Host,
    by_callback,
    looking,
    only_the_last,
    parts_of,
    plain,
    warned,
)

MAIL = "ann@example.org"
NAME = "Zanzibar"


def in_place(pattern: str) -> Change:
    def mask(request: LlmRequest) -> None:
        for part in parts_of(request):
            part.text = part.text and re.sub(pattern, "***", part.text)

    return mask


def as_new_contents(pattern: str) -> Change:
    def mask(request: LlmRequest) -> None:
        request.contents = [
            each.model_copy(
                update={
                    "parts": [
                        types.Part(text=re.sub(pattern, "***", part.text)) if part.text else part
                        for part in each.parts or []
                    ]
                }
            )
            for each in request.contents
        ]

    return mask


@pytest.mark.parametrize("mask", [in_place, as_new_contents])
@pytest.mark.parametrize("pattern", [re.escape(MAIL), r"\d"], ids=["address", "digits"])
@pytest.mark.parametrize("host", HOSTS)
async def test_masked_words_stay_masked(
    host: Host, pattern: str, mask: Callable[[str], Change]
) -> None:
    llm = looking(3)
    app = host(llm, mask(pattern))
    for message in (f"My card 4711 is lost, write to {MAIL}", f"Is {MAIL} told?", MAIL):
        await app.ask(message)
    for request in llm.requests:
        contents = texts_of(request)[1:]
        assert [text for text in contents if re.search(pattern, text)] == []
        assert count(STATE, contents) == 1
    assert warned(app) == []


@pytest.mark.parametrize("mask", [in_place, as_new_contents])
async def test_what_a_trim_took_out_is_put_back_as_it_was_written(
    mask: Callable[[str], Change],
) -> None:
    def mask_and_trim(request: LlmRequest) -> None:
        mask(re.escape(MAIL))(request)
        only_the_last(request)

    llm = ScriptedLlm().on("generator", "Noted.")
    app = by_callback(llm, mask_and_trim)
    await app.ask(f"Write to {MAIL}")
    await app.ask("Is she told?")
    for request in llm.requests:
        assert count(STATE, texts_of(request)) == 1
    assert any(MAIL in text for text in texts_of(llm.requests[-1]))
    assert "put back" in str(warned(app))


async def test_masked_words_stay_masked_for_the_agent_that_takes_over() -> None:
    boss = ScriptedLlm().on("generator", call("transfer_to_agent", agent_name="clerk"))
    llm = ScriptedLlm().on("generator", "Noted.")
    mask = plain(as_new_contents(re.escape(MAIL)))
    clerk = LlmAgent(name="clerk", model=llm, description="Writes.", before_model_callback=mask)
    app = Desk(LlmAgent(name="boss", model=boss, sub_agents=[clerk]))
    await app.ask(MAIL)
    [request] = llm.requests
    assert count(MAIL, texts_of(request)) == 0
    assert warned(app) == []


async def test_words_masked_in_the_instruction_stay_masked() -> None:
    def mask(request: LlmRequest) -> None:
        text = str(request.config.system_instruction)
        request.config.system_instruction = text.replace(NAME, "***")

    llm = ScriptedLlm().on("generator", "Noted.")
    app = by_callback(llm, mask)
    lesson = {"type": "ADD", "content": f"Refunds go through {NAME}"}
    app.memory.on("curator", {"operations": [lesson]})
    await app.ask("Note how refunds are made.")
    await app.ask("How are refunds made?")
    instruction = texts_of(llm.requests[-1])[0]
    assert "Refunds go through ***" in instruction
    assert NAME not in instruction
    assert warned(app) == []

"""What a host's models were asked is kept with the turn, also across a pause, and bounded."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.context_cache_config import ContextCacheConfig
from google.adk.apps import App
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.genai import types

from acc_ace.core.schemas.trace import ModelCall
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.pipeline.desk import KEY, Desk
from tests.pipeline.test_plugin_caching import CachingLlm


async def kept(app: Desk, turn: int) -> list[ModelCall]:
    """The calls of a turn, its runs one after the other."""
    return [each for run in await app.container.traces.of_turn(KEY, turn) for each in run.calls]


async def test_the_requests_of_a_very_long_loop_are_kept_up_to_a_bound() -> None:
    def page(number: int) -> str:
        """A page of a log."""
        return f"line {number}"

    llm = ScriptedLlm().on("generator", *(call("page", number=at) for at in range(70)), "Done.")
    app = Desk(LlmAgent(name="ops", model=llm, tools=[page]))
    await app.say("Read the log.")
    found = [each for each in await kept(app, 1) if each.stage == "generator"]
    assert [bool(each.parts) for each in found] == [at < 63 for at in range(71)]
    assert [each.reply for each in found][-1] == "Done."


class Cached(CachingLlm):
    """Takes out of a request what its cache holds, as Gemini does."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer."""
        llm_request.config.system_instruction = None
        async for reply in super().generate_content_async(llm_request, stream):
            yield reply


@pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning")  # ADK's caching.
async def test_what_a_context_cache_takes_out_of_a_request_is_shown_all_the_same() -> None:
    agent = LlmAgent(name="ops", model=Cached(), instruction="Be kind.")
    app = Desk(agent)
    caching = App(
        name=KEY.app,
        root_agent=agent,
        plugins=[app.plugin],
        context_cache_config=ContextCacheConfig(),
    )
    runner = Runner(app=caching, session_service=app.sessions, auto_create_session=True)
    message = types.Content(role="user", parts=[types.Part(text="Hello.")])
    said: dict[str, Any] = {"user_id": KEY.user, "session_id": KEY.session, "new_message": message}
    async with aclosing(runner.run_async(**said)) as events:
        _ = [event async for event in events]
    [found] = [each for each in await kept(app, 1) if each.stage == "generator"]
    assert "Be kind." in found.parts[0].text

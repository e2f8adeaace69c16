"""An explicit cache of Gemini's goes on from turn to turn, though earlier turns are hidden."""

from collections.abc import AsyncGenerator

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.context_cache_config import ContextCacheConfig
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.cache_metadata import CacheMetadata
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types
from pydantic import PrivateAttr

from tests.fakes.scripted_llm import recorded, text_content
from tests.pipeline.desk import KEY, Desk, unquoted, whole

pytestmark = pytest.mark.filterwarnings("ignore:.*EXPERIMENTAL.*:UserWarning")  # ADK's caching.


class CachingLlm(BaseLlm):
    """A model that names the cache it was given, or a new one, as Gemini does in ADK."""

    model: str = "caching/test"
    _given: list[tuple[str | None, int | None, int | None]] = PrivateAttr(default_factory=list)
    _requests: list[LlmRequest] = PrivateAttr(default_factory=list)

    @property
    def given(self) -> list[tuple[str | None, int | None, int | None]]:
        """Of each request: the cache's name, how often it was used, the tokens before."""
        return self._given

    @property
    def requests(self) -> list[LlmRequest]:
        """Every request, oldest first."""
        return self._requests

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer, with the metadata of a cache."""
        found, tokens = llm_request.cache_metadata, llm_request.cacheable_contents_token_count
        self._requests.append(recorded(llm_request))
        self._given.append(
            (found.cache_name, found.invocations_used, tokens) if found else (None, None, tokens)
        )
        yield LlmResponse(
            content=text_content("Noted, kiwi."),
            cache_metadata=found
            or CacheMetadata(
                cache_name="cachedContents/9",
                expire_time=4_000_000_000,
                fingerprint="f",
                invocations_used=1,
                contents_count=0,
            ),
            usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=5_000),
        )


async def three_turns(llm: CachingLlm, config: ContextCacheConfig | None) -> None:
    agent = LlmAgent(name="ops", model=llm, static_instruction="Be kind.")
    app = App(
        name=KEY.app,
        root_agent=agent,
        plugins=[Desk(agent).plugin],
        context_cache_config=config,
    )
    runner = Runner(app=app, session_service=InMemorySessionService(), auto_create_session=True)
    for text in ("My marker is zebra.", "Hello.", "And now?"):
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for _ in runner.run_async(
            user_id=KEY.user, session_id=KEY.session, new_message=message
        ):
            pass
    await runner.close()


async def test_the_cache_of_the_turn_before_is_handed_on_and_nothing_else() -> None:
    llm = CachingLlm()
    await three_turns(llm, ContextCacheConfig())
    cache = "cachedContents/9"
    assert llm.given == [(None, None, None), (cache, 2, 5_000), (cache, 3, 5_000)]
    assert "kiwi" not in unquoted(whole(llm.requests[-1]))
    assert "zebra" not in unquoted(str(llm.requests[-1].contents[1:]))


async def test_without_a_config_no_cache_is_looked_for() -> None:
    llm = CachingLlm()
    await three_turns(llm, None)
    assert llm.given == [(None, None, None)] * 3

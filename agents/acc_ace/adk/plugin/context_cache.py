"""Gemini's explicit cache, where the App has a `context_cache_config`.

ADK finds the cache that an agent's last reply named in the session's events, which are hidden
while a turn runs. Only what names the cache is read from them here.
"""

from collections.abc import Iterable

from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from google.adk.flows.llm_flows.context_cache_processor import ContextCacheRequestProcessor
from google.adk.models.llm_request import LlmRequest

_FINDER = ContextCacheRequestProcessor()


async def find_cache(request: LlmRequest, ctx: InvocationContext, events: Iterable[Event]) -> None:
    """Let a request go on with the cache of the turn before; nothing without a cache's config."""
    if request.cache_config is None or request.cache_metadata is not None:
        return
    session = ctx.session.model_copy(update={"events": list(events)})
    whole = ctx.model_copy(update={"session": session})
    async for _ in _FINDER.run_async(whole, request):
        pass

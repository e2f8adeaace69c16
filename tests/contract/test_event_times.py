"""Events that come with a time that is none are refused, and named."""

import pytest
from google.adk.events import Event
from google.adk.sessions import Session
from google.genai import types

from acc_ace.adk.memory_service import ArtifactMemoryService
from acc_ace.errors import InputError
from acc_ace.storage.create_stores import Stores
from tests.contract.values import KEY
from tests.fakes.clock import START, FixedClock


def said(text: str, at: float, *, event_id: str) -> Event:
    content = types.Content(role="user", parts=[types.Part(text=text)])
    return Event(id=event_id, author="user", timestamp=at, content=content)


@pytest.mark.parametrize("at", [1.75e12, 1e18, -1e15, float("nan"), float("inf")])
async def test_an_event_whose_time_is_none_is_refused_and_nothing_is_stored(
    stores: Stores, clock: FixedClock, at: float
) -> None:
    memory = ArtifactMemoryService(stores.artifacts, clock)
    events = [said("one", START.timestamp(), event_id="e-1"), said("two", at, event_id="e-2")]
    with pytest.raises(InputError, match=r"event 'e-2' has the time .* divide milliseconds"):
        await memory.add_session_to_memory(
            Session(id="s-1", app_name=KEY.app, user_id=KEY.user, events=events)
        )
    with pytest.raises(InputError, match="event 'e-2'"):
        await memory.add_events_to_memory(app_name=KEY.app, user_id=KEY.user, events=events)
    assert await stores.artifacts.count(KEY.tenant) == 0

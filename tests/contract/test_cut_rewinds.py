"""A rewind that is cut off while it is stored has happened whole, or not at all."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from google.adk.events import Event, EventActions
from google.genai import types

from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from tests.fakes.session_services import in_file

HERE: dict[str, Any] = {"app_name": "shop", "user_id": "aiko", "session_id": "s1"}
STATE = {"cart": "begun"}


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[SqlSessionService]:
    opened = in_file(tmp_path, recent_events=50)
    yield opened
    await opened.close()


async def append(service: SqlSessionService, event: Event) -> None:
    session = await service.get_session(**HERE, config=None)
    assert session is not None
    await service.append_event(session, event)


async def begin(service: SqlSessionService) -> None:
    """A session whose one turn changed its state."""
    await service.create_session(**HERE, state=dict(STATE))
    changed = EventActions(state_delta={"cart": "changed"})
    words = types.UserContent("Change it.")
    await append(service, Event(invocation_id="i-1", author="user", content=words, actions=changed))


async def test_a_rewind_that_is_cancelled_at_any_time_has_happened_whole_or_not_at_all(
    service: SqlSessionService,
) -> None:
    seen: set[bool] = set()
    for pauses in range(2_000):
        await begin(service)
        undo = EventActions(rewind_before_invocation_id="i-1")
        rewind = Event(invocation_id="i-2", author="user", actions=undo)
        running = asyncio.create_task(append(service, rewind))
        for _ in range(pauses):
            await asyncio.sleep(0.0001)
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
        whole, loaded = (
            await service.get_session(**HERE),
            await service.get_session(**HERE, config=None),
        )
        assert whole is not None
        assert loaded is not None
        happened = rewind.id in {event.id for event in whole.events}
        seen.add(happened)
        assert loaded.state["cart"] == ("begun" if happened else "changed")
        said = [event for event in loaded.events if event.content]
        assert len(said) == (0 if happened else 1)
        await service.delete_session(**HERE)
        # On a slow machine it takes more to see one that has happened.
        if pauses >= 60 and len(seen) == 2:
            break
    assert seen == {True, False}

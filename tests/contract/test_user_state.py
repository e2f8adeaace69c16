"""What a user's ADK sessions share goes with the user, whatever the stores are kept in."""

from collections.abc import AsyncIterator

import pytest
from google.adk.events import Event, EventActions
from google.adk.sessions import BaseSessionService

from acc_ace import Container, Conversation, build_container
from acc_ace.adk.sessions.create_session_service import open_session_service
from config import ROLES, Settings
from schemas.base import SessionKey
from tests.fakes.clock import FixedClock
from tests.fakes.scripted_llm import ScriptedLlm

KEY = SessionKey("shop", "aiko", "s1")
ADDRESS = {"user:address": "12 Rose Street"}


@pytest.fixture
async def container(store_settings: Settings, clock: FixedClock) -> Container:
    return build_container(store_settings.model_copy(update={"learning": "off"}), clock)


@pytest.fixture
def sessions(container: Container) -> BaseSessionService:
    return open_session_service(container)


@pytest.fixture
async def talking(
    container: Container, sessions: BaseSessionService
) -> AsyncIterator[Conversation]:
    conversation = Conversation(
        container, session_service=sessions, models=dict.fromkeys(ROLES, ScriptedLlm())
    )
    yield conversation
    await conversation.close()


async def test_the_state_of_a_user_is_erased_and_no_other_ones(
    talking: Conversation, sessions: BaseSessionService
) -> None:
    for user in (KEY.user, "ben"):
        session = await sessions.create_session(app_name=KEY.app, user_id=user, session_id="s1")
        noted = EventActions(state_delta=dict(ADDRESS))
        await sessions.append_event(session, Event(author="shop", actions=noted))
    assert (await talking.erase_user(KEY.user))[KEY.app]["sessions"] == 1
    assert [record["kind"] async for record in talking.export_user(KEY.user)] == ["user", "end"]
    kept = [record async for record in talking.export_user("ben")]
    assert {"kind": "user_state", "value": {"address": "12 Rose Street"}} in kept

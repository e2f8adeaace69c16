"""Who streams a turn hears that turn only, whatever its tools leave running."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.genai import types

from acc_ace import build_container
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.pipeline import build_app
from config import ROLES, Settings
from schemas.base import SessionKey
from schemas.report import Answer, StageFinished, TurnDone, TurnEvent
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.pipeline.talk import KEY

BOB = SessionKey(APP_NAME, "bob", "b1")
SECOND = SessionKey(APP_NAME, KEY.user, "s2")

INBOX: list[Callable[[], Coroutine[Any, Any, None]]] = []
STARTED: "list[asyncio.Task[None]]" = []


async def start_inbox() -> str:
    """Start the inbox in a task that outlasts the call."""
    STARTED.append(asyncio.create_task(INBOX[-1]()))
    return "started"


@pytest.fixture(autouse=True)
def inbox() -> Iterator[None]:
    yield
    INBOX.clear()
    STARTED.clear()


@pytest.mark.parametrize("other", [BOB, SECOND], ids=["another user", "another session"])
async def test_a_turn_that_a_tool_left_running_is_not_told_to_the_listener_of_the_first(
    other: SessionKey,
) -> None:
    first_asked, other_answered = asyncio.Event(), asyncio.Event()

    async def sent(_: LlmRequest) -> dict[str, str]:
        first_asked.set()
        await other_answered.wait()
        return {"final_answer": "Sent."}

    async def serve() -> None:
        await first_asked.wait()
        message = types.Content(role="user", parts=[types.Part(text="What is my code?")])
        async for _ in runner.run_async(
            user_id=other.user, session_id=other.session, new_message=message
        ):
            pass
        other_answered.set()

    INBOX.append(serve)
    code = {"final_answer": "Your code is 1234."}
    llm = ScriptedLlm().on("generator", call("start_inbox"), sent, code)
    container = build_container(Settings(store="memory", tools=(f"{__name__}:start_inbox",)))
    models = dict.fromkeys(ROLES, llm)
    app, sessions = build_app(container, models), InMemorySessionService()
    runner = Runner(app=app, session_service=sessions, auto_create_session=True)
    conversation = Conversation(container, app=app, session_service=sessions, models=models)
    async with asyncio.timeout(10):
        reported = [event async for event in conversation.stream(KEY, "Start the inbox.")]
        await STARTED[0]
    assert [event.text for event in reported if isinstance(event, Answer)] == ["Sent."]
    assert [event.report.answer for event in reported if isinstance(event, TurnDone)] == ["Sent."]
    assert len(finished(reported)) == len(set(finished(reported)))
    [kept] = await container.evidence.list(other)
    assert kept.decision is not None
    assert kept.decision.final_answer == "Your code is 1234."


def finished(reported: list[TurnEvent]) -> list[str]:
    """The stages whose end was told."""
    return [event.stage for event in reported if isinstance(event, StageFinished)]

"""Runs turns until it is killed: through a Conversation, or under the plugin.

    child conversation|plugin|foreign FIRST

Turn N is named by its number, and its number is printed once its answer was seen. "foreign" is
the plugin over ADK's own SqliteSessionService, in the file that SESSIONS_FILE names.
"""

import asyncio
import os
import sys
from itertools import count

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from acc_ace import BoundedMemoryPlugin, build_container, build_model
from acc_ace.adk.sessions.create_session_service import open_session_service
from acc_ace.conversation import APP_NAME, Conversation
from config import load_settings
from schemas.base import SessionKey
from tests.durability.acting_tool import restart
from tests.durability.slow_model import words

OURS = SessionKey(APP_NAME, "user", "kills")
DESK = SessionKey("desk", "user", "kills")
SESSIONS = "SESSIONS_FILE"


async def converse(first: int) -> None:
    """Turns of our own app, by idempotency key."""
    conversation = Conversation(build_container(load_settings()))
    for number in count(first):
        await conversation.turn(OURS, words(number), idempotency_key=f"n-{number}")
        print(number, flush=True)


async def assist(first: int, *, foreign: bool) -> None:
    """Turns of somebody else's agent, which have no idempotency keys."""
    settings = load_settings()
    container = build_container(settings)
    sessions: BaseSessionService = (
        SqliteSessionService(os.environ[SESSIONS]) if foreign else open_session_service(container)
    )
    agent = LlmAgent(name="desk", model=build_model("generator", settings), tools=[restart])
    app = App(name=DESK.app, root_agent=agent, plugins=[BoundedMemoryPlugin(container)])
    runner = Runner(app=app, session_service=sessions, auto_create_session=True)
    for number in count(first):
        said = types.UserContent(words(number))
        async for _ in runner.run_async(
            user_id=DESK.user, session_id=DESK.session, new_message=said
        ):
            pass
        print(number, flush=True)


def main() -> None:
    """Run what the arguments say."""
    way, first = sys.argv[1], int(sys.argv[2])
    if way == "conversation":
        asyncio.run(converse(first))
    else:
        asyncio.run(assist(first, foreign=way == "foreign"))

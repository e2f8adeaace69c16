"""Runs turns in this process until it is killed: through a Conversation, or under the plugin.

    python -m tests.durability.turn_child conversation|plugin STORES FIRST LAST

Turn N is named by its number, and told on standard output once its answer was seen.
"""

import asyncio
import sys

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.genai import types

from acc_ace.adk.plugin.turn_memory import MODEL_ROLES
from acc_ace.adk.sessions.create_session_service import open_session_service
from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Role, Settings
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.plugin import BoundedMemoryPlugin
from acc_ace.schemas.base import SessionKey
from tests.fakes.scripted_llm import Reply, ScriptedLlm, call

KEYS = {
    "conversation": SessionKey(APP_NAME, "user", "kills"),
    "plugin": SessionKey("desk", "user", "kills"),
}
PAUSE_S = 0.005
"""How long each model call takes, so that a kill may come at any stage."""


def stores(place: str) -> Settings:
    """The settings of a place: a PostgreSQL by its URL, or a directory."""
    tools = ["tests.durability.turn_child:restart"]
    if place.startswith("postgres"):
        return Settings(store="postgres", database_url=place, tools=tools)
    return Settings(store="sqlite", data_dir=place, tools=tools)


async def restart(server: str) -> str:
    """Restart a server."""
    await asyncio.sleep(PAUSE_S)
    return f"{server} restarted"


class Slow(ScriptedLlm):
    """Calls a tool in each turn, and takes a while over everything."""

    async def _reply(self, role: Role | None, llm_request: LlmRequest) -> Reply:
        await asyncio.sleep(PAUSE_S)
        if role == "generator" or role is None:
            last = llm_request.contents[-1].parts or []
            if not any(part.function_response for part in last):
                return call("restart", server="db-01")
            return {"final_answer": "Restarted."} if role else "Restarted."
        return await super()._reply(role, llm_request)


async def converse(place: str, first: int, last: int) -> None:
    """Turns of our own app."""
    container = build_container(stores(place))
    conversation = Conversation(container, models=dict.fromkeys(ROLES, Slow()))
    for number in range(first, last + 1):
        key = KEYS["conversation"]
        await conversation.turn(key, f"Host {number} is slow.", idempotency_key=f"turn-{number}")
        print(number, flush=True)
    await conversation.close()


async def assist(place: str, first: int, last: int) -> None:
    """Turns of somebody else's agent, which have no idempotency keys."""
    container = build_container(stores(place))
    plugin = BoundedMemoryPlugin(container, models=dict.fromkeys(MODEL_ROLES, Slow()))
    agent = LlmAgent(name="desk", model=Slow(), tools=[restart])
    key = KEYS["plugin"]
    runner = Runner(
        app=App(name=key.app, root_agent=agent, plugins=[plugin]),
        session_service=open_session_service(container),
        auto_create_session=True,
    )
    for number in range(first, last + 1):
        said = types.UserContent(f"Host {number} is slow.")
        async for _ in runner.run_async(user_id=key.user, session_id=key.session, new_message=said):
            pass
        print(number, flush=True)
    await runner.close()
    await container.close()


if __name__ == "__main__":
    way, where, begin, end = sys.argv[1:5]
    asyncio.run({"conversation": converse, "plugin": assist}[way](where, int(begin), int(end)))

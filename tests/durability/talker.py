"""A process that takes turns over the stores of its environment, for tests to watch and to kill.

    python -m tests.durability.talker USER TURNS SESSION...

It prints a line for every turn that was answered. With TURNS = 0 it takes one turn that never
ends, and says when the model is thinking. With no session it only migrates the database.
"""

import asyncio
import sys

from google.adk.models.llm_request import LlmRequest

from acc_ace import Container, build_container
from acc_ace.conversation import APP_NAME, Conversation
from config import ROLES, load_settings
from schemas.base import SessionKey
from tests.fakes.scripted_llm import Reply, ScriptedLlm

BAN = "No restarts during business hours."


def conversation_of(container: Container, llm: ScriptedLlm | None = None) -> Conversation:
    return Conversation(container, models=dict.fromkeys(ROLES, llm or ScriptedLlm()))


async def talk(user: str, turns: int, sessions: list[str]) -> None:
    container = build_container(load_settings())
    conversation = conversation_of(container, ScriptedLlm() if turns else _thinking())
    try:
        await container.journal.head(SessionKey(APP_NAME, user, "nobody"))
        async with asyncio.TaskGroup() as group:
            for session in sessions:
                group.create_task(
                    _session(conversation, SessionKey(APP_NAME, user, session), turns)
                )
    finally:
        await conversation.close()


async def _session(conversation: Conversation, key: SessionKey, turns: int) -> None:
    for number in range(max(turns, 1)):
        report = await conversation.turn(key, f"Host {number} is slow." if number else BAN)
        print(f"answered {key.session} {report.turn}", flush=True)


def _thinking() -> ScriptedLlm:
    async def forever(_: LlmRequest) -> Reply:
        print("thinking", flush=True)
        await asyncio.Event().wait()
        raise AssertionError("nobody sets it")

    return ScriptedLlm().on("generator", forever)


if __name__ == "__main__":
    asyncio.run(talk(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))

"""Runs turns without end on SQLite, until somebody kills the process."""

import asyncio
import sys
from itertools import count
from pathlib import Path

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.core.schemas.base import SessionKey
from tests.fakes.scripted_llm import ScriptedLlm

KEY = SessionKey(APP_NAME, "ops", "crash")
BAN = "No restarts during business hours."


async def talk(folder: Path) -> None:
    """Say one thing after another, and tell the parent when each turn is done."""
    container = build_container(Settings(data_dir=folder, store="sqlite"))
    conversation = Conversation(container, models=dict.fromkeys(ROLES, ScriptedLlm()))
    if await conversation.state(KEY) is None:
        await conversation.turn(KEY, BAN)
    for number in count(1):
        report = await conversation.turn(KEY, f"Host number {number} is slow.")
        print(report.ccs_version, flush=True)


if __name__ == "__main__":
    asyncio.run(talk(Path(sys.argv[1])))

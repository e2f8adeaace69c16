"""What fails to close leaves nothing else open."""

from dataclasses import replace
from pathlib import Path

import pytest

from acc_ace import build_container
from acc_ace.adk.sessions.sql_sessions import SqlSessionService
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.errors import StoreError
from config import ROLES, Settings
from schemas.base import SessionKey
from tests.fakes.scripted_llm import ScriptedLlm


class Stuck(SqlSessionService):
    """Sessions whose service is closed with an error."""

    async def close(self) -> None:
        await super().close()
        raise StoreError("the disk is gone")


async def test_the_stores_are_closed_also_when_the_sessions_cannot_be(tmp_path: Path) -> None:
    built = build_container(Settings(data_dir=tmp_path, learning="off"))
    closed: list[str] = []

    async def close() -> None:
        await built.close()
        closed.append("stores")

    conversation = Conversation(
        replace(built, close=close),
        session_service=Stuck(built.database),
        models=dict.fromkeys(ROLES, ScriptedLlm()),
    )
    await conversation.turn(SessionKey(APP_NAME, "aiko", "s1"), "Hello.")
    with pytest.raises(StoreError, match="the disk is gone"):
        await conversation.close()
    assert closed == ["stores"]

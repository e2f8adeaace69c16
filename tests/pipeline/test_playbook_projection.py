"""`app:playbook` in session.state equals a real version, whoever changed the playbook, and how."""

from pathlib import Path

import pytest

from acc_ace.conversation import APP_NAME
from acc_ace.core.schemas.delta import Author
from acc_ace.storage.create_stores import create_stores
from config import Settings
from schemas.base import PlaybookScope, Tenant
from tests.contract.playbooks import add, merge
from tests.fakes.clock import START, FixedClock
from tests.pipeline.talk import Talk

MAIN = PlaybookScope(APP_NAME)
BY = Author("ann", START)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(store="sqlite", data_dir=tmp_path / "data", learning="off")


async def assert_real(talk: Talk) -> int:
    """The version that the state shows is one of the store's, to the last field."""
    shown = (await talk.session_state())["app:playbook"]
    stored = await talk.container.playbooks.load(MAIN, version=shown["version"])
    assert shown == stored.to_state()
    return stored.version


async def test_it_follows_another_process_through_rollback_merge_and_erasure(
    settings: Settings,
) -> None:
    talk, other = Talk(settings), create_stores(settings, FixedClock())
    try:
        await add(other, "one", "two", scope=MAIN, user="aiko")
        await talk.say("Hello.")
        assert await assert_real(talk) == 1

        await add(other, "three", scope=MAIN)
        await other.playbooks.rollback(MAIN, 1, expected_version=2, by=BY)
        await talk.say("Hello again.")
        assert await assert_real(talk) == 3

        await merge(other, "b-00001", "b-00002", scope=MAIN)
        await talk.say("And again.")
        assert await assert_real(talk) == 4

        await other.playbooks.erase(Tenant(APP_NAME, "aiko"))
        await talk.say("The last time.")
        assert await assert_real(talk) == 5
        assert "aiko" not in str(await talk.session_state())
    finally:
        await other.close()
        await talk.conversation.close()


async def test_a_turn_that_learns_shows_the_version_that_it_led_to(settings: Settings) -> None:
    talk = Talk(settings.model_copy(update={"learning": "inline"}))
    operation = {"type": "ADD", "section": "rules", "content": "Check the logs first."}
    talk.llm.on("curator", {"reasoning": "", "operations": [operation]})
    try:
        await talk.say("db-01 was slow; the logs said why.")
        version = await assert_real(talk)
        assert version == (await talk.conversation.playbook()).version > 0
    finally:
        await talk.conversation.close()

"""Erasing and exporting reach every table, whatever tables there are."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from acc_ace import Container, Conversation
from acc_ace.adk.sessions.create_session_service import open_session_service
from config import ROLES, Settings
from schemas.base import PlaybookScope, SessionKey, Tenant
from tests.contract.user_data import UNTIL_SNAPSHOT, Database, fill, mark, marks, opened
from tests.contract.values import KEY, OTHER_APP, OTHER_USER, artifact
from tests.fakes.extensions import require
from tests.fakes.residue import residue
from tests.fakes.scripted_llm import ScriptedLlm
from tests.fakes.word_embedder import TopicEmbedder

WORDLESS = {
    "tool_starts": "which tools were called before their turn ended",
    "journal_heads": "which entry of the journal is the newest",
    "spending": "amounts of money by day and session",
    "tenants": "a number for the user, and how much there is",
    "tenant_vectors": "how many vectors there are",
    "artifact_vectors": "numbers made of an artifact that is exported, a table a dimension",
    "artifact_embeddings": "which model made them",
    "playbooks": "at which version a playbook is",
    "playbook_versions": "counts and times of versions, whose changes are exported",
    "playbook_commits": "which commit made which version",
}
"""Tables that say nothing a user has said, and what they say."""


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    require("semantic")
    where: dict[str, Any] = {"data_dir": tmp_path}
    if request.param == "postgres":
        where["database_url"] = request.getfixturevalue("postgres").clean_database()
    return Settings(store=request.param, learning="off", embedder={"model": "test/topics"}, **where)


@pytest.fixture
async def conversation(settings: Settings) -> AsyncIterator[Conversation]:
    container = opened(settings, TopicEmbedder())
    talk = Conversation(
        container,
        session_service=open_session_service(container),
        models=dict.fromkeys(ROLES, ScriptedLlm()),
    )
    yield talk
    await talk.close()


async def filled_with(talk: Conversation, *keys: SessionKey, lessons: int = 1) -> Container:
    sessions = open_session_service(talk.container)
    for key in keys:
        await fill(talk.container, sessions, key, lessons=lessons)
    return talk.container


async def exported(talk: Conversation, user: str, app: str | None = None) -> str:
    return "\n".join([str(record) async for record in talk.export_user(user, app=app)])


async def test_every_table_that_can_hold_a_user_is_filled_then_erased_and_others_keep_all(
    settings: Settings, conversation: Conversation
) -> None:
    await filled_with(conversation, KEY, OTHER_USER, lessons=UNTIL_SNAPSHOT)
    tables = Database(settings)
    held = tables.counts(KEY.tenant)
    assert {name for name, count in held.items() if not count} == set()
    assert len(held) >= 15
    others = tables.counts(OTHER_USER.tenant)
    await conversation.erase_user(KEY.user)
    assert {name: count for name, count in tables.counts(KEY.tenant).items() if count} == {}
    assert tables.counts(OTHER_USER.tenant) == others
    assert await residue(conversation.container, KEY.tenant) == {}


async def test_something_of_every_table_is_in_the_export(
    settings: Settings, conversation: Conversation
) -> None:
    await filled_with(conversation, KEY, lessons=UNTIL_SNAPSHOT)
    said = marks(await exported(conversation, KEY.user))
    assert mark("file") in said
    assert mark("undone") not in said
    for name, rows in Database(settings).rows(KEY.tenant).items():
        kind = name.rpartition(".")[2].rstrip("_0123456789")
        if kind in WORDLESS and not marks(str(rows)):
            continue
        assert marks(str(rows)), f"{name} is filled with nothing that can be told apart"
        assert marks(str(rows)) <= said, f"{name} is not in the export"


async def test_what_was_removed_from_an_own_playbook_is_in_the_export(
    conversation: Conversation,
) -> None:
    container = await filled_with(conversation, KEY)
    own = await container.playbooks.load(PlaybookScope(*KEY.tenant))
    assert mark("removed") not in own.model_dump_json()
    assert mark("removed") in await exported(conversation, KEY.user)


async def test_a_user_is_erased_from_every_app_and_the_answer_tells_of_each(
    conversation: Conversation,
) -> None:
    await filled_with(conversation, KEY, OTHER_APP, OTHER_USER)
    erased = await conversation.erase_user(KEY.user)
    assert set(erased) == {KEY.app, OTHER_APP.app}
    assert all(counts["journal"] == counts["files"] // 2 == 1 for counts in erased.values())
    for tenant in (KEY.tenant, OTHER_APP.tenant):
        assert await residue(conversation.container, tenant) == {}
    assert await residue(conversation.container, OTHER_USER.tenant)


async def test_one_app_can_be_named_and_the_others_keep_all(conversation: Conversation) -> None:
    await filled_with(conversation, KEY, OTHER_APP)
    said = await exported(conversation, KEY.user)
    assert said.count("'kind': 'user',") == 2
    one = await exported(conversation, KEY.user, OTHER_APP.app)
    assert (one.count("'kind': 'user',"), one.count("'kind': 'end'")) == (1, 1)
    held = await residue(conversation.container, OTHER_APP.tenant)
    assert set(await conversation.erase_user(KEY.user, app=KEY.app)) == {KEY.app}
    assert await residue(conversation.container, KEY.tenant) == {}
    assert await residue(conversation.container, OTHER_APP.tenant) == held


@pytest.mark.parametrize("app", ["artifacts", "sessions"])
async def test_an_app_is_found_by_whatever_holds_something(
    conversation: Conversation, app: str
) -> None:
    tenant, container = Tenant(app, "aiko"), conversation.container
    if app == "artifacts":
        await container.artifacts.add([artifact("a1", "hello", tenant=tenant)])
    else:
        await conversation.container.directory.open(
            SessionKey(*tenant, "s"), at=container.clock.now()
        )
    assert set(await conversation.erase_user("aiko")) == {app}
    assert await conversation.erase_user("aiko") == {}


async def test_a_long_chat_is_exported_whole_and_in_order(conversation: Conversation) -> None:
    container = conversation.container
    sessions = open_session_service(container)
    await fill(container, sessions, KEY)
    session = await sessions.get_session(app_name=KEY.app, user_id=KEY.user, session_id=KEY.session)
    assert session is not None
    filled, said = len(session.events), session.events[-2]
    for number in range(250):
        again = said.model_copy(deep=True, update={"id": f"e-{number}", "invocation_id": "i-1"})
        await sessions.append_event(session, again)
    events = [
        record["value"]["id"]
        async for record in conversation.export_user(KEY.user)
        if record["kind"] == "event"
    ]
    assert len(events) == len(set(events)) == filled + 250
    assert [name for name in events if name.startswith("e-")] == [f"e-{n}" for n in range(250)]

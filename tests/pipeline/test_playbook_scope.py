"""Whose playbook: what one user teaches, and what another user's prompts hold of it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest

from acc_ace.config import Settings
from acc_ace.conversation import APP_NAME
from acc_ace.core.playbook.playbook_service import PlaybookService
from acc_ace.core.schemas.base import PlaybookScope, SessionKey
from acc_ace.core.schemas.report import TurnReport
from tests.fakes.default_replies import default_reply, prompt_text
from tests.pipeline.talk import Talk, seen

AIKO, BEN = SessionKey(APP_NAME, "aiko", "s1"), SessionKey(APP_NAME, "ben", "s2")
GENERAL = "Confirm the order number before a refund"
PERSONAL = "Ask Mariko Sato before a refund on shop-07, mail m.sato@example.com or +81 90 1234 5678"
LEAKS = ("mariko", "sato", "shop-07", "example.com", "1234")


def _add(content: str) -> dict[str, Any]:
    return {"operations": [{"type": "ADD", "section": "pitfalls", "content": content}]}


def _settings(scope: str) -> Settings:
    return Settings.model_validate({"store": "memory", "playbook_scope": scope})


def _naming(*entities: str) -> Callable[[LlmRequest], dict[str, Any]]:
    """The default state, with entities."""

    def reply(request: LlmRequest) -> dict[str, Any]:
        default = default_reply("compressor", prompt_text(request))
        return {**default, "focal_entities": list(entities)}

    return reply


async def _taught(scope: str, content: str) -> Talk:
    """Aiko teaches a lesson while her state names people and machines; then Ben asks."""
    talk = Talk(settings=_settings(scope), key=AIKO)
    talk.llm.on("compressor", _naming("person:Mariko Sato", "server:shop-07"), _naming())
    talk.llm.on("curator", _add(content), {"operations": []})
    await talk.say("Ask Mariko Sato about shop-07.")
    return talk


def _desk(talk: Talk) -> PlaybookService:
    return PlaybookService(
        talk.container.playbooks,
        PlaybookScope(APP_NAME),
        person="operator",
        limits=talk.container.settings.limits,
        clock=talk.container.clock,
    )


async def _curated(talk: Talk, key: SessionKey, *operations: dict[str, Any]) -> TurnReport:
    """A turn whose Curator proposes operations; the one before it ends the earlier script."""
    talk.llm.on("curator", {"operations": list(operations)}, {"operations": []})
    await talk.conversation.turn(key, "And returns?")
    return await talk.conversation.turn(key, "How do I refund an order?")


async def _prompts_of_ben(talk: Talk) -> str:
    before = len(talk.llm.requests)
    await talk.conversation.turn(BEN, "How do I refund an order?")
    return "\n".join(map(seen, talk.llm.requests[before:]))


async def test_a_lesson_of_one_user_reaches_another_one_once_both_have_learnt_it() -> None:
    talk = await _taught("app", GENERAL)
    before = await _prompts_of_ben(talk)
    await _curated(talk, BEN, *_add(GENERAL)["operations"])
    (bullet,) = (await talk.conversation.playbook()).playbook.bullets

    assert GENERAL not in before
    assert (bullet.unconfirmed, bullet.content) == (False, GENERAL)
    assert GENERAL in await _prompts_of_ben(talk)


async def test_its_own_user_is_shown_it_at_once_and_another_one_never_by_his_word_alone() -> None:
    talk = await _taught("app", GENERAL)
    await _curated(talk, AIKO, *_add(GENERAL)["operations"])
    own = len(talk.llm.requests)
    await talk.say("And returns?")

    assert GENERAL in "\n".join(map(seen, talk.llm.requests[own:]))
    assert GENERAL not in await _prompts_of_ben(talk)
    assert GENERAL not in json.dumps(await talk.session_state())


async def test_a_user_neither_rewords_nor_removes_what_he_is_not_shown() -> None:
    talk = await _taught("app", GENERAL)
    update = {"type": "UPDATE", "bullet_id": "b-00001", "content": "Refund at once."}
    remove = {"type": "REMOVE", "bullet_id": "b-00001"}
    report = await _curated(talk, BEN, update, remove)

    assert [delta.reason for delta in report.deltas] == ["unknown_id", "unknown_id"]


async def test_what_others_are_shown_is_not_reworded_by_one_user() -> None:
    talk = await _taught("app", GENERAL)
    await _desk(talk).pin("b-00001")
    update = {"type": "UPDATE", "bullet_id": "b-00001", "content": "Look up the order first."}
    await _desk(talk).pin("b-00001", pinned=False)
    report = await _curated(talk, AIKO, update)

    assert [(d.status, d.reason) for d in report.deltas] == [("held", "unconfirmed")]


@pytest.mark.parametrize("decision", ["pin", "edit"])
async def test_an_operator_confirms_a_lesson_for_all(decision: str) -> None:
    talk = await _taught("app", GENERAL)
    if decision == "pin":
        await _desk(talk).pin("b-00001")
    else:
        await _desk(talk).edit("b-00001", section="refunds")

    assert GENERAL in await _prompts_of_ben(talk)


async def test_what_is_personal_in_it_reaches_nobody_else() -> None:
    talk = await _taught("app", PERSONAL)
    await _desk(talk).pin("b-00001")

    prompts = (await _prompts_of_ben(talk)).lower()

    assert "before a refund on a server" in prompts
    assert not [leak for leak in LEAKS if leak in prompts]


async def test_the_origin_is_kept_in_the_store_and_shown_in_no_session_state() -> None:
    talk = await _taught("app", GENERAL)

    bullet = (await talk.conversation.playbook()).playbook.bullets[0]

    assert bullet.origin is not None
    assert (bullet.origin.user, bullet.origin.session, bullet.origin.turn) == ("aiko", "s1", 1)
    assert len(bullet.origin.quote_digest) == 64
    await _desk(talk).pin("b-00001")
    await talk.say("And returns?")
    assert GENERAL in json.dumps(await talk.session_state())
    assert "origin" not in (await talk.session_state())["app:playbook"]["bullets"][0]


async def test_a_users_own_playbook_reaches_the_user_and_nobody_else() -> None:
    talk = await _taught("user", f"{GENERAL} on shop-07")

    prompts = await _prompts_of_ben(talk)
    before = len(talk.llm.requests)
    await talk.say("How do I refund an order?")

    assert GENERAL not in prompts
    assert f"{GENERAL} on shop-07" in "\n".join(map(seen, talk.llm.requests[before:]))
    assert set(await talk.session_state()) == {"ccs"}
    books = talk.container.playbooks
    assert (await books.load(PlaybookScope(APP_NAME))).version == 0
    assert (await books.load(PlaybookScope(APP_NAME, "aiko"))).version == 1


def test_a_scope_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="playbook_scope"):
        _settings("team")

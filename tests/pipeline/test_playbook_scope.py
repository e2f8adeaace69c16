"""Whose playbook: what one user teaches, and what another user's prompts hold of it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest

from acc_ace.config import Settings
from acc_ace.conversation import APP_NAME
from acc_ace.core.schemas.base import PlaybookScope, SessionKey
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


async def _prompts_of_ben(talk: Talk) -> str:
    before = len(talk.llm.requests)
    await talk.conversation.turn(BEN, "How do I refund an order?")
    return "\n".join(map(seen, talk.llm.requests[before:]))


async def test_a_lesson_of_one_user_reaches_another_one_through_the_apps_playbook() -> None:
    talk = await _taught("app", GENERAL)

    assert GENERAL in await _prompts_of_ben(talk)


async def test_what_is_personal_in_it_reaches_nobody_else() -> None:
    talk = await _taught("app", PERSONAL)

    prompts = (await _prompts_of_ben(talk)).lower()

    assert "before a refund on a server" in prompts
    assert not [leak for leak in LEAKS if leak in prompts]


async def test_the_origin_is_kept_in_the_store_and_shown_in_no_session_state() -> None:
    talk = await _taught("app", GENERAL)

    bullet = (await talk.conversation.playbook()).playbook.bullets[0]

    assert bullet.origin is not None
    assert (bullet.origin.user, bullet.origin.session, bullet.origin.turn) == ("aiko", "s1", 1)
    assert len(bullet.origin.quote_digest) == 64
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

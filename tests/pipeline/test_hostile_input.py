"""What callers may send: names of sessions, authorities, forged state."""

import pytest
from google.adk.runners import InMemoryRunner
from google.genai import types

from acc_ace import build_container
from acc_ace.core.schemas.state import INPUT_AUTHORITY
from acc_ace.errors import InputError
from acc_ace.pipeline import APP_NAME, build_app
from config import ROLES, Settings
from schemas.base import SessionKey
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.talk import Talk, settings

BAN = "Never restart db-01."


@pytest.mark.parametrize(
    "name",
    ["..", "../../etc", "a'; DROP TABLE journal; --", "会話🎉", "%", "*", "a/b:c", "n" * 256],
)
async def test_any_printable_name_keeps_its_session_apart(name: str) -> None:
    talk = Talk(settings(), key=SessionKey(APP_NAME, name, name))
    await talk.say(BAN)
    await talk.say("Hello.")
    assert await talk.constraints() == [BAN]
    other = SessionKey(APP_NAME, name + "x", name)
    assert await talk.conversation.state(other) is None


@pytest.mark.parametrize("name", ["", " ", " s", "s\n", "a\0b", "a\ud800", "n" * 257])
async def test_a_name_that_no_store_can_keep_is_refused(name: str) -> None:
    for key in (SessionKey(APP_NAME, "u", name), SessionKey(APP_NAME, name, "s")):
        with pytest.raises(InputError, match=r"id|empty"):
            await Talk(settings(), key=key).say("Hello.")


@pytest.mark.parametrize("authority", ["Tool", "document", 5, ["user"], {}])
async def test_a_misspelt_authority_is_refused_and_never_speaks_as_user(
    authority: object,
) -> None:
    container = build_container(Settings(store="memory"))
    models = dict.fromkeys(ROLES, ScriptedLlm())
    runner = InMemoryRunner(app=build_app(container, models))
    await runner.session_service.create_session(app_name=APP_NAME, user_id="u", session_id="s")
    message = types.Content(role="user", parts=[types.Part(text=BAN)])
    with pytest.raises(InputError, match="is not an input authority"):
        async for _ in runner.run_async(
            user_id="u",
            session_id="s",
            new_message=message,
            state_delta={INPUT_AUTHORITY: authority},
        ):
            pass
    assert await container.journal.head(SessionKey(APP_NAME, "u", "s")) is None

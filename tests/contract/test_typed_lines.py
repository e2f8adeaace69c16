"""What a user typed at the prompt goes with the user."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from acc_ace import build_container
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.errors import StoreError
from acc_ace.storage.prompt_history import history_path
from config import ROLES
from schemas.base import SessionKey
from tests.fakes.clock import FixedClock
from tests.fakes.place import Place
from tests.fakes.scripted_llm import ScriptedLlm

KEY = SessionKey(APP_NAME, "aiko", "s1")


@pytest.fixture
async def talking(place: Place, clock: FixedClock) -> AsyncIterator[Conversation]:
    settings = place.with_settings(learning="off", limits={"turn_wait_s": 0.1})
    models = dict.fromkeys(ROLES, ScriptedLlm())
    conversation = Conversation(build_container(settings, clock), models=models)
    yield conversation
    await conversation.close()


def typed(place: Place, user: str, line: str = "My card is 4711.") -> Path:
    file = history_path(place.directory, user)
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{line}\n", encoding="utf-8")
    return file


async def test_an_erasure_takes_the_typed_lines_of_the_user_and_of_nobody_else(
    place: Place, talking: Conversation
) -> None:
    mine, other = typed(place, KEY.user), typed(place, "ben", 'Is {"user": "aiko"} active?')
    assert (await talking.erase_user(KEY.user))[APP_NAME]["history_files"] == 1
    assert not mine.exists()
    assert other.exists()


async def test_typed_lines_belong_to_the_app_of_the_terminal(
    place: Place, talking: Conversation
) -> None:
    file = typed(place, KEY.user)
    await talking.erase_user(KEY.user, app="desk")
    assert file.exists()


async def test_typed_lines_that_cannot_be_deleted_are_an_error_until_they_are(
    place: Place, talking: Conversation
) -> None:
    await talking.turn(KEY, "Hello.")
    in_the_way = history_path(place.directory, KEY.user)
    in_the_way.mkdir(parents=True)
    with pytest.raises(StoreError, match=r"prompt history .* cannot be deleted"):
        await talking.erase_user(KEY.user)
    in_the_way.rmdir()
    file = typed(place, KEY.user)
    await talking.erase_user(KEY.user)
    assert not file.exists()

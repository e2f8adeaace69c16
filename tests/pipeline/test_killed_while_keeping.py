"""A process killed while it keeps an answered turn loses none of its words."""

import signal
import subprocess
import sys

import pytest

from acc_ace.controller import AccController
from acc_ace.conversation import Conversation
from config import ROLES
from core.container import Container
from schemas.artifact import RecallQuery
from schemas.interaction import Outcome
from schemas.memory_name import MemoryName
from tests.e2e.processes import ROOT, environment
from tests.fakes.place import Place
from tests.fakes.scripted_llm import ScriptedLlm
from tests.pipeline.talk import KEY

SECRET = "The code of the vault is walnut."


def killed(place: Place, how: str, text: str) -> None:
    """A process of its own over the same stores takes a turn and is killed in it."""
    url = place.settings.database_url
    database = {"ACC_ACE_DATABASE_URL": url.get_secret_value()} if url else {}
    ended = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "tests.pipeline.dying_child", how, text],
        cwd=ROOT,
        env=environment(
            place.directory,
            ACC_ACE_STORE=place.settings.store,
            ACC_ACE_LEARNING="off",
            PYTHONWARNINGS="ignore",
            **database,
        ),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr


async def recalled(container: Container) -> str:
    about = RecallQuery(key=KEY._replace(session="other"), text="code vault walnut", limit=10)
    found = await container.artifacts.recall(about)
    return " ".join(each.artifact.content for each in found.candidates)


@pytest.mark.parametrize("how", ["pipeline", "controller"])
async def test_words_of_a_turn_that_was_killed_while_kept_are_recalled_after_the_next(
    place: Place, how: str
) -> None:
    killed(place, how, SECRET)
    container = place.open()
    kept = await container.evidence.last(KEY)
    assert kept is not None
    assert kept.outcome is Outcome.ANSWERED
    assert "walnut" not in await recalled(container)

    models = dict.fromkeys(ROLES, ScriptedLlm())
    if how == "pipeline":
        await Conversation(container, models=models).turn(KEY, "Hello.")
    else:
        head = await container.journal.head(KEY)
        assert head is not None
        controller = AccController(container, session=KEY.session, user=KEY.user, models=models)
        await controller.update_state("Hello.", head.state.ccs)
    assert "walnut" in await recalled(container)
    await container.close()


async def test_words_killed_after_an_undo_take_the_place_of_those_undone(place: Place) -> None:
    container = place.open()
    conversation = Conversation(container, models=dict.fromkeys(ROLES, ScriptedLlm()))
    await conversation.turn(KEY, "The code of the vault is hazelnut.")
    await conversation.undo(KEY)
    await conversation.close()
    killed(place, "pipeline", SECRET)

    container = place.open()
    conversation = Conversation(container, models=dict.fromkeys(ROLES, ScriptedLlm()))
    assert "nut" not in await recalled(container)
    await conversation.turn(KEY, "Hello.")
    words = await recalled(container)
    assert "walnut" in words
    assert "hazelnut" not in words
    await conversation.close()


@pytest.mark.parametrize("memory", ["acc", "window"])
async def test_a_damaged_artifact_of_the_last_turn_is_written_again_of_its_evidence(
    place: Place, memory: MemoryName
) -> None:
    container = place.open()
    conversation = Conversation(container, models=dict.fromkeys(ROLES, ScriptedLlm()))
    await conversation.turn(KEY, SECRET)
    place.execute("UPDATE artifacts SET body = '{' WHERE artifact_id = ?", f"turn:{KEY.session}:1")
    await conversation.turn(KEY, "Hello.", memory=memory)
    assert "walnut" in await recalled(container)
    await conversation.close()

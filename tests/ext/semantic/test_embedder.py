"""A turn with an embedder: what was said in other words comes back; a dead one is told."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from acc_ace.config import EmbedderSettings, Settings
from tests.fakes.fake_embeddings import FakeEmbeddings, fake_embeddings
from tests.fakes.filled import filled
from tests.fakes.scripted_llm import call
from tests.pipeline.talk import Talk, seen


@pytest.fixture
def endpoint() -> Iterator[FakeEmbeddings]:
    with fake_embeddings() as fake:
        yield fake


def settings(url: str, folder: Path) -> Settings:
    return Settings(
        data_dir=folder,
        embedder=EmbedderSettings(model="openai/small", retries=0, backoff_s=0),
        openai_base_url=url,
    )


async def test_a_dead_embedder_is_told_in_the_turn_which_goes_on(tmp_path: Path) -> None:
    dead = settings("http://127.0.0.1:9/v1", tmp_path)
    talk = Talk(dead)
    first = await talk.say("The gate code is 4711.")
    second = await talk.say("And now?")
    assert first.answer
    assert second.answer
    reported = [text for text in second.warnings if text.startswith("lexical recall only:")]
    assert len(reported) == 1
    assert "openai/small cannot be reached" in reported[0]
    await talk.conversation.close()


async def test_a_dead_embedder_is_told_to_a_model_that_searches(tmp_path: Path) -> None:
    talk = Talk(settings("http://127.0.0.1:9/v1", tmp_path))
    done = {"final_answer": "done"}
    talk.llm.on("generator", done, call("search_evidence", query="gate code"), done)
    await talk.say("The gate code is 4711.")
    await talk.say("What was the gate code?")
    reported = seen(talk.llm.requests_of("generator")[-1]).partition('"function_response"')[2]
    assert "lexical recall only" in reported
    await talk.conversation.close()


async def test_turns_are_embedded_in_the_background_and_questions_at_once(
    endpoint: FakeEmbeddings, tmp_path: Path
) -> None:
    talk = Talk(settings(endpoint.openai_url, tmp_path))
    await talk.say("The gate code is 4711.")
    report = await talk.say("And now?")
    assert not [text for text in report.warnings if "words alone" in text]
    await filled(talk.container)
    inputs = [text for request in endpoint.requests for text in request.body["input"]]
    assert "And now?" in inputs
    assert any(text.startswith("user: The gate code is 4711.") for text in inputs)
    await talk.conversation.close()

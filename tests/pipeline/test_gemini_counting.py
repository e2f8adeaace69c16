"""Gemini's own token count over real HTTP: google-genai against a fake Gemini on loopback."""

from collections.abc import Iterator

import pytest
from google.genai.errors import APIError

from acc_ace.core.schemas.message import Message, MessageRole
from acc_ace.errors import ModelOutputError
from acc_ace.ext.strategies import counted_by, estimated
from acc_ace.models.gemini import GeminiLlm, gemini
from tests.fakes.clock import START
from tests.fakes.fake_gemini import FakeGemini, counts, fake_gemini, http_error
from tests.fakes.loopback import HttpReply


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGemini]:
    with fake_gemini() as running:
        monkeypatch.setenv("GOOGLE_API_KEY", "test-key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", running.base_url)
        yield running


def model() -> GeminiLlm:
    return gemini("gemini-3.5-flash", timeout_s=30)


def message(text: str) -> Message:
    return Message(id=text, timestamp=START, role=MessageRole.USER, content=text)


async def test_the_count_is_asked_of_the_model_that_answers(fake: FakeGemini) -> None:
    fake.script(0, counts(42))
    counting = model()
    assert await counting.count_tokens("三つの言葉 and more") == 42
    [request] = fake.requests
    assert request.counts
    assert request.model == "gemini-3.5-flash"
    assert request.body["contents"][0]["parts"] == [{"text": "三つの言葉 and more"}]
    assert request.headers["x-goog-api-key"] == "test-key"
    await counting.aclose()


async def test_messages_are_counted_over_the_wire_in_one_call(fake: FakeGemini) -> None:
    fake.script(0, counts(100))
    messages = [message("one"), message("two words")]
    count = await counted_by(model(), messages)
    assert sum(map(count, messages)) >= 100
    assert len(fake.requests) == 1


@pytest.mark.parametrize("status", [400, 403, 429, 503])
async def test_an_endpoint_that_refuses_to_count_costs_no_turn(
    fake: FakeGemini, status: int
) -> None:
    fake.script(0, http_error(status))
    fake.script(1, http_error(status))
    with pytest.raises(APIError):
        await model().count_tokens("hello")
    count = await counted_by(model(), [message("one two")])
    assert count(message("one two")) == estimated(message("one two"))


async def test_a_reply_without_a_count_is_an_error_that_names_the_model(fake: FakeGemini) -> None:
    fake.script(0, HttpReply(body={}))
    with pytest.raises(ModelOutputError, match=r"gemini-3\.5-flash returned no token count"):
        await model().count_tokens("hello")

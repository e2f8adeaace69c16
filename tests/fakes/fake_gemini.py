"""A Gemini API on loopback: scriptable, and as strict about requests as the real one."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from fastapi import FastAPI, Request
from google.adk.models.llm_request import LlmRequest
from google.genai import types
from starlette.responses import Response

from acc_ace.config import Role
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.models.response_shape import role_of
from tests.fakes.default_replies import default_reply
from tests.fakes.loopback import HttpReply, Json, Received, Script, Scripts, respond, served

CHUNK_CHARS = 24
"""Characters of text in each event of a stream."""

_STATUS_NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


class FakeGemini:
    """The running fake: where it is, what it got, and what it will say."""

    def __init__(self, base_url: str, scripts: Scripts) -> None:
        self.base_url = base_url
        self._scripts = scripts

    @property
    def requests(self) -> list[Received]:
        """Every request, oldest first, bodies parsed."""
        return self._scripts.requests

    def requests_of(self, role: Role) -> list[Received]:
        """The requests of one role, oldest first."""
        return [item for item in self.requests if item.role == role]

    def script(self, key: Role | int, *replies: Script) -> None:
        """Add replies for a role, used in order, the last one stays; or from request `key` on."""
        self._scripts.add(key, replies)


@contextmanager
def fake_gemini() -> Iterator[FakeGemini]:
    """Run the fake; point GOOGLE_GEMINI_BASE_URL at its `base_url` and set any GOOGLE_API_KEY."""
    scripts = Scripts()
    with served(_app(scripts)) as base_url:
        yield FakeGemini(base_url, scripts)


def says(text: str, *, finish: str = "STOP", delay_s: float = 0.0) -> HttpReply:
    """A reply of one text."""
    return _reply([{"text": text}], text, finish=finish, delay_s=delay_s)


def says_json(value: Mapping[str, Any]) -> HttpReply:
    """A reply of one JSON text."""
    return says(json.dumps(value, ensure_ascii=False))


def calls_function(name: str, /, **args: object) -> HttpReply:
    """A reply that calls one function."""
    return calls_functions((name, args))


def calls_functions(*calls: tuple[str, Mapping[str, Any]]) -> HttpReply:
    """A reply that calls several functions at once."""
    parts = [{"functionCall": {"name": name, "args": dict(args)}} for name, args in calls]
    return _reply(parts, json.dumps(parts))


def truncated(text: str) -> HttpReply:
    """A reply cut off by the output limit."""
    return says(text, finish="MAX_TOKENS")


THOUGHT_TOKENS = 700


def thought_only() -> HttpReply:
    """A reply that spent the whole output limit on thinking."""
    reply = _candidate({"finishReason": "MAX_TOKENS", "index": 0})
    for body in (reply.body, *reply.chunks):
        if isinstance(body, dict):
            body["usageMetadata"]["thoughtsTokenCount"] = THOUGHT_TOKENS
    return reply


def without_usage(reply: HttpReply) -> HttpReply:
    """The reply of a server that does not say what it took."""
    body = reply.body if isinstance(reply.body, str) else _silent(reply.body)
    return replace(reply, body=body, chunks=[_silent(chunk) for chunk in reply.chunks])


def _silent(body: Json) -> Json:
    return {key: value for key, value in body.items() if key != "usageMetadata"}


def stalled(text: str) -> HttpReply:
    """A stream that goes silent after its first text, without an end."""
    return replace(broken_stream(text), breaks=False, stalls=True)


def empty() -> HttpReply:
    """A reply without candidates."""
    return HttpReply(body=_envelope({}, ""), chunks=[_envelope({}, "")])


def empty_text() -> HttpReply:
    """A reply whose only text is blank."""
    return says(" ")


def blocked_prompt(reason: str = "PROHIBITED_CONTENT") -> HttpReply:
    """A reply that refuses the prompt."""
    body = _envelope({"promptFeedback": {"blockReason": reason}}, "")
    return HttpReply(body=body, chunks=[body])


def safety_stop() -> HttpReply:
    """A reply that the safety filter stopped."""
    return _candidate({"finishReason": "SAFETY", "index": 0, "safetyRatings": []})


def http_error(
    status: int,
    message: str = "scripted",
    *,
    retry_after: str = "",
    retry_delay: str = "",
    quota: str = "",
    limit: str = "",
) -> HttpReply:
    """An error as Google words it.

    `retry_delay` such as '7s' goes into its RetryInfo, `quota` and `limit` into its QuotaFailure.
    """
    name = _STATUS_NAMES.get(status, "UNKNOWN")
    error: Json = {"code": status, "message": message, "status": name}
    if retry_delay:
        kind = "type.googleapis.com/google.rpc.RetryInfo"
        error["details"] = [{"@type": kind, "retryDelay": retry_delay}]
    if quota:
        kind = "type.googleapis.com/google.rpc.QuotaFailure"
        violation = {"quotaMetric": "m", "quotaId": quota, "quotaValue": limit}
        error.setdefault("details", []).append({"@type": kind, "violations": [violation]})
    headers = {"retry-after": retry_after} if retry_after else {}
    return HttpReply(body={"error": error}, status=status, headers=headers)


def garbage() -> HttpReply:
    """An HTTP body that is no JSON."""
    return HttpReply(body="<html>upstream</html>")


def broken_stream(text: str) -> HttpReply:
    """A stream that breaks after its first text."""
    return HttpReply(
        body=http_error(503).body,
        chunks=[_envelope({"candidates": [_content([{"text": text}])]}, text)],
        breaks=True,
    )


def _app(scripts: Scripts) -> FastAPI:
    app = FastAPI()

    @app.post("/v1beta/models/{call}")
    async def generate(call: str, request: Request) -> Response:
        model, _, method = call.partition(":")
        received = _received(model, method, await request.json(), request.headers)
        scripted = scripts.take(received)
        reply = _objection(received) or scripted or _default(received)
        return await respond(reply, stream=received.stream)

    return app


def _received(model: str, method: str, body: Json, headers: Mapping[str, str]) -> Received:
    return Received(
        role=_role(body),
        model=model,
        stream=method == "streamGenerateContent",
        counts=method == "countTokens",
        body=body,
        headers=dict(headers),
    )


def _role(body: Json) -> Role | None:
    config = body.get("generationConfig") or {}
    schema = config.get("responseSchema") or config.get("responseJsonSchema")
    tools = [types.Tool.model_validate(tool) for tool in body.get("tools") or []]
    request = LlmRequest(config=types.GenerateContentConfig(tools=tools))
    request.config.response_json_schema = schema
    return role_of(request)


def _objection(received: Received) -> HttpReply | None:
    """What the real API would reject, or None."""
    config = received.body.get("generationConfig") or {}
    if "x-goog-api-key" not in received.headers:
        return http_error(403, "Method doesn't allow unregistered callers")
    if not received.body.get("contents"):
        return http_error(400, "contents are required")
    has_schema = "responseSchema" in config or "responseJsonSchema" in config
    if has_schema and config.get("responseMimeType") != "application/json":
        return http_error(400, "a response schema needs responseMimeType application/json")
    if "additionalProperties" in json.dumps(config.get("responseSchema", {})):
        return http_error(400, 'Unknown name "additionalProperties"')
    return None


def counts(tokens: int) -> HttpReply:
    """A reply to countTokens."""
    return HttpReply(body={"totalTokens": tokens})


def _default(received: Received) -> HttpReply:
    if received.counts:
        return counts(estimate_tokens(wire_text(received.body)))
    return says_json(default_reply(received.role, wire_text(received.body)))


def wire_text(body: Json) -> str:
    """System instruction and texts of a request body, in order."""
    contents = [body.get("systemInstruction") or {}, *body.get("contents", [])]
    parts = [part for content in contents for part in content.get("parts", [])]
    return "\n".join(part["text"] for part in parts if "text" in part)


def _reply(
    parts: Sequence[Json], text: str, *, finish: str = "STOP", delay_s: float = 0.0
) -> HttpReply:
    whole = {"candidates": [_content(parts, finish=finish)]}
    pieces = [[part] for part in parts if "text" not in part]
    for part in parts:
        words = part.get("text", "")
        starts = range(0, len(words), CHUNK_CHARS)
        pieces.extend([{"text": words[at : at + CHUNK_CHARS]}] for at in starts)
    chunks = [
        _envelope(
            {"candidates": [_content(piece, finish=finish if last else "")]}, text if last else ""
        )
        for piece, last in zip(pieces, [False] * (len(pieces) - 1) + [True], strict=True)
    ]
    return HttpReply(body=_envelope(whole, text), chunks=chunks, delay_s=delay_s)


def _candidate(candidate: Json) -> HttpReply:
    body = _envelope({"candidates": [candidate]}, "")
    return HttpReply(body=body, chunks=[body])


def _content(parts: Sequence[Json], *, finish: str = "") -> Json:
    content: Json = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    return content | ({"finishReason": finish} if finish else {})


def _envelope(body: Json, text: str) -> Json:
    usage = {
        "promptTokenCount": 11,
        "candidatesTokenCount": estimate_tokens(text),
        "totalTokenCount": 11 + estimate_tokens(text),
    }
    return {**body, "usageMetadata": usage, "modelVersion": "fake-gemini"}

"""Models for tests: one that answers by script and records what it saw, one that must not run."""

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from json import dumps
from typing import Any, Self

from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import BaseModel, PrivateAttr

from acc_ace.config import ROLES, Role
from acc_ace.core.text.tokens import estimate_tokens
from acc_ace.models.response_shape import role_of
from tests.fakes.default_replies import default_reply, prompt_text

Reply = str | Mapping[str, Any] | BaseModel | types.Content | LlmResponse | Exception
"""Text or JSON to answer, a content (tool calls), a whole response, or an error to raise."""

Script = Reply | Callable[[LlmRequest], Reply | Awaitable[Reply]]

_SCHEMAS: dict[str, Role] = {
    "RelevanceBatch": "qualifier",
    "CompressedCognitiveState": "compressor",
    "GeneratorOutput": "generator",
    "Reflection": "reflector",
    "DeltaBatch": "curator",
    "ActVerdict": "guard",
}


class ScriptedLlm(BaseLlm):
    """Answers each role by script, with zero latency, and records every request.

    Without a script a role gets `default_reply`. Scripts of a role are used in the order given;
    the last one stays. Requests are recorded as deep copies, so what is asserted is what was
    seen.
    """

    model: str = "scripted/test"
    chunk_chars: int = 16
    """Characters in each partial chunk when streaming."""

    _scripts: dict[Role, list[Script]] = PrivateAttr(default_factory=dict)
    _requests: list[LlmRequest] = PrivateAttr(default_factory=list)
    _roles: list[Role | None] = PrivateAttr(default_factory=list)

    @property
    def capabilities(self) -> LlmCapabilities:
        """Takes an output schema together with tools."""
        return LlmCapabilities(output_schema_and_tools=True)

    @property
    def requests(self) -> list[LlmRequest]:
        """Every request, oldest first."""
        return list(self._requests)

    @property
    def roles(self) -> list[Role | None]:
        """The role of each request, oldest first."""
        return list(self._roles)

    def requests_of(self, role: Role) -> list[LlmRequest]:
        """The requests of one role, oldest first."""
        return [
            request
            for request, seen in zip(self._requests, self._roles, strict=True)
            if seen == role
        ]

    def on(self, role_or_schema: str, *scripts: Script) -> Self:
        """Add scripts for a role ('compressor') or its schema ('CompressedCognitiveState')."""
        self._scripts.setdefault(_role(role_or_schema), []).extend(scripts)
        return self

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer by script; in chunks and then as a whole when streaming."""
        role = role_of(llm_request)
        self._requests.append(recorded(llm_request))
        self._roles.append(role)
        response = self._response(await self._reply(role, llm_request), llm_request)
        if stream:
            for chunk in self._chunks(response):
                yield chunk
        yield response

    async def _reply(self, role: Role | None, llm_request: LlmRequest) -> Reply:
        scripts = self._scripts.get(role, []) if role else []
        if not scripts:
            return default_reply(role, prompt_text(llm_request))
        script = scripts.pop(0) if len(scripts) > 1 else scripts[0]
        if not callable(script):
            return script
        reply = script(llm_request)
        return await reply if inspect.isawaitable(reply) else reply

    def _response(self, reply: Reply, llm_request: LlmRequest) -> LlmResponse:
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, LlmResponse):
            return reply.model_copy(deep=True)
        content = reply if isinstance(reply, types.Content) else text_content(_text(reply))
        return LlmResponse(
            content=content,
            partial=False,
            finish_reason=types.FinishReason.STOP,
            usage_metadata=usage(prompt_text(llm_request), content),
            model_version=self.model,
        )

    def _chunks(self, response: LlmResponse) -> Sequence[LlmResponse]:
        parts = (response.content.parts if response.content else None) or []
        text = "".join(part.text or "" for part in parts)
        return [
            LlmResponse(content=text_content(text[at : at + self.chunk_chars]), partial=True)
            for at in range(0, len(text), self.chunk_chars)
        ]


class ForbiddenLlm(BaseLlm):
    """Stands where no model may be called; a call fails the test."""

    model: str = "forbidden/test"

    @property
    def capabilities(self) -> LlmCapabilities:
        """Takes an output schema together with tools."""
        return LlmCapabilities(output_schema_and_tools=True)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Fail: nobody may ask."""
        raise AssertionError(f"a model was called as {role_of(llm_request)}; none may be here")
        yield LlmResponse()


def call(name: str, **args: Any) -> types.Content:
    """A model content that calls one function."""
    return calls((name, args))


def calls(*named: tuple[str, Mapping[str, Any]]) -> types.Content:
    """A model content that calls several functions at once."""
    parts = [
        types.Part(function_call=types.FunctionCall(name=name, args=dict(args)))
        for name, args in named
    ]
    return types.Content(role="model", parts=parts)


def text_content(text: str) -> types.Content:
    """A model content of one text."""
    return types.Content(role="model", parts=[types.Part(text=text)])


def recorded(llm_request: LlmRequest) -> LlmRequest:
    """A copy of what the model was sent, deep in contents and config."""
    return LlmRequest(
        model=llm_request.model,
        contents=[content.model_copy(deep=True) for content in llm_request.contents],
        config=llm_request.config.model_copy(deep=True),
    )


def usage(prompt: str, content: types.Content) -> types.GenerateContentResponseUsageMetadata:
    """Estimated tokens of a prompt and its answer."""
    answer = "".join(
        part.text or dumps(part.function_call.args if part.function_call else {}, default=str)
        for part in content.parts or []
    )
    taken, given = estimate_tokens(prompt), estimate_tokens(answer)
    return types.GenerateContentResponseUsageMetadata(
        prompt_token_count=taken, candidates_token_count=given, total_token_count=taken + given
    )


def _role(name: str) -> Role:
    for role in ROLES:
        if name == role:
            return role
    if name in _SCHEMAS:
        return _SCHEMAS[name]
    raise ValueError(f"{name!r} is no role; use one of {', '.join((*ROLES, *_SCHEMAS))}")


def _text(reply: str | Mapping[str, Any] | BaseModel) -> str:
    if isinstance(reply, str):
        return reply
    if isinstance(reply, BaseModel):
        return reply.model_dump_json()
    return dumps(reply, ensure_ascii=False)

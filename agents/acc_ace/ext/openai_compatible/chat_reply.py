"""Read OpenAI-style chat completions, whole or in chunks, as ADK responses."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import BaseModel, Field, ValidationError

from acc_ace.errors import ModelError, ModelOutputError, ModelRefused, ModelUnavailable
from acc_ace.models.failures import RETRIED_STATUS

Json = dict[str, Any]

_FINISH = {
    "stop": types.FinishReason.STOP,
    "tool_calls": types.FinishReason.STOP,
    "function_call": types.FinishReason.STOP,
    "length": types.FinishReason.MAX_TOKENS,
    "content_filter": types.FinishReason.SAFETY,
}


class _Function(BaseModel):
    name: str | None = None
    # Some endpoints send an object where the format has its JSON text.
    arguments: str | Json | None = None


class _CallDelta(BaseModel):
    index: int | None = Field(default=None, ge=0)
    id: str | None = None
    function: _Function = _Function()


class _Delta(BaseModel):
    content: str | None = None
    refusal: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    tool_calls: list[_CallDelta] | None = None


class _Choice(BaseModel):
    delta: _Delta | None = None
    message: _Delta | None = None
    finish_reason: str | None = None


class _Details(BaseModel):
    reasoning_tokens: int | None = None
    cached_tokens: int | None = None


class _Usage(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int | None = None
    completion_tokens_details: _Details | None = None
    prompt_tokens_details: _Details | None = None


class _Completion(BaseModel):
    """A completion, or a chunk of one; fields that we do not use are left out."""

    error: object = None
    model: str | None = None
    choices: list[_Choice] | None = None
    usage: _Usage | None = None


@dataclass
class _ToolCall:
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass
class ChatReply:
    """Puts a reply together from the chunks of a stream, or from one whole completion."""

    model: str
    _text: list[str] = field(default_factory=list)
    _thought: list[str] = field(default_factory=list)
    _refusal: list[str] = field(default_factory=list)
    _calls: list[_ToolCall] = field(default_factory=list)
    _finish: str = ""
    _usage: _Usage | None = None
    _version: str = ""

    _streamed: bool = False

    @property
    def is_broken_off(self) -> bool:
        """Whether a stream ended before the endpoint said why."""
        return self._streamed and not self._finish

    @property
    def looks_written(self) -> bool:
        """Whether the text so far may be a tool call, or an answer, written as JSON."""
        first = next((piece.lstrip() for piece in self._text if piece.strip()), "")
        return first.startswith(("{", "`", "<"))

    def add(self, body: Json) -> Iterator[LlmResponse]:
        """Take a completion or a chunk of one; yields what is new in it, as partial responses.

        A piece of a tool call is one without content: the call is shown when it is whole.

        Raises ModelUnavailable or ModelRefused when the endpoint reports an error in place of a
        chunk, and ModelOutputError for what is no completion.
        """
        completion = self._read(body)
        self._usage = completion.usage or self._usage
        self._version = completion.model or self._version
        for choice in (completion.choices or [])[:1]:
            self._finish = choice.finish_reason or self._finish
            self._streamed = self._streamed or choice.delta is not None
            yield from self._add_delta(choice.delta or choice.message or _Delta())

    def _read(self, body: Json) -> _Completion:
        try:
            completion = _Completion.model_validate(body)
        except ValidationError as error:
            where = ".".join(str(step) for step in error.errors()[0]["loc"])
            raise ModelOutputError(
                f"model {self.model} sent a reply that is not a chat completion: {where}"
            ) from error
        if completion.error:
            raise self._reported(completion.error)
        return completion

    def _reported(self, error: object) -> ModelError:
        reported = error if isinstance(error, dict) else {"message": error}
        status = reported.get("code")
        final = isinstance(status, int) and 400 <= status < 500 and status not in RETRIED_STATUS
        kind = ModelRefused if final else ModelUnavailable
        return kind(f"model {self.model} reported an error: {str(reported.get('message'))[:300]}")

    def _add_delta(self, delta: _Delta) -> Iterator[LlmResponse]:
        self._refusal.append(delta.refusal or "")
        for call in delta.tool_calls or []:
            self._add_call(call)
            yield LlmResponse(partial=True)
        thought = delta.reasoning_content or delta.reasoning
        if thought:
            self._thought.append(thought)
            yield _partial(types.Part(text=thought, thought=True))
        if delta.content:
            self._text.append(delta.content)
            yield _partial(types.Part(text=delta.content))

    def whole(self) -> LlmResponse:
        """The complete response.

        Raises ModelOutputError when a tool call's arguments are no JSON object.
        """
        finish = _FINISH.get(self._finish, types.FinishReason.OTHER)
        refusal = "".join(self._refusal)
        if refusal:
            finish = types.FinishReason.SAFETY
        content = types.Content(role="model", parts=list(self._parts()))
        return LlmResponse(
            content=content,
            partial=False,
            finish_reason=finish,
            error_code=finish.name if finish is types.FinishReason.SAFETY else None,
            error_message=refusal or None,
            usage_metadata=self._usage_metadata(),
            model_version=self._version or self.model,
        )

    def _parts(self) -> Iterator[types.Part]:
        if self._thought:
            yield types.Part(text="".join(self._thought), thought=True)
        if self._text:
            yield types.Part(text="".join(self._text))
        for call in self._calls:
            function = types.FunctionCall(
                id=call.id or None, name=call.name, args=self._arguments(call)
            )
            yield types.Part(function_call=function)

    def _add_call(self, delta: _CallDelta) -> None:
        """Add a piece of a tool call, where its index says, or else where its id does."""
        index = self._place(delta) if delta.index is None else delta.index
        if index > len(self._calls):
            raise ModelOutputError(f"model {self.model} sent tool calls out of order")
        if index == len(self._calls):
            self._calls.append(_ToolCall())
        call, arguments = self._calls[index], delta.function.arguments or ""
        call.id = call.id or delta.id or ""
        call.name = call.name or delta.function.name or ""
        call.arguments += arguments if isinstance(arguments, str) else json.dumps(arguments)

    def _place(self, delta: _CallDelta) -> int:
        """The call with this id; a new one for a new id or a name; else the last one."""
        for index, call in enumerate(self._calls):
            if delta.id and call.id == delta.id:
                return index
        new = bool(delta.id or delta.function.name) or not self._calls
        return len(self._calls) if new else len(self._calls) - 1

    def _arguments(self, call: _ToolCall) -> Json:
        try:
            arguments = json.loads(call.arguments or "{}")
        except ValueError:
            arguments = None
        if not call.name or not isinstance(arguments, dict):
            raise ModelOutputError(
                f"model {self.model} called {call.name or 'a tool without a name'} with arguments "
                f"that are not a JSON object: {call.arguments[:200]!r}"
            )
        return arguments

    def _usage_metadata(self) -> types.GenerateContentResponseUsageMetadata | None:
        usage = self._usage
        if usage is None:
            return None
        taken, given = usage.prompt_tokens, usage.completion_tokens
        thought = (usage.completion_tokens_details or _Details()).reasoning_tokens or 0
        return types.GenerateContentResponseUsageMetadata(
            prompt_token_count=taken,
            # The format counts thoughts among the completion's tokens; Gemini's does not.
            candidates_token_count=max(0, given - thought),
            thoughts_token_count=thought or None,
            cached_content_token_count=(usage.prompt_tokens_details or _Details()).cached_tokens,
            total_token_count=usage.total_tokens or taken + given,
        )


def _partial(part: types.Part) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[part]), partial=True)

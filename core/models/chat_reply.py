"""Read OpenAI-style chat completions, whole or in chunks, as ADK responses."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from google.adk.models.llm_response import LlmResponse
from google.genai import types

from core.domain.tokens import estimate_tokens
from core.errors import ModelOutputError, ModelUnavailable

Json = dict[str, Any]

_FINISH = {
    "stop": types.FinishReason.STOP,
    "tool_calls": types.FinishReason.STOP,
    "function_call": types.FinishReason.STOP,
    "length": types.FinishReason.MAX_TOKENS,
    "content_filter": types.FinishReason.SAFETY,
}


@dataclass
class _Call:
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass
class ChatReply:
    """Puts a reply together from the chunks of a stream, or from one whole completion.

    `prompt` is what was sent; tokens are estimated from it when the endpoint reports no usage.
    """

    model: str
    prompt: str = ""
    _text: list[str] = field(default_factory=list)
    _thought: list[str] = field(default_factory=list)
    _refusal: list[str] = field(default_factory=list)
    _calls: list[_Call] = field(default_factory=list)
    _finish: str = ""
    _usage: Json = field(default_factory=dict)
    _version: str = ""

    @property
    def finished(self) -> bool:
        """Whether the endpoint said why it stopped."""
        return bool(self._finish)

    def add(self, body: Json) -> Iterator[LlmResponse]:
        """Take a completion or a chunk of one; yields what is new in it, as partial responses.

        Raises ModelUnavailable when the endpoint reports an error in place of a chunk, and
        ModelOutputError for what is no completion.
        """
        if body.get("error"):
            raise ModelUnavailable(f"model {self.model} broke off: {_message(body['error'])}")
        self._usage = body.get("usage") or self._usage
        self._version = body.get("model") or self._version
        choice = next(iter(body.get("choices") or []), None)
        if choice is None:
            return
        if not isinstance(choice, dict):
            raise ModelOutputError(f"model {self.model} sent a choice that is no object")
        self._finish = choice.get("finish_reason") or self._finish
        delta = choice.get("delta") or choice.get("message") or {}
        self._refusal.append(delta.get("refusal") or "")
        for call in delta.get("tool_calls") or []:
            self._add_call(call)
        thought = delta.get("reasoning_content") or delta.get("reasoning") or ""
        if isinstance(thought, str) and thought:
            self._thought.append(thought)
            yield _partial(types.Part(text=thought, thought=True))
        text = delta.get("content") or ""
        if text:
            self._text.append(text)
            yield _partial(types.Part(text=text))

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

    def _add_call(self, delta: Json) -> None:
        """Add a piece of a tool call: by its index; without one, a new id begins a new call."""
        index = delta.get("index")
        if index is None:
            known = [at for at, call in enumerate(self._calls) if call.id == delta.get("id")]
            new = bool(delta.get("id") and not known) or not self._calls
            index = len(self._calls) if new else (known or [len(self._calls) - 1])[0]
        if not isinstance(index, int) or not 0 <= index <= len(self._calls):
            raise ModelOutputError(f"model {self.model} sent tool calls out of order")
        if index == len(self._calls):
            self._calls.append(_Call())
        call, function = self._calls[index], delta.get("function") or {}
        call.id = call.id or delta.get("id") or ""
        call.name = call.name or function.get("name") or ""
        arguments = function.get("arguments") or ""
        # Some endpoints send an object where the format has its JSON text.
        call.arguments += arguments if isinstance(arguments, str) else json.dumps(arguments)

    def _arguments(self, call: _Call) -> Json:
        try:
            arguments = json.loads(call.arguments or "{}")
        except ValueError:
            arguments = None
        if not call.name or not isinstance(arguments, dict):
            raise ModelOutputError(
                f"model {self.model} called {call.name or 'a tool without a name'} with arguments "
                f"that are no JSON object: {call.arguments[:200]!r}"
            )
        return arguments

    def _usage_metadata(self) -> types.GenerateContentResponseUsageMetadata:
        if not self._usage:
            return self._estimated_usage()
        taken = int(self._usage.get("prompt_tokens") or 0)
        given = int(self._usage.get("completion_tokens") or 0)
        thought = int(
            (self._usage.get("completion_tokens_details") or {}).get("reasoning_tokens") or 0
        )
        cached = int((self._usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
        return types.GenerateContentResponseUsageMetadata(
            prompt_token_count=taken,
            # The format counts thoughts among the completion's tokens; Gemini's does not.
            candidates_token_count=max(0, given - thought),
            thoughts_token_count=thought or None,
            cached_content_token_count=cached or None,
            total_token_count=int(self._usage.get("total_tokens") or taken + given),
        )

    def _estimated_usage(self) -> types.GenerateContentResponseUsageMetadata:
        taken = estimate_tokens(self.prompt)
        arguments = " ".join(call.arguments for call in self._calls)
        given = estimate_tokens("".join(self._text)) + estimate_tokens(arguments)
        return types.GenerateContentResponseUsageMetadata(
            prompt_token_count=taken, candidates_token_count=given, total_token_count=taken + given
        )


def prompt_of(body: Json) -> str:
    """The texts of a request body, for estimating its tokens."""
    texts = (message.get("content") or "" for message in body.get("messages", []))
    tools = json.dumps(body["tools"], ensure_ascii=False) if body.get("tools") else ""
    return "\n".join((*texts, tools))


def _partial(part: types.Part) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[part]), partial=True)


def _message(error: object) -> str:
    text = error.get("message", error) if isinstance(error, dict) else error
    return str(text)[:300]

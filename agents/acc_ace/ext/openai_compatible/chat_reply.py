"""Read OpenAI-style chat completions, whole or in chunks, as ADK responses."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from google.adk.models.llm_response import LlmResponse
from google.genai import types

from acc_ace.errors import ModelError, ModelOutputError, ModelRefused, ModelUnavailable
from acc_ace.models.failures import RETRIED_STATUS

Json = dict[str, Any]

_MOST_TOKENS = 2**40
"""A reply that counts more is not believed."""

_FINISH = {
    "stop": types.FinishReason.STOP,
    "tool_calls": types.FinishReason.STOP,
    "function_call": types.FinishReason.STOP,
    "length": types.FinishReason.MAX_TOKENS,
    "content_filter": types.FinishReason.SAFETY,
}


@dataclass
class ChatReply:
    """Puts a reply together from the chunks of a stream, or from one whole completion."""

    model: str
    _text: list[str] = field(default_factory=list)
    _thought: list[str] = field(default_factory=list)
    _refusal: list[str] = field(default_factory=list)
    _calls: list[dict[str, str]] = field(default_factory=list)
    _finish: str = ""
    _usage: Json = field(default_factory=dict)
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

    def add(self, body: Json) -> list[LlmResponse]:
        """Take a completion or a chunk of one; returns what is new in it, as partial responses.

        A piece of a tool call is one without content: the call is shown when it is whole.

        Raises ModelUnavailable or ModelRefused when the endpoint reports an error in place of a
        chunk, and ModelOutputError for what is no completion.
        """
        with self._reading():
            if body.get("error"):
                raise self._reported(body["error"])
            self._usage = body.get("usage") or self._usage
            self._version = str(body.get("model") or self._version)
            return [new for choice in (body.get("choices") or [])[:1] for new in self._add(choice)]

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Values that the format does not have in their places are the endpoint's error."""
        try:
            yield
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            kind = type(error).__name__
            reported = f"model {self.model} sent a reply that is not a chat completion ({kind})"
            raise ModelOutputError(reported) from error

    def _reported(self, error: object) -> ModelError:
        reported = error if isinstance(error, dict) else {"message": error}
        status = reported.get("code")
        final = isinstance(status, int) and 400 <= status < 500 and status not in RETRIED_STATUS
        kind = ModelRefused if final else ModelUnavailable
        return kind(f"model {self.model} reported an error: {str(reported.get('message'))[:300]}")

    def _add(self, choice: Json) -> Iterator[LlmResponse]:
        self._finish = choice.get("finish_reason") or self._finish
        self._streamed = self._streamed or choice.get("delta") is not None
        delta = choice.get("delta") or choice.get("message") or {}
        self._refusal.append(delta.get("refusal") or "")
        for call in delta.get("tool_calls") or []:
            self._add_call(call)
            yield LlmResponse(partial=True)
        if thought := delta.get("reasoning_content") or delta.get("reasoning"):
            yield _partial(types.Part(text=thought, thought=True))
            self._thought.append(thought)
        if text := delta.get("content"):
            yield _partial(types.Part(text=text))
            self._text.append(text)

    def whole(self) -> LlmResponse:
        """The complete response.

        Raises ModelOutputError when a tool call's arguments are no JSON object.
        """
        with self._reading():
            refusal = "".join(self._refusal)
            finish = _FINISH.get(self._finish, types.FinishReason.OTHER)
            finish = types.FinishReason.SAFETY if refusal else finish
            return LlmResponse(
                content=types.Content(role="model", parts=list(self._parts())),
                partial=False,
                finish_reason=finish,
                error_code=finish.name if finish is types.FinishReason.SAFETY else None,
                error_message=refusal or None,
                usage_metadata=_counted(self._usage) if self._usage else None,
                model_version=self._version or self.model,
            )

    def _parts(self) -> Iterator[types.Part]:
        if self._thought:
            yield types.Part(text="".join(self._thought), thought=True)
        if self._text:
            yield types.Part(text="".join(self._text))
        for call in self._calls:
            arguments = self._arguments(call)
            function = types.FunctionCall(id=call["id"] or None, name=call["name"], args=arguments)
            yield types.Part(function_call=function)

    def _add_call(self, delta: Json) -> None:
        """Add a piece of a tool call, where its index says, or else where its id does."""
        function, ids = delta.get("function") or {}, [call["id"] for call in self._calls]
        call_id, name = str(delta.get("id") or ""), function.get("name") or ""
        index = delta.get("index")
        if index is None and call_id and call_id in ids:
            index = ids.index(call_id)
        elif index is None:
            index = len(ids) if call_id or name or not ids else len(ids) - 1
        index = int(index)  # Some endpoints send it as a text.
        if not 0 <= index <= len(ids):
            raise ModelOutputError(f"model {self.model} sent tool calls out of order")
        if index == len(ids):
            self._calls.append({"id": "", "name": "", "arguments": ""})
        call, arguments = self._calls[index], function.get("arguments") or ""
        call["id"] = call["id"] or call_id
        call["name"] = call["name"] or name
        # Some endpoints send an object where the format has its JSON text.
        call["arguments"] += arguments if isinstance(arguments, str) else json.dumps(arguments)

    def _arguments(self, call: dict[str, str]) -> Json:
        try:
            arguments = json.loads(call["arguments"] or "{}")
        except ValueError:
            arguments = None
        if not call["name"] or not isinstance(arguments, dict):
            raise ModelOutputError(
                f"model {self.model} called {call['name'] or 'a tool without a name'} with "
                f"arguments that are not a JSON object: {call['arguments'][:200]!r}"
            )
        return arguments


def _counted(usage: Json) -> types.GenerateContentResponseUsageMetadata | None:
    """What a usage block counts, in numbers or in texts; None for one that cannot be read."""
    try:
        into, out = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
        total = _count(usage, "total_tokens") or into + out
        thoughts = _count(usage.get("completion_tokens_details") or {}, "reasoning_tokens")
        cached = _count(usage.get("prompt_tokens_details") or {}, "cached_tokens")
    except (AttributeError, OverflowError, TypeError, ValueError):
        return None
    return types.GenerateContentResponseUsageMetadata(
        prompt_token_count=into,
        # The format counts thoughts among the completion's tokens; Gemini's does not.
        candidates_token_count=max(0, out - thoughts),
        thoughts_token_count=thoughts or None,
        cached_content_token_count=cached or None,
        total_token_count=total,
    )


def _count(counts: Json, name: str) -> int:
    number = int(counts.get(name) or 0)
    if not 0 <= number <= _MOST_TOKENS:
        raise ValueError(f"{number} is no number of tokens")
    return number


def _partial(part: types.Part) -> LlmResponse:
    return LlmResponse(content=types.Content(role="model", parts=[part]), partial=True)

"""Models behind an OpenAI-compatible endpoint, with nothing but httpx.

Every reply is streamed, so that its first token is seen, and a cancelled call, which closes its
connection, stops the endpoint also while it reads a prompt.
"""

import json
import logging
import math
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from urllib.parse import urlsplit

import httpx
from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import Field, PrivateAttr, SecretStr

from acc_ace.config import settings
from acc_ace.errors import ModelError, ModelOutputError, ModelRefused, ModelUnavailable
from acc_ace.ext.openai_compatible.chat_reply import ChatReply
from acc_ace.ext.openai_compatible.chat_request import (
    Json,
    bound_to_json,
    bound_to_schema,
    chat_body,
    json_of,
    schema_asked,
    told_schema,
)
from acc_ace.ext.openai_compatible.written_tools import (
    has_results,
    in_words,
    read_written,
    with_written_tools,
)
from acc_ace.model_settings import ToolForm
from acc_ace.models.endpoint import MAX_REPLY_BYTES, checked_url, http_client, pieces_of
from acc_ace.models.failures import status_of

PREFIX = "openai/"

_REJECTED = frozenset({400, 422})
"""Statuses of endpoints that do not know what they were asked to do."""

_REFUSALS = 2
"""Refusals in a row after which a schema is not sent for a while."""

WITHOUT_SCHEMA_S = 600.0
"""Seconds of that while."""

_MOST_SCHEMAS = 64
"""Schemas that are remembered."""

_FORM_S = 3_600.0
"""Seconds for which a form of tools holds that a refusal has shown."""

READING_S = 600.0
"""Seconds for which a model of this machine may read a prompt."""

_LATER_S = 1.0
"""Seconds by which httpx's limit comes after the caller's own, which names its setting."""

_PROBE_TOKENS = 512
"""Room of the reply to a probe; some models think first."""

_log = logging.getLogger(__name__)


class OpenAICompatibleLlm(BaseLlm):
    """`openai/<model>`: POST {base_url}/chat/completions, text and tools, always streamed.

    Without a base URL it takes the endpoint and key of the settings, so that
    `LlmAgent(model="openai/…")` works. One call is one try, or two when the endpoint does not
    know JSON schemas: retries are ResilientLlm's. Before the first call with tools the endpoint is
    asked how it takes them, see `tool_form`.

    Raises ModelUnavailable on 408, 429 and 5xx, ModelRefused on other statuses, ModelOutputError
    for a reply that cannot be read, InputError for images, ConfigError for a base URL that is
    none; network errors are httpx's.
    """

    base_url: str | None = None
    api_key: SecretStr | None = Field(default=None, repr=False)
    timeout_s: float = 60.0
    """Seconds between two tokens, and for a connection."""
    first_token_timeout_s: float | None = None
    """Seconds until the first token, while it reads the prompt; see `first_token_s`."""
    reasoning_effort: str | None = None
    """How much the model thinks: 'none', 'minimal', 'low', 'medium', 'high'; None = its default."""
    tools: ToolForm = "auto"
    """How tools are given to it."""

    _refused: dict[str, tuple[int, float]] = PrivateAttr(default_factory=dict)
    """Schemas that were refused, though not the request: how often in a row, and until when."""

    @classmethod
    def supported_models(cls) -> list[str]:
        """Names for ADK's registry; the very pattern of ADK's LiteLLM entry, to replace it."""
        return [r"openai/.*"]

    @property
    def capabilities(self) -> LlmCapabilities:
        """Takes an output schema together with tools, whatever the endpoint is then sent."""
        return LlmCapabilities(output_schema_and_tools=True)

    @property
    def runs_here(self) -> bool:
        """Whether the endpoint is on this machine."""
        host = urlsplit(self._endpoint()).hostname or ""
        return host == "localhost" or host.startswith("127.") or host == "::1"

    @property
    def first_token_s(self) -> float:
        """Seconds until the first token: as set, or READING_S here and `timeout_s` elsewhere."""
        return self.first_token_timeout_s or (READING_S if self.runs_here else self.timeout_s)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request; see the class for errors.

        A streamed response without content says only that a part of a tool call has come.
        """
        body, schema = self._body(llm_request), schema_asked(llm_request)
        functions = [tool["function"] for tool in body.get("tools", ())]
        reply = ChatReply(model=self.model)
        # Of free text that may yet be a written call nothing is shown until it is whole.
        may_be_call = bool(functions) and schema is None
        async with self._client() as client:
            if functions:
                body, schema = _with_tools(body, schema, await self._tool_form(client))
            elif has_results(body) and await self._tool_form(client) == "written":
                # Its template may know no tools, and the model then says nothing.
                body = {**body, "messages": in_words(body["messages"], calls=False)}
            async with aclosing(self._completion(client, body, schema)) as chunks:
                async for chunk in chunks:
                    for partial in reply.add(chunk):
                        if stream:
                            hidden = may_be_call and reply.looks_written
                            yield LlmResponse(partial=True) if hidden else partial
        if reply.is_broken_off:
            raise ModelUnavailable(f"model {self.model} stopped before it finished")
        whole = reply.whole()
        yield read_written(whole, functions) if functions else whole

    async def tool_form(self) -> ToolForm:
        """How the endpoint takes tools: as set, or as two small requests show, once a process.

        'with_schema' if its model calls a tool also beside a schema, 'native' if it calls one
        without, else 'written'. Raises as a call does.
        """
        async with self._client() as client:
            return await self._tool_form(client)

    async def _tool_form(self, client: httpx.AsyncClient) -> ToolForm:
        if self.tools != "auto":
            return self.tools
        place = (self._endpoint(), self.model)
        form, until = _TOOL_FORMS.get(place, ("written", 0.0))
        if time.monotonic() >= until:
            form, both = "written", await self._calls_tool(client, beside_schema=True)
            alone: bool | None = False
            if both:
                form = "with_schema"
            elif alone := await self._calls_tool(client, beside_schema=False):
                form = "native"
            _log.info("tool_form model=%s form=%s", self.model, form)
            lasts = _FORM_S if None in {both, alone} else math.inf
            _TOOL_FORMS[place] = form, time.monotonic() + lasts
        return form

    async def _calls_tool(self, client: httpx.AsyncClient, *, beside_schema: bool) -> bool | None:
        """Whether the model calls a tool that it is told to call; None if that was refused.

        What goes wrong beside a schema is no failure yet: it is asked without one next.
        """
        body = self._body(_probe())
        reply = ChatReply(model=self.model)
        try:
            request = bound_to_schema(body, _TEXT) if beside_schema else body
            async for chunk in self._sent(client, request):
                reply.add(chunk)
            return bool(reply.whole().get_function_calls())
        except ModelError as error:
            is_answer = isinstance(error, ModelOutputError) or _is_rejected(error)
            if not (beside_schema or is_answer):
                raise
            return False if isinstance(error, ModelOutputError) else None

    def _body(self, llm_request: LlmRequest) -> Json:
        # OpenAI's own endpoint has renamed the limit; the others know the old name.
        host = urlsplit(self._endpoint()).hostname or ""
        key = "max_completion_tokens" if host.endswith("openai.com") else "max_tokens"
        name, effort = self.model.removeprefix(PREFIX), self.reasoning_effort
        return {
            **chat_body(llm_request, model=name, max_tokens_key=key),
            **({} if effort is None else {"reasoning_effort": effort}),
            "stream": True,
            "stream_options": {"include_usage": True},
        }

    async def _completion(
        self, client: httpx.AsyncClient, body: Json, schema: Json | None
    ) -> AsyncGenerator[Json, None]:
        """The chunks of a reply; asks again without a schema when the endpoint knows none."""
        tries = [body] if schema is None else [bound_to_json(body, schema)]
        name = json_of(schema)
        times, until = self._refused.get(name, (0, 0.0))
        is_bound = schema is not None and (times < _REFUSALS or time.monotonic() >= until)
        if schema is not None and is_bound:
            tries.insert(0, bound_to_schema(body, schema))
        refusal: ModelRefused | None = None
        for request in tries:
            try:
                async for chunk in self._sent(client, request):
                    yield chunk
            except ModelRefused as error:
                if refusal is not None:
                    text = f"{error} (with a JSON schema: {refusal})"
                    raise ModelRefused(text) from error.__cause__
                if request is tries[-1] or not _is_rejected(error):
                    raise
                refusal = error
            else:
                if is_bound:
                    self._note(name, times + 1 if refusal else 0)
                return

    def _note(self, schema: str, times: int) -> None:
        """Remember that a schema was refused so often in a row."""
        if times == 0:
            self._refused.pop(schema, None)
            return
        if len(self._refused) >= _MOST_SCHEMAS:
            self._refused.clear()
        self._refused[schema] = (times, time.monotonic() + WITHOUT_SCHEMA_S)

    async def _sent(self, client: httpx.AsyncClient, body: Json) -> AsyncIterator[Json]:
        """The JSON objects of a reply: one of a whole completion, many of an event stream."""
        who = f"model {self.model}"
        async with client.stream("POST", "chat/completions", json=body) as response:
            streams = "text/event-stream" in response.headers.get("content-type", "")
            unread = bytearray()
            async for piece in pieces_of(response, who, most=MAX_REPLY_BYTES):
                unread += piece
                *lines, rest = unread.split(b"\n") if streams else [unread]
                unread = rest
                for line in lines:
                    field, _, data = line.partition(b":")
                    if field == b"data" and data.strip() != b"[DONE]":
                        yield self._parsed(data)
            if not streams:
                yield self._parsed(unread)

    def _parsed(self, text: bytearray) -> Json:
        try:
            value = json.loads(text)
        except ValueError as error:
            raise ModelOutputError(f"model {self.model} sent a reply that is not JSON") from error
        if not isinstance(value, dict):
            raise ModelOutputError(f"model {self.model} sent JSON that is not an object")
        return value

    def _endpoint(self) -> str:
        return checked_url(self.base_url or settings().openai_base_url, "ACC_ACE_OPENAI_BASE_URL")

    def _client(self) -> httpx.AsyncClient:
        key = self.api_key if self.base_url else settings().openai_api_key
        longest = max(self.first_token_s, self.timeout_s)
        limits = httpx.Timeout(self.timeout_s, read=longest + _LATER_S)
        return http_client(self._endpoint(), key, limits)


_TOOL_FORMS: dict[tuple[str, str], tuple[ToolForm, float]] = {}
"""How the models of endpoints take tools, as far as they were asked in this process; until when."""

PROBE = "Call the tool `note` with the text: ready"
"""What a model is told when it is asked whether it can call a tool."""

_TEXT: Json = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def _probe() -> LlmRequest:
    note = types.FunctionDeclaration(
        name="note", description="Keep a text.", parameters_json_schema=_TEXT
    )
    return LlmRequest(
        contents=[types.Content(role="user", parts=[types.Part(text=PROBE)])],
        config=types.GenerateContentConfig(
            tools=[types.Tool(function_declarations=[note])], max_output_tokens=_PROBE_TOKENS
        ),
    )


def _with_tools(body: Json, schema: Json | None, form: ToolForm) -> tuple[Json, Json | None]:
    """The body, and the schema of the reply, for an endpoint that takes tools in this form."""
    if form == "written":
        return with_written_tools(body, schema)
    if form == "native" and schema is not None:
        return told_schema(body, schema), None
    return body, schema


def _is_rejected(error: ModelError) -> bool:
    return status_of(error.__cause__) in _REJECTED

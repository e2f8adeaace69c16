"""Settings, read from the environment or `.env` here alone, with the prefix `ACC_ACE_`.

Blocks nest with two underscores (`ACC_ACE_GENERATOR__MODEL`); Google's variables keep their names.
"""

import os
from datetime import tzinfo
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

from dotenv import dotenv_values
from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_settings import NoDecode, SettingsConfigDict

from acc_ace.core.schemas.limits import BackgroundLimits, Limits, RecallWeights
from acc_ace.errors import ConfigError
from acc_ace.model_settings import (
    AUTO,
    EMBEDDED_MODEL,
    GEMINI_MODEL,
    POLICY_MODEL,
    ROLES,
    AgentSettings,
    ClaudeCliSettings,
    EmbedderSettings,
    GeneratorSettings,
    GuardMode,
    GuardModelSettings,
    NamedSettings,
    PlaygroundSettings,
    Role,
    ToolForm,
)
from acc_ace.setting_values import agents_of_a_clone, parse_tokens, shown_value, zone_of

__all__ = [
    "AUTO",
    "EMBEDDED_MODEL",
    "GEMINI_MODEL",
    "POLICY_MODEL",
    "ROLES",
    "AgentSettings",
    "EmbedderSettings",
    "GuardMode",
    "GuardModelSettings",
    "Role",
    "Settings",
    "block_name",
    "google_credentials",
    "google_endpoint",
    "inherited",
    "load_settings",
    "names_set",
    "settings",
    "settle_telemetry",
    "stop_telemetry",
]

_GOOGLE = ("GOOGLE_", "GEMINI_")
"""Prefixes of Google's own variables, which google-genai reads from the environment."""

_OTLP = "OTEL_EXPORTER_OTLP_"
"""Prefix of the variables of OpenTelemetry's own exporters."""

_STOPPED = "OTEL_SDK_DISABLED"
_CONTENT = {
    "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS": ("false", "true"),
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": ("NO_CONTENT", "SPAN_AND_EVENT"),
}
"""What tells ADK not to export what was said, and to do so. By default its spans have it."""

_TOOLS = ("tools", "acting_tools", "read_only_tools")


class Settings(NamedSettings):
    """All settings of the product."""

    model_config = SettingsConfigDict(
        env_prefix="ACC_ACE_",
        env_nested_delimiter="__",
        env_file=".env",
        env_file_encoding="utf-8",
        env_ignore_empty=True,
        # A block with one setting changed keeps the others as they are for its agent.
        nested_model_default_partial_update=True,
        extra="ignore",
        frozen=True,
    )

    qualifier: AgentSettings = AgentSettings(thinking="least")
    compressor: AgentSettings = AgentSettings(thinking="least")
    generator: GeneratorSettings = GeneratorSettings(max_output_tokens=4_096)
    reflector: AgentSettings = AgentSettings()
    curator: AgentSettings = AgentSettings(thinking="least")
    guard_model: GuardModelSettings = GuardModelSettings(thinking="least")
    limits: Limits = Limits()
    recall: RecallWeights = RecallWeights()
    background: BackgroundLimits = BackgroundLimits()
    embedder: EmbedderSettings = EmbedderSettings()
    claude_cli: ClaudeCliSettings = ClaudeCliSettings()
    playground: PlaygroundSettings = PlaygroundSettings()

    data_dir: Path = Field(
        default=Path(".acc_ace"),
        description="Data directory. A relative path is resolved against the working directory; "
        "use an absolute one to find the same data from anywhere.",
    )
    store: Literal["sqlite", "postgres", "memory"] = Field(
        default="sqlite",
        description="Where data is stored: SQLite files in data_dir, the PostgreSQL database of "
        "database_url (for many processes and machines), or 'memory' (lost at exit).",
    )
    database_url: SecretStr | None = Field(
        default=None,
        description="PostgreSQL URL for store=postgres: postgresql://user:password@host:5432/database.",
    )
    database_connections: int = Field(
        default=8,
        ge=1,
        le=500,
        description="Maximum connections per process; the session lock adds one.",
    )
    database_wait_s: float = Field(
        default=10.0,
        ge=0,
        le=600,
        description="Seconds to wait for an unavailable database server; half that, 5 s at "
        "most, for an unresponsive network.",
    )
    session_events: Literal["keep", "trim", "offload"] = Field(
        default="keep",
        description="Retention of old session events: 'keep' all, 'trim' to the newest "
        "session_turns turns, or 'offload' older ones to long-term memory, then delete them.",
    )
    session_turns: int = Field(
        default=100, ge=1, le=100_000, description="Turns whose events trim and offload keep."
    )
    recent_events: int = Field(
        default=0,
        ge=0,
        le=10_000,
        description="Past events that a turn of our app or under the plugin loads, beside the last "
        "answer and what waits for a person; other apps load all.",
    )
    playbook_files: bool = Field(
        default=False,
        description="Export the playbook to files in data_dir/playbook, within a second of each "
        "commit; `acc-ace survive` does unless this is false. Never with store=memory.",
    )
    offload: bool = Field(
        default=True,
        description="Extract notes (entities, preferences, lessons) on reset and when idle.",
    )
    idle_s: float = Field(
        default=1_800,
        ge=0,
        le=31_536_000,
        description="Idle seconds after which a session is offloaded; 0 = never.",
    )
    time_zone: str = Field(
        default="UTC",
        description="The users' time zone (IANA name, such as Asia/Tokyo), used to resolve "
        "'yesterday' or '7 May' in recall.",
    )
    bootstrap: bool = Field(
        default=True, description="Start new sessions with the notes of the user's earlier ones."
    )
    agent_dir: Path | None = Field(
        default_factory=agents_of_a_clone,
        description="Directory of ADK apps; used in a clone only.",
    )
    serve_web_interface: bool = Field(default=True, description="Serve ADK's web UI.")
    reload_agents: bool = Field(default=False, description="Reload agents when files change.")
    learning: Literal["inline", "background", "off"] = Field(
        default="inline",
        description="When to learn: at the end of each turn ('inline'), in durable background jobs "
        "('background', needs the extra of that name), or never ('off').",
    )
    learn_on: Literal["evidence", "every"] = Field(
        default="evidence",
        description="Turns to learn from: with 'evidence', or 'every' one.",
    )
    playbook_scope: Literal["app", "user"] = Field(
        default="app",
        description="Playbook that turns read and teach: the app's, shared by all users and "
        "stripped of personal data, or the user's own.",
    )
    playbook_editors: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Users who may change the shared playbook over HTTP, comma-separated; empty = "
        "everyone without auth_tokens, no one with them.",
    )
    reflector_max_rounds: int = Field(
        default=1,
        ge=1,
        le=5,
        description="Maximum Reflector calls per turn to refine its reflection; it stops early "
        "when nothing changes.",
    )
    pipeline: Literal["sequential", "workflow"] = Field(
        default="sequential", description="How ADK runs the stages: 'sequential' or 'workflow'."
    )
    compress: Literal["every", "adaptive"] = Field(
        default="every",
        description="Turns in which the Compressor's model is asked: 'every' one, or those that "
        "need it ('adaptive').",
    )
    refine_interval: int = Field(
        default=20,
        ge=0,
        le=100_000,
        description="Refine the playbook every N turns: merge duplicates, archive stale and "
        "harmful bullets; 0 = only when it is full.",
    )
    playbook_max_sections: int = Field(
        default=50,
        ge=1,
        le=10_000,
        description="Newest sections of a playbook in its exported files; older ones are written "
        "to archive/. The store keeps all; its budgets are limits.playbook_*.",
    )
    playbook_context_limit: int = Field(
        default=16, ge=0, le=1_000, description="Maximum bullets that the survivor's thinker sees."
    )
    playbook_context_chars: int = Field(
        default=240, ge=16, le=8_000, description="Maximum characters of each of these bullets."
    )
    stale_days: float = Field(
        default=90,
        ge=0,
        le=36_500,
        description="Days without use after which a rated but unproven bullet is archived; "
        "0 = never.",
    )
    max_cost: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="Ceiling of what a user's model calls may cost in a day (UTC), in US dollars; "
        "further turns are refused. Needs the price of every model. Unset = no ceiling.",
    )
    prices: Path | None = Field(
        default=None,
        description="TOML file of model prices, in place of the list prices of the package.",
    )
    host: str = Field(default="127.0.0.1", description="Address to bind.")
    port: int = Field(default=8000, ge=0, le=65_535, description="Port to bind; 0 = any free port.")
    allow_remote_without_tokens: bool = Field(
        default=False, description="Allow binding a non-loopback address without tokens."
    )
    auth_tokens: Annotated[dict[str, SecretStr], NoDecode] = Field(
        default_factory=dict,
        description="Bearer tokens: 'user:token,user2:token2'. Empty = no authentication.",
    )
    allow_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="Allowed CORS origins, comma-separated."
    )
    trusted_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="Accepted Host headers, comma-separated; empty = the bound one."
    )
    files_dir: Path | None = Field(
        default=None, description="Folder that the read_file tool may read; unset = tool disabled."
    )
    tools: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="Your own tools as 'package.module:function', comma-separated."
    )
    guard: GuardMode = Field(
        default="confirm",
        description="What happens to a tool call that breaks a rule in force: 'confirm' asks the "
        "person, 'block' refuses it (for hosts where no one can answer), 'off' lets it run.",
    )
    acting_tools: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Names of tools that act, comma-separated: where no check and no model "
        "decides, their calls are confirmed when a rule has a word of the tool or an argument.",
    )
    read_only_tools: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="Names of tools that only read, comma-separated: never stopped."
    )
    mcp_servers: Path | None = Field(
        default=None, description="JSON file of MCP servers, as {'mcpServers': {name: {...}}}."
    )
    openai_base_url: str = Field(
        default="http://127.0.0.1:11434/v1", description="Endpoint for 'openai/<model>' names."
    )
    openai_api_key: SecretStr | None = Field(default=None, description="API key of that endpoint.")
    openai_tools: ToolForm = Field(
        default="auto",
        description="How 'openai/<model>' is given tools: 'native' (never beside a JSON schema), "
        "'with_schema' (both at once), 'written' (in words; a call is JSON of a schema), or "
        "'auto': two small requests, once a process, show what the model can.",
    )
    keep_requests: bool = Field(
        default=True, description="Keep what models were asked in the newest 50 turns, redacted."
    )
    mask_secrets: bool = Field(
        default=True, description="Store recognised keys, tokens and passwords masked."
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="WARNING", description="Minimum log level."
    )
    log_format: Literal["text", "json"] = Field(
        default="text", description="A log line as words, or as one JSON object."
    )
    access_log: bool | None = Field(
        default=None, description="Log each request; empty = at the log levels DEBUG and INFO."
    )
    log_content: bool = Field(
        default=False, description="Put what was said into what OpenTelemetry exports."
    )
    prometheus: bool = Field(
        default=False,
        description="Serve measures at /v1/operations/metrics; needs the extra 'otel'.",
    )
    operators: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="Users who may read what concerns the whole server, comma-separated; empty = "
        "everyone without auth_tokens, no one with them.",
    )

    @field_validator("auth_tokens", mode="before")
    @classmethod
    def _tokens(cls, value: object) -> object:
        return parse_tokens(value) if isinstance(value, str) else value

    @field_validator(
        "allow_origins", "trusted_hosts", *_TOOLS, "playbook_editors", "operators", mode="before"
    )
    @classmethod
    def _comma_separated(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(item.strip() for item in value.split(",") if item.strip())
        return value

    @field_validator("time_zone")
    @classmethod
    def _knownzone_of(cls, name: str) -> str:
        zone_of(name)
        return name

    @property
    def zone(self) -> tzinfo:
        """The time zone named by `time_zone`."""
        return zone_of(self.time_zone)

    def agent(self, role: Role) -> AgentSettings:
        """The block of one agent."""
        block: AgentSettings = getattr(self, block_name(role))
        return block

    def model_name(self, role: Role) -> str:
        """The model that an agent uses, 'auto' resolved."""
        name = self.agent(role).model
        if name != AUTO:
            return name
        return GEMINI_MODEL if google_credentials() else EMBEDDED_MODEL


def block_name(role: Role) -> str:
    """The settings block of a role: `guard` is the guard's mode."""
    return "guard_model" if role == "guard" else role


def google_credentials() -> str | None:
    """Which Google credentials are set: 'api_key', 'vertex' or None. Never their value."""
    if os.environ.get("GOOGLE_API_KEY") or os.environ.get("GEMINI_API_KEY"):
        return "api_key"
    return "vertex" if _asks_for_vertex() and os.environ.get("GOOGLE_CLOUD_PROJECT") else None


def _asks_for_vertex() -> bool:
    return os.environ.get("GOOGLE_GENAI_USE_VERTEXAI", "").lower() in {"1", "true"}


def google_endpoint() -> str:
    """Where Gemini is reached, if the environment says so; '' for Google's own address."""
    return os.environ.get("GOOGLE_GEMINI_BASE_URL", "")


def inherited(*names: str) -> dict[str, str]:
    """The named variables of the environment that are set, for a child process."""
    return {name: os.environ[name] for name in names if name in os.environ}


def names_set() -> tuple[str, ...]:
    """Names with our prefix in the environment or `.env`, no values. Raises ConfigError."""
    prefix = Settings.model_config.get("env_prefix", "")
    names = (*os.environ, *_in_file())
    return tuple(dict.fromkeys(name for name in names if name.upper().startswith(prefix)))


def _in_file() -> dict[str, str | None]:
    env_file = Settings.model_config.get("env_file")
    if not env_file:
        return {}
    try:
        return dotenv_values(str(env_file), encoding="utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            f"{Path(str(env_file)).absolute()} is not UTF-8 (line {line}); save it as UTF-8"
        ) from error
    except OSError as error:
        raise ConfigError(
            f"{Path(str(env_file)).absolute()} cannot be read ({error.strerror}); make it "
            "readable, or move it away"
        ) from error


def load_settings() -> Settings:
    """Read the settings. Google's variables in `.env` are copied to the environment if unset there.

    Raises ConfigError that names each wrong setting and what is allowed, or a `.env` that cannot
    be read.
    """
    for name, value in _in_file().items():
        if name.startswith(_GOOGLE) and value is not None:
            os.environ.setdefault(name, value)
    if _asks_for_vertex() and google_credentials() is None:
        raise ConfigError(
            "GOOGLE_GENAI_USE_VERTEXAI is set, but not GOOGLE_CLOUD_PROJECT; set the project (and "
            "GOOGLE_CLOUD_LOCATION), or unset it"
        )
    try:
        return Settings()
    except ValidationError as error:
        problems = "; ".join(
            f"ACC_ACE_{'__'.join(str(part) for part in item['loc']).upper()}: {item['msg']} "
            f"(got {shown_value(item.get('input'))})"
            for item in error.errors()
        )
        raise ConfigError(f"invalid settings: {problems}. See .env.example.") from error


def settle_telemetry(*, with_content: bool) -> bool:
    """Whether OpenTelemetry's own variables ask for an export; what they say of its text stays."""
    for name, (without, within) in _CONTENT.items():
        os.environ.setdefault(name, within if with_content else without)
    is_stopped = os.environ.get(_STOPPED, "").lower() == "true"
    return not is_stopped and any(
        value and name.startswith(_OTLP) and name.endswith("ENDPOINT")
        for name, value in os.environ.items()
    )


def stop_telemetry() -> None:
    """Keep providers that are made later from holding spans in memory, as ADK's web UI does."""
    os.environ.setdefault(_STOPPED, "true")


@lru_cache(maxsize=1)
def settings() -> Settings:
    """The settings of this process, read once."""
    return load_settings()

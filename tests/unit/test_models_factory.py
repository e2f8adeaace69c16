"""Building models from settings, and what may be named."""

import subprocess
import sys

import pytest
from google.adk.agents.llm_agent import LlmAgent

from acc_ace.errors import ConfigError
from acc_ace.models.factory import build_model, describe
from acc_ace.models.gemini import GeminiLlm
from acc_ace.models.names import kind_of
from acc_ace.models.resilient import ResilientLlm
from config import GEMINI_MODEL, ROLES, AgentSettings, Role, Settings
from tests.fakes.extensions import needs


def settings(model: str, fallback: str | None = None) -> Settings:
    return Settings(generator=AgentSettings(model=model, fallback=fallback))


def built(model: str, fallback: str | None = None) -> ResilientLlm:
    found = build_model("generator", settings(model, fallback))
    assert isinstance(found, ResilientLlm)
    return found


def test_default_gemini_model_is_adks_own() -> None:
    assert LlmAgent.DEFAULT_MODEL == GEMINI_MODEL


@pytest.mark.parametrize("role", ROLES)
def test_no_key_means_the_embedded_model_and_says_so(role: Role) -> None:
    assert describe(role, Settings()) == (
        role,
        "embedded/rules",
        "embedded",
        "extractive, not an LLM",
    )


@pytest.mark.parametrize("variable", ["GOOGLE_API_KEY", "GEMINI_API_KEY"])
def test_key_means_gemini(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "k")
    assert describe("generator", Settings())[1:] == (GEMINI_MODEL, "gemini", "Gemini API")


def test_vertex_settings_mean_gemini(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    assert describe("generator", Settings()).note == "Vertex AI"


def test_note_tells_of_missing_credentials_and_of_the_fallback() -> None:
    note = describe("generator", settings("gemini-3.5-flash", "embedded/rules")).note
    assert "no Google credentials" in note
    assert note.endswith("fallback embedded/rules")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("gemini-3.5-flash", GeminiLlm),
        ("projects/p/locations/l/endpoints/7", GeminiLlm),
    ],
)
def test_each_name_builds_its_model_without_key_or_network(name: str, kind: type) -> None:
    model = built(name)
    assert isinstance(model.primary, kind)
    assert model.model == name
    assert model.fallback is None


def test_fallback_is_built_too() -> None:
    model = built("gemini-3.5-flash", "gemini-2.5-flash")
    assert isinstance(model.fallback, GeminiLlm)


@needs("embedded")
@pytest.mark.parametrize("name", ["gpt-9", "embedded/other", "openai/", "rules", "x y/z"])
def test_unknown_name_is_told_with_what_is_allowed(name: str) -> None:
    with pytest.raises(ConfigError, match=r"unknown model name.*embedded/rules"):
        kind_of(name)
    with pytest.raises(ConfigError, match="ACC_ACE_GENERATOR__MODEL: unknown model name"):
        build_model("generator", settings(name))
    with pytest.raises(ConfigError, match="ACC_ACE_GENERATOR__FALLBACK: unknown model name"):
        build_model("generator", settings("embedded/rules", name))


@pytest.mark.parametrize(
    "name",
    [
        "embedded/rules",
        "embedded/policy",
        "gemini-3.5-flash",
        pytest.param("openai/x", marks=needs("openai_compatible")),
    ],
)
def test_known_name_passes(name: str) -> None:
    kind_of(name)


def test_missing_extra_says_how_to_install_it() -> None:
    with pytest.raises(ConfigError, match=r"pip install -e '\.\[litellm\]'"):
        kind_of("anthropic/claude", installed=lambda module: None)


def test_model_file_is_told_which_servers_take_its_place() -> None:
    with pytest.raises(ConfigError, match=r"llama-server or Ollama.*ACC_ACE_OPENAI_BASE_URL"):
        build_model("generator", settings("llama-cpp/small.gguf"))


@pytest.mark.parametrize(
    ("name", "together"),
    [
        ("gemini-3.5-flash", True),
        ("gemini-2.5-flash", False),
        pytest.param("openai/x", True, marks=needs("openai_compatible")),
    ],
)
def test_schema_with_tools_is_declared_by_kind(name: str, together: bool) -> None:
    assert built(name).capabilities.output_schema_and_tools is together


@needs("embedded")
def test_building_loads_no_client_that_is_not_used() -> None:
    program = (
        "import sys; from acc_ace.config import Settings;"
        "from acc_ace.models.factory import build_model;"
        "build_model('generator', Settings(_env_file=None));"
        "print([name for name in ('google.adk.models.google_llm', 'litellm')"
        " if name in sys.modules])"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - ours
    assert done.stdout.strip() == "[]", done.stderr


def test_kind_of_litellm_names_needs_the_extra() -> None:
    with pytest.raises(ConfigError, match=r"pip install -e '\.\[litellm\]'"):
        kind_of("anthropic/claude-sonnet")

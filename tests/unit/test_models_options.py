"""Options of models: what each kind takes, what is sent, and what is refused at the start."""

from typing import Any

import pytest
from google.genai import types

from acc_ace.adk.structured_agent import content_config
from acc_ace.cli.checks.model_checks import check_models
from acc_ace.errors import ConfigError
from acc_ace.models.factory import build_model, describe
from acc_ace.models.gemini import GeminiLlm, thinking_config
from acc_ace.models.resilient import ResilientLlm
from config import ROLES, AgentSettings, Settings, load_settings
from tests.fakes.extensions import needs


def with_block(**options: Any) -> Settings:
    return Settings(generator=AgentSettings(**options))


def built(**options: Any) -> ResilientLlm:
    model = build_model("generator", with_block(**options))
    assert isinstance(model, ResilientLlm)
    return model


def level(config: types.ThinkingConfig | None) -> str | int | None:
    if config is None:
        return None
    return config.thinking_level.value if config.thinking_level else config.thinking_budget


def test_sampling_is_left_to_the_provider_unless_it_is_set() -> None:
    for role in ROLES:
        config = content_config(Settings().agent(role))
        assert (config.temperature, config.top_p, config.seed) == (None, None, None)
    config = content_config(AgentSettings(temperature=0.0, top_p=0.9, seed=7))
    assert (config.temperature, config.top_p, config.seed) == (0.0, 0.9, 7)


def test_roles_that_need_no_thoughts_ask_for_the_least() -> None:
    least = {role for role in ROLES if Settings().agent(role).thinking == "least"}
    assert least == {"qualifier", "compressor", "curator"}
    assert Settings().guard_model.thinking == "least"


@pytest.mark.parametrize(
    ("model", "thinking", "sent"),
    [
        ("gemini-3.5-flash", "least", "MINIMAL"),
        ("gemini-3.1-flash-lite", "least", "MINIMAL"),
        ("gemini-3.8-flash", "least", "LOW"),
        ("gemini-3.1-pro-preview", "least", "LOW"),
        ("gemini-2.5-flash", "least", 0),
        ("gemini-2.5-flash", "off", 0),
        ("gemini-2.5-pro", "least", 128),
        ("gemini-2.5-pro", "4096", 4_096),
        ("gemini-2.0-flash", "least", None),
        ("gemini-3.5-flash", "high", "HIGH"),
        ("gemini-3.5-flash", "", None),
        ("projects/p/locations/l/endpoints/1", "least", None),
        ("projects/p/locations/l/endpoints/1", "low", "LOW"),
        ("projects/p/locations/l/publishers/google/models/gemini-2.5-flash", "least", 0),
    ],
)
def test_thinking_is_sent_in_the_words_of_the_model(
    model: str, thinking: str, sent: str | int | None
) -> None:
    assert level(thinking_config(model, thinking)) == sent


@needs("embedded", "openai_compatible")
@pytest.mark.parametrize(
    ("model", "option", "value", "message"),
    [
        ("gemini-2.0-flash", "thinking", "low", "it does not think"),
        ("gemini-2.5-flash", "thinking", "low", "0 to 24576 tokens"),
        ("gemini-2.5-pro", "thinking", "off", "128 to 32768 tokens"),
        ("gemini-3.5-flash", "thinking", "off", "use least, minimal"),
        ("gemini-3-pro-preview", "thinking", "medium", "use least, low, high"),
        ("openai/x", "thinking", "2048", "a level, not a number"),
        ("openai/x", "safety", "off", "takes no safety"),
        ("embedded/rules", "temperature", 0.2, "takes no temperature"),
        ("embedded/rules", "thinking", "low", "takes no thinking"),
        ("embedded/rules", "seed", 1, "takes no seed"),
        ("gemini-3.5-flash", "first_token_timeout_s", 9, "takes no first_token_timeout_s"),
    ],
)
def test_option_that_a_model_refuses_is_an_error_of_the_start_that_names_the_setting(
    model: str, option: str, value: object, message: str
) -> None:
    settings = with_block(model=model, **{option: value})
    for start in (build_model, describe):
        with pytest.raises(ConfigError, match=rf"ACC_ACE_GENERATOR__{option.upper()}.*{message}"):
            start("generator", settings)


def test_doctor_names_the_option_that_is_refused() -> None:
    settings = with_block(model="embedded/rules", temperature=0.2)
    problems = [found for found in check_models(settings) if found.fix]
    assert [found.check for found in problems] == ["generator"]
    assert "ACC_ACE_GENERATOR__TEMPERATURE" in problems[0].detail


def test_time_limit_longer_than_the_turn_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"TIMEOUT_S=600.*ACC_ACE_LIMITS__TURN_MODEL_S=300"):
        describe("generator", with_block(model="embedded/rules", timeout_s=600))


def test_unknown_way_to_think_is_an_error_that_lists_the_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ACC_ACE_GENERATOR__THINKING", "hard")
    with pytest.raises(ConfigError, match=r"ACC_ACE_GENERATOR__THINKING.*least, off, minimal"):
        load_settings()


def test_vertex_without_a_project_is_an_error_of_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    with pytest.raises(ConfigError, match="GOOGLE_CLOUD_PROJECT"):
        load_settings()
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    assert load_settings().model_name("generator").startswith("gemini-")


@needs("embedded")
def test_fallback_takes_what_it_can_of_the_options() -> None:
    model = built(model="gemini-3.5-flash", thinking="low", fallback="gemini-2.5-flash")
    assert isinstance(model.primary, GeminiLlm)
    assert isinstance(model.fallback, GeminiLlm)
    assert level(model.primary.thinking) == "LOW"
    assert model.fallback.thinking is None
    built(model="gemini-3.5-flash", temperature=0.5, fallback="embedded/rules")


def test_safety_is_one_threshold_for_all_harms() -> None:
    model = built(model="gemini-3.5-flash", safety="only_high").primary
    assert isinstance(model, GeminiLlm)
    assert {item.threshold for item in model.safety or []} == {
        types.HarmBlockThreshold.BLOCK_ONLY_HIGH
    }


def test_setting_one_option_of_an_agent_keeps_its_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACC_ACE_GENERATOR__MODEL", "gemini-3.5-flash")
    monkeypatch.setenv("ACC_ACE_COMPRESSOR__RETRIES", "1")
    found = load_settings()
    assert found.generator.max_output_tokens == 4_096
    assert (found.compressor.retries, found.compressor.thinking) == (1, "least")

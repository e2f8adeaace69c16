"""Models behind an endpoint, built by name from settings or for an agent of ADK's."""

from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent

from acc_ace import build_model, register_models
from acc_ace.ext.openai_compatible.client import OpenAICompatibleLlm
from acc_ace.models.resilient import ResilientLlm
from config import AgentSettings, Settings


def built(**options: Any) -> ResilientLlm:
    model = build_model("generator", Settings(generator=AgentSettings.model_validate(options)))
    assert isinstance(model, ResilientLlm)
    return model


def test_name_builds_its_model_without_key_or_network() -> None:
    model = built(model="openai/qwen3:4b")
    assert isinstance(model.primary, OpenAICompatibleLlm)
    assert (model.model, model.fallback) == ("openai/qwen3:4b", None)


def test_fallback_is_built_too() -> None:
    model = built(model="gemini-3.5-flash", fallback="openai/qwen3:4b")
    assert isinstance(model.fallback, OpenAICompatibleLlm)


def test_registered_name_works_in_agents_and_twice_is_once() -> None:
    register_models()
    register_models()
    model = LlmAgent(name="a", model="openai/qwen3:4b").canonical_model
    assert (type(model), model.model) == (OpenAICompatibleLlm, "openai/qwen3:4b")


def test_level_reaches_an_openai_compatible_endpoint_as_reasoning_effort() -> None:
    model = built(model="openai/x", thinking="off").primary
    assert isinstance(model, OpenAICompatibleLlm)
    assert model.reasoning_effort == "none"


@pytest.mark.parametrize(
    ("url", "options", "seconds"),
    [
        ("http://127.0.0.1:8080/v1", {}, 600),
        ("http://[::1]:8080/v1", {}, 600),
        ("https://models.test/v1", {}, 45),
        ("https://models.test/v1", {"first_token_timeout_s": 90}, 90),
    ],
)
def test_model_of_this_machine_has_ten_minutes_to_read_a_prompt(
    url: str, options: dict[str, float], seconds: float
) -> None:
    block = AgentSettings.model_validate({"model": "openai/x", "timeout_s": 45, **options})
    model = build_model("generator", Settings(generator=block, openai_base_url=url))
    assert isinstance(model, ResilientLlm)
    assert isinstance(model.primary, OpenAICompatibleLlm)
    assert model.primary.first_token_s == seconds

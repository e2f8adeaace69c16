"""The names and labels of the embedded models."""

import pytest
from google.adk.agents.llm_agent import LlmAgent

from acc_ace.ext.embedded.model import EmbeddedLlm
from acc_ace.ext.embedded.phrases import NOTE
from acc_ace.models.factory import register_models
from schemas.report import Answer
from tests.unit.test_cli_terminal import plain, screened
from tests.unit.test_models_factory import built


def test_its_name_builds_it_without_key_or_network() -> None:
    model = built("embedded/rules")
    assert isinstance(model.primary, EmbeddedLlm)
    assert (model.model, model.fallback) == ("embedded/rules", None)
    assert model.capabilities.output_schema_and_tools


def test_it_stands_in_for_a_model_that_is_away() -> None:
    assert isinstance(built("gemini-3.5-flash", "embedded/rules").fallback, EmbeddedLlm)


def test_its_registered_name_works_in_agents() -> None:
    register_models()
    model = LlmAgent(name="a", model="embedded/rules").canonical_model
    assert (type(model), model.model) == (EmbeddedLlm, "embedded/rules")


@pytest.mark.parametrize("label", NOTE.values())
def test_the_label_of_an_answer_is_not_told_again(label: str) -> None:
    answer = Answer(text=f"hi\n{label}", model="embedded/rules", note="extractive, not an LLM")
    assert plain(screened(answer, width=80)) == f"hi\n{label}"

"""Claims about the embedded model as an ADK model: shape, streaming, determinism, robustness."""

import json

import pytest
from google.adk.models.llm_request import LlmRequest
from google.genai import types
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from acc_ace.core.text.prompt import write_inputs
from acc_ace.ext.embedded.model import NOTE, EmbeddedLlm
from schemas.ccs import CompressedCognitiveState
from schemas.delta import DeltaBatch
from schemas.generation import GeneratorOutput
from schemas.qualification import RelevanceBatch
from schemas.reflection import Reflection
from tests.ext.embedded.requests import (
    BAN,
    generator_system,
    last_part,
    request,
    responses,
    state,
)
from tests.fakes.examples import examples

SCHEMAS: list[type[BaseModel]] = [
    RelevanceBatch,
    CompressedCognitiveState,
    GeneratorOutput,
    Reflection,
    DeltaBatch,
]
NAMES = ["current_input", "previous_state", "artifacts", "candidates", "state", "playbook"]
NAMES += ["warnings", "reflection", "tool_results", "used_bullets", "stats"]
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=80),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["text", "authority", "content", "artifact_id", "meta", "pins", "id"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


@pytest.mark.parametrize("schema", SCHEMAS)
@settings(max_examples=examples(fast=10, soak=40), suppress_health_check=[HealthCheck.too_slow])
@given(inputs=st.dictionaries(st.sampled_from(NAMES), JUNK), text=st.text(max_size=200))
async def test_any_request_gets_valid_json_of_the_schema(
    schema: type[BaseModel], inputs: dict[str, object], text: str
) -> None:
    blocks = write_inputs(inputs)
    part = await last_part(request(schema, f"{blocks}\n{text}", system=blocks))
    assert part.text is not None
    schema.model_validate_json(part.text)


@pytest.mark.parametrize("schema", SCHEMAS)
async def test_an_empty_request_gets_valid_json_of_the_schema(schema: type[BaseModel]) -> None:
    empty = LlmRequest()
    empty.set_output_schema(schema)
    part = await last_part(empty)
    assert part.text is not None
    schema.model_validate_json(part.text)


async def test_a_megabyte_of_input_is_answered() -> None:
    part = await last_part(request(GeneratorOutput, "db-01 is down because of x. " * 40_000))
    assert part.text is not None
    assert len(GeneratorOutput.model_validate_json(part.text).final_answer) < 2_000


async def test_the_same_request_always_gives_the_same_reply() -> None:
    built = request(GeneratorOutput, "Restart db-01!", system=generator_system(state(BAN)))
    texts = {item.model_dump_json() for _ in range(3) for item in await responses(built)}
    assert len(texts) == 1


async def test_the_request_is_left_as_it_was() -> None:
    built = request(GeneratorOutput, "Restart db-01!", system=generator_system(state(BAN)))
    before = built.model_copy(deep=True)
    await responses(built, stream=True)
    assert built.contents == before.contents
    assert built.config == before.config


async def test_streamed_chunks_add_up_to_the_final_reply() -> None:
    built = request(GeneratorOutput, "Restart db-01!", system=generator_system(state(BAN)))
    *chunks, final = await responses(built, stream=True)
    assert len(chunks) > 1
    assert all(chunk.partial for chunk in chunks)
    assert not final.partial
    assert "".join(_text(chunk.content) for chunk in chunks) == _text(final.content)


async def test_tokens_label_and_finish_reason_are_set() -> None:
    (final,) = await responses(request(GeneratorOutput, "Hello!"))
    assert final.usage_metadata is not None
    assert (final.usage_metadata.prompt_token_count or 0) > 0
    assert (final.usage_metadata.candidates_token_count or 0) > 0
    assert final.finish_reason is types.FinishReason.STOP
    assert final.custom_metadata == {"model": "embedded/rules", "note": NOTE}


async def test_without_a_schema_the_answer_is_plain_text() -> None:
    part = await last_part(request(None, "Restart db-01!", system=generator_system(state(BAN))))
    assert part.text is not None
    assert part.text.startswith("I will not do that")


async def test_the_answer_goes_through_set_model_response_where_it_is_declared() -> None:
    built = request(None, "Hello!")
    parameters = GeneratorOutput.model_json_schema()
    declared = types.FunctionDeclaration(
        name="set_model_response", parameters_json_schema=parameters
    )
    built.config.tools = [types.Tool(function_declarations=[declared])]
    part = await last_part(built)
    assert part.function_call is not None
    assert part.function_call.name == "set_model_response"
    GeneratorOutput.model_validate(part.function_call.args)


async def test_a_schema_of_somebody_else_gets_its_smallest_value() -> None:
    part = await last_part(request(_Foreign, "Hello!"))
    assert part.text is not None
    foreign = _Foreign.model_validate_json(part.text)
    assert foreign.count == 3
    assert foreign.inner.name == ""
    assert foreign.share == 0
    assert set(json.loads(part.text)) == {"count", "inner", "share"}


def test_it_declares_what_adk_asks_for() -> None:
    model = EmbeddedLlm()
    assert model.model == "embedded/rules"
    assert model.capabilities.output_schema_and_tools
    assert EmbeddedLlm.supported_models() == [r"embedded/rules"]


class _Inner(BaseModel):
    name: str


class _Foreign(BaseModel):
    count: int = Field(ge=3)
    inner: _Inner
    share: float | None
    note: str = ""


def _text(content: types.Content | None) -> str:
    parts = content.parts if content is not None and content.parts else []
    return "".join(part.text or "" for part in parts)

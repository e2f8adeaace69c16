"""The scripted model itself, since the rest of the suite leans on it."""

import json

import pytest
from google.adk.models.llm_request import LlmRequest
from google.genai import types
from pydantic import BaseModel

from acc_ace.core.text.prompt import Lines, write_inputs
from acc_ace.core.text.reply_reading import read_reply
from config import ROLES, Role
from schemas.commit import CompressorReply
from schemas.delta import DeltaBatch
from schemas.generation import GeneratorOutput
from schemas.qualification import RelevanceBatch
from schemas.reflection import Reflection
from tests.fakes.scripted_llm import ForbiddenLlm, ScriptedLlm, call

SCHEMAS: dict[Role, type[BaseModel]] = {
    "qualifier": RelevanceBatch,
    "compressor": CompressorReply,
    "generator": GeneratorOutput,
    "reflector": Reflection,
    "curator": DeltaBatch,
}


def asked(role: Role, text: str = "hello") -> LlmRequest:
    request = LlmRequest(contents=[types.Content(role="user", parts=[types.Part(text=text)])])
    request.set_output_schema(SCHEMAS[role])
    return request


async def answer(llm: ScriptedLlm, request: LlmRequest) -> str:
    *_, response = [item async for item in llm.generate_content_async(request)]
    assert response.content is not None
    assert response.content.parts
    return response.content.parts[0].text or ""


@pytest.mark.parametrize("role", ROLES)
async def test_every_role_has_a_valid_default(role: Role) -> None:
    read_reply(SCHEMAS[role], await answer(ScriptedLlm(), asked(role)))


async def test_the_default_compressor_leaves_rules_and_goal_to_code() -> None:
    text = write_inputs(
        {
            "previous_state": Lines(
                "constraints:\n- [c-0001] no restarts\ngoal_orientation: recover\nturn: 3"
            ),
            "current_input": {"text": "hello"},
        }
    )
    reply = json.loads(await answer(ScriptedLlm(), asked("compressor", text)))
    assert reply == {}


async def test_default_qualifier_passes_every_candidate() -> None:
    text = write_inputs({"candidates": [{"artifact_id": "a-1"}, {"artifact_id": "a-2"}]})
    reply = await answer(ScriptedLlm(), asked("qualifier", text))
    batch = RelevanceBatch.model_validate_json(reply)
    assert [(item.artifact_id, item.relevant) for item in batch.decisions] == [
        ("a-1", True),
        ("a-2", True),
    ]


async def test_scripts_are_used_in_order_and_the_last_one_stays() -> None:
    llm = ScriptedLlm().on("GeneratorOutput", "one", "two")
    found = [await answer(llm, asked("generator")) for _ in range(3)]
    assert found == ["one", "two", "two"]


async def test_requests_are_recorded_as_they_were() -> None:
    llm = ScriptedLlm()
    request = asked("curator", "before")
    await answer(llm, request)
    assert request.contents[0].parts
    request.contents[0].parts[0].text = "after"
    recorded = llm.requests_of("curator")[0].contents[0].parts or []
    assert recorded[0].text == "before"
    assert llm.roles == ["curator"]


async def test_function_calls_and_errors_can_be_scripted() -> None:
    llm = ScriptedLlm().on("generator", call("f", x=1), OSError("down"))
    first = [item async for item in llm.generate_content_async(asked("generator"))]
    assert first[0].get_function_calls()[0].args == {"x": 1}
    with pytest.raises(OSError, match="down"):
        await answer(llm, asked("generator"))


def test_unknown_role_is_told() -> None:
    with pytest.raises(ValueError, match="is no role"):
        ScriptedLlm().on("poet", "x")


async def test_forbidden_model_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="called as qualifier"):
        await anext(ForbiddenLlm().generate_content_async(asked("qualifier")))

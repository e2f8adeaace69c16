"""Recognising the role and the schema of a request."""

from typing import Any

import pytest
from google.adk.models.llm_request import LlmRequest
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.set_model_response_tool import SetModelResponseTool
from google.genai import types
from pydantic import BaseModel

from acc_ace.models.response_shape import (
    answers_by_tool,
    declarations_of,
    json_schema_of,
    parameters_of,
    role_of,
)
from config import Role
from schemas.ccs import CompressedCognitiveState
from schemas.delta import DeltaBatch
from schemas.generation import GeneratorOutput
from schemas.qualification import RelevanceBatch
from schemas.reflection import Reflection

ROLES: list[tuple[type[BaseModel], Role]] = [
    (RelevanceBatch, "qualifier"),
    (CompressedCognitiveState, "compressor"),
    (GeneratorOutput, "generator"),
    (Reflection, "reflector"),
    (DeltaBatch, "curator"),
]


def with_schema(schema: Any) -> LlmRequest:
    request = LlmRequest()
    request.set_output_schema(schema)
    return request


def as_google_schema(schema: type[BaseModel]) -> types.Schema:
    """The schema as OpenAPI has it: upper-case type names."""
    properties = {
        name: types.Schema(type=types.Type.STRING)
        for name in schema.model_json_schema()["properties"]
    }
    return types.Schema(type=types.Type.OBJECT, title=schema.__name__, properties=properties)


@pytest.mark.parametrize(("schema", "role"), ROLES)
def test_role_is_read_from_every_form_of_the_schema(schema: type[BaseModel], role: Role) -> None:
    assert role_of(with_schema(schema)) == role
    assert role_of(with_schema(schema.model_json_schema())) == role
    assert role_of(with_schema(as_google_schema(schema))) == role
    by_json = LlmRequest()
    by_json.config.response_json_schema = schema.model_json_schema()
    assert role_of(by_json) == role


@pytest.mark.parametrize(("schema", "role"), ROLES)
def test_role_is_read_from_the_answering_tool(schema: type[BaseModel], role: Role) -> None:
    request = LlmRequest()
    request.append_tools([SetModelResponseTool(schema)])
    assert role_of(request) == role
    assert answers_by_tool(request)


def test_request_without_a_schema_is_the_generators() -> None:
    assert role_of(LlmRequest()) == "generator"
    assert json_schema_of(LlmRequest()) is None


def test_foreign_schema_has_no_role() -> None:
    assert role_of(with_schema(list[str])) is None
    assert role_of(with_schema({"type": "object", "properties": {"x": {"type": "string"}}})) is None


def test_type_names_are_lowered_but_a_field_called_type_is_kept() -> None:
    schema = types.Schema(
        type=types.Type.OBJECT,
        properties={"type": types.Schema(type=types.Type.STRING, nullable=True)},
    )
    found = json_schema_of(with_schema(schema))
    assert found is not None
    assert found["type"] == "object"
    assert set(found["properties"]) == {"type"}
    assert "STRING" not in str(found["properties"]["type"]["type"])


def test_declared_functions_come_with_their_parameters() -> None:
    def calculate(expression: str) -> str:
        """Work out an expression."""
        return expression

    def now() -> str:
        """Tell the time."""
        return "now"

    request = LlmRequest()
    request.append_tools([FunctionTool(calculate), FunctionTool(now)])
    first, second = declarations_of(request)
    assert parameters_of(first)["properties"]["expression"]["type"] == "string"
    assert parameters_of(second)["properties"] == {}

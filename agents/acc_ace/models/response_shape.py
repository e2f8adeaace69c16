"""Derive from a request which role answers it, and in which shape.

A model that plays several roles (the embedded one, the fakes) sees nothing but the LlmRequest,
so the role is read from the output schema: each role's has a field that no other has. ADK
puts the schema in `config.response_schema`, or, for models that cannot take a schema together
with tools, in the parameters of an injected tool named `set_model_response`.
"""

import copy
from collections.abc import Hashable, Iterator, Mapping
from functools import lru_cache
from typing import Any, cast

from google.adk.models.llm_request import LlmRequest
from google.genai import types
from pydantic import TypeAdapter

from acc_ace.model_settings import Role

SET_MODEL_RESPONSE = "set_model_response"
"""Name of ADK's tool that carries the final structured answer."""

_MARKS: dict[str, Role] = {
    "decisions": "qualifier",
    "semantic_gist": "compressor",
    "final_answer": "generator",
    "objective": "generator",
    "bullet_tags": "reflector",
    "operations": "curator",
    "conflict": "guard",
}
"""A field that only output schemas of this role have; a Plan is the Generator's too."""


def role_of(llm_request: LlmRequest) -> Role | None:
    """The role that is asked to answer, or None for a schema that is none of ours.

    A request without any schema is the Generator's: it alone may answer in plain text.
    """
    schema = json_schema_of(llm_request)
    if schema is None:
        return "generator"
    properties = schema.get("properties") or {}
    return next((role for mark, role in _MARKS.items() if mark in properties), None)


def json_schema_of(llm_request: LlmRequest) -> dict[str, Any] | None:
    """The JSON schema of the answer, wherever the request carries it; None when it is free text.

    Type names are in lower case (`string`), as JSON schema has them.
    """
    config = llm_request.config
    if isinstance(config.response_json_schema, Mapping):
        return dict(config.response_json_schema)
    if config.response_schema is not None:
        return _as_json_schema(config.response_schema)
    return next(
        (
            _parameters(declaration)
            for declaration in declarations_of(llm_request)
            if declaration.name == SET_MODEL_RESPONSE
        ),
        None,
    )


def answers_by_tool(llm_request: LlmRequest) -> bool:
    """Whether the structured answer is to be given by calling `set_model_response`."""
    return any(item.name == SET_MODEL_RESPONSE for item in declarations_of(llm_request))


def declarations_of(llm_request: LlmRequest) -> Iterator[types.FunctionDeclaration]:
    """Every function that the model may call, in the order of the request."""
    for tool in llm_request.config.tools or []:
        if isinstance(tool, types.Tool):
            yield from tool.function_declarations or []


def parameters_of(declaration: types.FunctionDeclaration) -> dict[str, Any]:
    """The JSON schema of a function's arguments; an empty object schema when it has none."""
    return _parameters(declaration) or {"type": "object", "properties": {}}


def _parameters(declaration: types.FunctionDeclaration) -> dict[str, Any] | None:
    if isinstance(declaration.parameters_json_schema, Mapping):
        return dict(declaration.parameters_json_schema)
    if declaration.parameters is not None:
        return _as_json_schema(declaration.parameters)
    return None


def _as_json_schema(schema: object) -> dict[str, Any]:
    if isinstance(schema, types.Schema):
        return _lower_types(schema.json_schema.model_dump(mode="json", exclude_none=True))
    if isinstance(schema, Mapping):
        return _lower_types(dict(schema))
    return copy.deepcopy(_class_schema(schema))


@lru_cache(maxsize=64)
def _class_schema(schema: Hashable) -> dict[str, Any]:
    """The schema of a pydantic class, or of a generic such as list[str]; it never changes."""
    adapter: TypeAdapter[object] = TypeAdapter(cast("type[object]", schema))
    return adapter.json_schema()


def _lower_types(node: dict[str, Any]) -> dict[str, Any]:
    """The schema with OpenAPI's upper-case type names in lower case, at every depth."""
    return {key: _lowered(key, value) for key, value in node.items()}


def _lowered(key: str, value: object) -> object:
    if key == "type" and isinstance(value, str):
        return value.lower()
    if key == "type" and isinstance(value, list):
        return [item.lower() if isinstance(item, str) else item for item in value]
    if key in {"properties", "$defs", "definitions"} and isinstance(value, Mapping):
        # Names are the author's: a field called 'type' is no type.
        return {name: _sub(item) for name, item in value.items()}
    if key in {"items", "additionalProperties"}:
        return _sub(value)
    if key in {"anyOf", "oneOf", "allOf", "any_of"} and isinstance(value, list):
        return [_sub(item) for item in value]
    return value


def _sub(value: object) -> object:
    return _lower_types(dict(value)) if isinstance(value, Mapping) else value

"""The smallest valid value of a JSON schema, for schemas that are none of the five roles'."""

from collections.abc import Mapping
from typing import Any

_MAX_DEPTH = 12
_BLANK: dict[str, object] = {
    "string": "",
    "integer": 0,
    "number": 0,
    "boolean": False,
    "array": [],
    "object": {},
    "null": None,
}


def least_value(schema: Mapping[str, Any]) -> object:
    """A value with required fields only, each as small as its schema allows."""
    return _value(schema, schema, _MAX_DEPTH)


def _value(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> object:
    schema = _resolved(schema, root)
    if "default" in schema:
        return schema["default"]
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key) and depth:
            return _value(schema[key][0], root, depth - 1)
    kind = schema.get("type")
    name = (
        next((item for item in kind if item != "null"), "null") if isinstance(kind, list) else kind
    )
    if name == "object" or "properties" in schema:
        return _object(schema, root, depth)
    if name == "array" and schema.get("minItems") and depth:
        return [_value(schema.get("items") or {}, root, depth - 1)] * int(schema["minItems"])
    if name == "string":
        return "-" * int(schema.get("minLength") or 0)
    if name in {"integer", "number"}:
        return schema.get("minimum", 0)
    return _BLANK.get(str(name), "")


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> dict[str, object]:
    if not depth:
        return {}
    properties: Mapping[str, Any] = schema.get("properties") or {}
    required = schema.get("required") or []
    return {
        name: _value(properties.get(name) or {}, root, depth - 1)
        for name in required
        if isinstance(name, str)
    }


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a local '$ref' points to; an empty schema when it points nowhere."""
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    node: object = root
    for step in reference.removeprefix("#/").split("/"):
        node = node.get(step) if isinstance(node, Mapping) else None
    return node if isinstance(node, Mapping) else {}

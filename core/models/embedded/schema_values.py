"""The smallest valid value of a JSON schema, for schemas that are none of the five roles'."""

from collections.abc import Mapping
from typing import Any

_MAX_DEPTH = 12
_MAX_ITEMS = 256
_MAX_CHARS = 4_096
_CHOICES = ("anyOf", "oneOf", "allOf")
_BLANK: dict[str, object] = {"boolean": False, "array": [], "null": None}


def least_value(schema: Mapping[str, Any]) -> object:
    """A value with required fields only, each as small as its schema allows."""
    return _value(schema, schema, _MAX_DEPTH)


def _value(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> object:
    schema = _resolved(schema, root)
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    choices = next((schema[key] for key in _CHOICES if schema.get(key)), None)
    if schema.get("enum"):
        return schema["enum"][0]
    if choices and depth:
        return _value(choices[0], root, depth - 1)
    return _of_type(schema, root, depth)


def _of_type(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> object:
    match _type(schema):
        case "object":
            return _object(schema, root, depth)
        case "array" if schema.get("minItems") and depth:
            item = _value(schema.get("items") or {}, root, depth - 1)
            return [item] * min(int(schema["minItems"]), _MAX_ITEMS)
        case "string":
            return "-" * min(int(schema.get("minLength") or 0), _MAX_CHARS)
        case "integer" | "number":
            return schema.get("minimum", 0)
        case other:
            return _BLANK.get(other, "")


def _type(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type") or ("object" if "properties" in schema else "string")
    if isinstance(kind, list):
        return next((str(item) for item in kind if item != "null"), "null")
    return str(kind)


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

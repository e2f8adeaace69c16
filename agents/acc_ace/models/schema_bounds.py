"""Bound every text and list of a JSON schema, for models that may write without end."""

from typing import Any

Json = dict[str, Any]


def bounded_schema(schema: Json, *, text_chars: int, item_chars: int, items: int) -> Json:
    """The schema with `maxLength` on each text and `maxItems` on each list that has none.

    Texts within lists get `item_chars`, others `text_chars`. A bound that is stricter stays.
    """
    texts = {"text": text_chars, "item": item_chars, "items": items}
    return _bounded(schema, texts, within="text")


def _bounded(node: Json, bounds: dict[str, int], *, within: str) -> Json:
    found = {key: _value(key, value, bounds, within) for key, value in node.items()}
    if node.get("type") == "string" and "enum" not in node:
        found["maxLength"] = min(node.get("maxLength", bounds[within]), bounds[within])
    if node.get("type") == "array":
        found["maxItems"] = min(node.get("maxItems", bounds["items"]), bounds["items"])
    return found


def _value(key: str, value: object, bounds: dict[str, int], within: str) -> object:
    if key == "properties" and isinstance(value, dict):
        return {name: _bounded(item, bounds, within=within) for name, item in value.items()}
    if key == "$defs" and isinstance(value, dict):
        # Definitions stand for the items of lists in our schemas.
        return {name: _bounded(item, bounds, within="item") for name, item in value.items()}
    if key == "items" and isinstance(value, dict):
        return _bounded(value, bounds, within="item")
    if key == "anyOf" and isinstance(value, list):
        return [_bounded(item, bounds, within=within) for item in value]
    return value

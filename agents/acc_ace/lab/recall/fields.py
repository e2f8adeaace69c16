"""Read the fields of a data file, so that one of another kind is named."""

from collections.abc import Mapping
from typing import Any


def text_in(item: Mapping[str, Any], name: str) -> str:
    """The text of a field.

    Raises KeyError when there is none, TypeError for something else, ValueError for a text that
    no store can keep: half of a surrogate pair is no character.
    """
    value = item[name]
    if not isinstance(value, str):
        raise TypeError(f"{name!r} is no text but {type(value).__name__}")
    value.encode()
    return value

"""What values hold, and how JSON writes those that hold nothing."""

import dataclasses
import inspect
import math
from collections import deque
from collections.abc import Collection, ItemsView, KeysView, ValuesView
from enum import Enum
from types import GeneratorType, SimpleNamespace
from typing import Any, Final

from pydantic import PlainSerializer, RootModel, WrapSerializer
from pydantic_core import from_json, to_json, to_jsonable_python

_MOST_BITS: Final = 14_000
"""Of an integer: Python and Pydantic read no number of more than 4,300 digits."""

_MOST_SAID: Final = 1_000
"""Characters of what an object says of itself."""

_TOO_LONG: Final = "(a number too long to be kept)"

_WRITTEN: Final = (dict, list, tuple, set, frozenset)
_UNWRITTEN: Final = (deque, KeysView, ValuesView, ItemsView)
"""Lists that JSON has no form for until they are one."""

_NOTHING: Final = object()


def held_by(value: Any) -> Collection[Any] | None:  # noqa: ANN401
    """What a list or an object holds, a dictionary by name; None for what is neither."""
    if value is None or isinstance(value, str | int | float):
        return None
    if isinstance(value, _WRITTEN):
        return value
    if isinstance(value, _UNWRITTEN):
        return list(value)
    if isinstance(value, Enum):
        return held_by(value.value)
    if _writes_itself(type(value)):
        return held_by(_own_form(value))
    return _fields(value)


def has_form(value: Any) -> bool:  # noqa: ANN401
    """Whether JSON can write it, apart from what it holds, and its readers can read it."""
    if value is None or isinstance(value, (str, bytes, bytearray, *_WRITTEN)):
        return True
    if isinstance(value, int):
        return value.bit_length() <= _MOST_BITS
    if isinstance(value, float):
        return math.isfinite(value)
    kind = type(value)
    if (_is_model(kind) or dataclasses.is_dataclass(kind)) and not _writes_itself(kind):
        return True
    return _own_form(value) is not _NOTHING


def is_name(key: Any) -> bool:  # noqa: ANN401
    """Whether JSON can write this key of a dictionary; it must hold nothing without end."""
    return _own_form({key: None}) is not _NOTHING


def named(value: Any) -> str:  # noqa: ANN401
    """What an object says of itself, or the name of its class when it fails to say it.

    Also the name when it would say all that it holds, which may have no end.
    """
    if isinstance(value, int):
        return _TOO_LONG
    name = f"(a {type(value).__name__})"
    if held_by(value) is not None or _is_generated(type(value)):
        return name
    try:
        return str(value)[:_MOST_SAID]
    except Exception:  # noqa: BLE001 - code of somebody's class, which may raise anything
        return name


def _fields(value: Any) -> dict[str, Any] | None:  # noqa: ANN401
    kind = type(value)
    if isinstance(value, SimpleNamespace):
        return vars(value)
    if _is_model(kind):
        names = [name for name, field in kind.__pydantic_fields__.items() if not field.exclude]
    elif dataclasses.is_dataclass(kind):
        names = [field.name for field in dataclasses.fields(kind)]
    else:
        return None
    held = {name: getattr(value, name, _NOTHING) for name in names}
    more = getattr(value, "__pydantic_extra__", None) or {}
    return {name: item for name, item in held.items() if item is not _NOTHING} | more


def _is_model(kind: Any) -> bool:  # noqa: ANN401
    """Whether it is a model of Pydantic's, or a dataclass that it checks."""
    return hasattr(kind, "__pydantic_fields__")


def _writes_itself(kind: Any) -> bool:  # noqa: ANN401
    """Whether what a model writes is not what its fields hold: one may be hidden."""
    if not _is_model(kind):
        return False
    own = kind.__pydantic_decorators__
    return (
        issubclass(kind, RootModel)
        or bool(own.field_serializers or own.model_serializers or own.computed_fields)
        or any(
            isinstance(mark, PlainSerializer | WrapSerializer)
            for field in kind.__pydantic_fields__.values()
            for mark in field.metadata
        )
    )


def _own_form(value: Any) -> Any:  # noqa: ANN401
    """What Pydantic writes of a value; `_NOTHING` when it cannot be written and read again."""
    if isinstance(value, GeneratorType):
        # Writing it would use it up.
        return _NOTHING
    try:
        if _is_model(type(value)):
            # With the numbers that JSON refuses: to_json hides them, and ADK's state does not.
            return to_jsonable_python(value, bytes_mode="base64", by_alias=False)
        return from_json(to_json(value, bytes_mode="base64"), allow_inf_nan=False)
    except Exception:  # noqa: BLE001 - code of somebody's class, which may raise anything
        return _NOTHING


def _is_generated(kind: Any) -> bool:  # noqa: ANN401
    """Whether `repr` of the class was written by a decorator: it says all fields, and theirs."""
    code = getattr(inspect.unwrap(kind.__repr__), "__code__", None)
    is_used = kind.__str__ is object.__str__
    return is_used and code is not None and code.co_filename.startswith("<")

"""What values hold, and how JSON writes those that hold nothing."""

import dataclasses
import inspect
import math
from collections import ChainMap, UserDict, UserList, deque
from collections.abc import Collection, ItemsView, Iterable, Iterator, KeysView, ValuesView
from enum import Enum
from types import MappingProxyType, SimpleNamespace
from typing import Any, Final

from pydantic_core import from_json, to_json, to_jsonable_python

from core.domain.plain_text import encodable

MOST_REPEATED: Final = 100_000
"""Values that are written once more because their list or object stands in several places."""

NOTHING: Final = object()
"""Instead of a form, where there is none."""

_MOST_BITS: Final = 14_000
"""Of an integer: Python and Pydantic read no number of more than 4,300 digits."""

_MOST_SAID: Final = 1_000
"""Characters of what an object says of itself."""

_TOO_LONG: Final = "(a number too long to be kept)"

_LEAVES: Final = (str, int, float, type(None))
_COMMON: Final = frozenset((*_LEAVES, bool, dict, list))
_WRITTEN_LISTS: Final = (list, tuple, set, frozenset)
_WRITTEN: Final = (dict, *_WRITTEN_LISTS)
_UNWRITTEN: Final = (deque, UserList, KeysView, ValuesView, ItemsView)
"""Lists that JSON has no form for until they are one."""
_UNWRITTEN_MAPS: Final = (UserDict, ChainMap, MappingProxyType)
"""And dictionaries."""
_HOLDERS: Final = (*_WRITTEN, *_UNWRITTEN, *_UNWRITTEN_MAPS)

# Types are asked, never `isinstance`: it runs code of an object that poses as another.


class Repeats:
    """Bounds what a walk meets again; what it meets once is bounded by the memory it takes."""

    def __init__(self) -> None:
        # The parts themselves are held, lest another be taken for one that is gone.
        self._seen: dict[int, Any] = {}
        self._left = MOST_REPEATED

    def allows(self, part: Any, held: Collection[Any]) -> bool:  # noqa: ANN401
        """Whether the walk may go on into what this list or object holds."""
        if id(part) in self._seen:
            self._left -= len(held)
        self._seen[id(part)] = part
        return self._left >= 0


def held_by(value: Any) -> Collection[Any] | None:  # noqa: ANN401
    """What a list or an object holds, a dictionary by name.

    None for what is neither, or does not tell what it holds.
    """
    kind = type(value)
    if kind in _WRITTEN:
        held: Collection[Any] = value
        return held
    if issubclass(kind, _LEAVES):
        return None
    try:
        return _held(kind, value)
    except Exception:  # noqa: BLE001 - code of somebody's class: it may ask a closed database
        return None


def items(held: Collection[Any]) -> Iterable[Any]:
    """The values of what `held_by` told."""
    return held.values() if isinstance(held, dict) else held


def is_model(value: Any) -> bool:  # noqa: ANN401
    """Whether it is a model of Pydantic's, or a dataclass that it checks."""
    kind = type(value)
    return kind not in _COMMON and _has(kind, "__pydantic_fields__")


def is_used_up(value: Any) -> bool:  # noqa: ANN401
    """Whether writing it would use it up, as it does a generator."""
    return issubclass(type(value), Iterator)


def is_text(value: Any) -> bool:  # noqa: ANN401
    """Whether it is a text that UTF-8 can hold."""
    if not issubclass(type(value), str):
        return False
    return value.isascii() or bool(encodable(value) == value)


def has_form(value: Any) -> bool:  # noqa: ANN401, PLR0911
    """Whether JSON can write it, apart from what it holds, and its readers can read it.

    Not of a model: what Pydantic writes of it is to be asked.
    """
    kind = type(value)
    if value is None or issubclass(kind, _WRITTEN):
        return True
    if issubclass(kind, str):
        return is_text(value)
    if issubclass(kind, (bytes, bytearray)):
        # ADK writes them in one way in an event and in another in the state, or not at all.
        return False
    if issubclass(kind, int):
        return bool(value.bit_length() <= _MOST_BITS)
    if issubclass(kind, float):
        return math.isfinite(value)
    if _has(kind, "__dataclass_fields__"):
        return held_by(value) is not None
    return _own_form(value) is not NOTHING


def form_of(value: Any) -> Any:  # noqa: ANN401
    """What JSON holds of a value that holds nothing: null or text where it cannot write it."""
    kind = type(value)
    if issubclass(kind, str):
        return value if is_text(value) else encodable(value)
    if issubclass(kind, (bytes, bytearray)):
        return to_jsonable_python(value, bytes_mode="base64")
    if not has_form(value):
        return None if issubclass(kind, float) else named(value)
    return value if issubclass(kind, _LEAVES) else _own_form(value)


def written_name(key: Any) -> str | None:  # noqa: ANN401
    """What JSON writes of a key that holds nothing without end; None when it cannot."""
    form = _own_form({key: None})
    return None if form is NOTHING else str(next(iter(form)))


def named(value: Any) -> str:  # noqa: ANN401
    """What an object says of itself, or the name of its class when it fails to say it.

    Also the name when it would say all that it holds, which may have no end or be hidden.
    """
    kind = type(value)
    if issubclass(kind, int):
        return _TOO_LONG
    name = encodable(f"(a {kind.__name__})")
    if issubclass(kind, _HOLDERS) or _has(kind, "__dataclass_fields__"):
        return name
    if held_by(value) is not None or _is_generated(kind):
        return name
    try:
        if issubclass(kind, BaseException) and any(held_by(arg) is not None for arg in value.args):
            return name
        return encodable(str(value)[:_MOST_SAID])
    except Exception:  # noqa: BLE001 - code of somebody's class, which may raise anything
        return name


def _held(kind: Any, value: Any) -> Collection[Any] | None:  # noqa: ANN401
    if issubclass(kind, dict):
        # As Pydantic reads it, whatever the class says that it holds.
        return dict(dict.items(value))
    for plain in _WRITTEN_LISTS:
        if issubclass(kind, plain):
            return list(plain.__iter__(value))
    if issubclass(kind, _UNWRITTEN):
        return list(value)
    if issubclass(kind, _UNWRITTEN_MAPS):
        return dict(value)
    if issubclass(kind, Enum):
        # What Pydantic writes of a model is its own form.
        return None if is_model(value.value) else held_by(value.value)
    return _fields(kind, value)


def _fields(kind: Any, value: Any) -> dict[str, Any] | None:  # noqa: ANN401
    """The fields of an object; None of one that has none."""
    if issubclass(kind, SimpleNamespace):
        return dict(vars(value))
    if is_model(value):
        names = [name for name, field in kind.__pydantic_fields__.items() if not field.exclude]
    elif _has(kind, "__dataclass_fields__"):
        names = [field.name for field in dataclasses.fields(kind)]
    else:
        return None
    held = {name: getattr(value, name, NOTHING) for name in names}
    # A class may answer whatever it is asked for; only a model has more.
    more = getattr(value, "__pydantic_extra__", None) if is_model(value) else None
    return {name: item for name, item in held.items() if item is not NOTHING} | (more or {})


def _has(kind: type, mark: str) -> bool:
    # Not `hasattr`: a class may say that it has anything, or raise.
    return any(mark in vars(base) for base in kind.__mro__)


def _own_form(value: Any) -> Any:  # noqa: ANN401
    """What Pydantic writes of a value; `NOTHING` when it cannot be written and read again."""
    if is_used_up(value):
        return NOTHING
    try:
        return from_json(to_json(value), allow_inf_nan=False)
    except Exception:  # noqa: BLE001 - code of somebody's class, which may raise anything
        return NOTHING


def _is_generated(kind: Any) -> bool:  # noqa: ANN401
    """Whether `repr` of the class was written by a decorator: it says all fields, and theirs."""
    code = getattr(inspect.unwrap(kind.__repr__), "__code__", None)
    is_used = kind.__str__ is object.__str__
    return is_used and code is not None and code.co_filename.startswith("<")

"""Add to and take from arrays in a JSON text, and leave every other byte as it is."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

_DECODER: Final = json.JSONDecoder()
_INDENT: Final = "  "


class Item(NamedTuple):
    """A member or an element: its key ('' in an array), where it begins, its value and its end."""

    key: str
    start: int
    at: int
    end: int
    value: Any


def items_of(text: str, at: int) -> list[Item]:
    """What the object or array that begins at `at` of a valid JSON text holds."""
    return list(_items(text, at))


def added(text: str, path: tuple[str, str], value: object) -> str:
    """The text with a value at the end of the array at `path`, which is made if it is missing."""
    outer = _blank(text, 0)
    group = _member(text, outer, path[0])
    if group is None:
        return _inserted(text, outer, 1, path[0], {path[1]: [value]})
    array = _member(text, group.at, path[1])
    if array is None:
        return _inserted(text, group.at, 2, path[1], [value])
    return _inserted(text, array.at, 3, "", value)


def removed(text: str, path: tuple[str, str], is_ours: Callable[[Any], bool]) -> str:
    """The text without such elements of the array at `path`, nor what is empty without them."""
    outer = _blank(text, 0)
    group = _member(text, outer, path[0])
    array = _member(text, group.at, path[1]) if group and isinstance(group.value, dict) else None
    if group is None or array is None or not isinstance(array.value, list):
        return text
    ours = [item for item in items_of(text, array.at) if is_ours(item.value)]
    if not ours:
        return text
    if len(ours) < len(array.value):
        for item in reversed(ours):
            text = _without(text, array.at, item)
        return text
    if len(group.value) > 1:
        return _without(text, group.at, array)
    return _without(text, outer, group)


def _items(text: str, at: int) -> Iterator[Item]:
    is_object = text[at] == "{"
    at = _blank(text, at + 1)
    while text[at] not in "}]":
        start, key = at, ""
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _blank(text, _blank(text, at) + 1)
        value, end = _DECODER.raw_decode(text, at)
        yield Item(key, start, at, end, value)
        at = _blank(text, end)
        at = _blank(text, at + 1) if text[at] == "," else at


def _member(text: str, at: int, key: str) -> Item | None:
    # Of a name that stands twice, readers take the last.
    return next((item for item in reversed(items_of(text, at)) if item.key == key), None)


def _inserted(text: str, at: int, depth: int, name: str, value: object) -> str:
    line = "\r\n" if "\r\n" in text else "\n"
    indent = re.search(r"\n([ \t]+)\S", text)
    unit = indent[1] if indent else _INDENT
    inner = (f'"{name}": ' if name else "") + json.dumps(value, indent=unit, ensure_ascii=False)
    inner = (line + unit * depth).join(["", *inner.split("\n")])
    items = items_of(text, at)
    if items:
        return f"{text[: items[-1].end]},{inner}{text[items[-1].end :]}"
    end = "" if re.match(r"\s*\n", text[at + 1 :]) else line + unit * (depth - 1)
    return f"{text[: at + 1]}{inner}{end}{text[at + 1 :]}"


def _without(text: str, at: int, item: Item) -> str:
    items = items_of(text, at)
    place = [each.start for each in items].index(item.start)
    if place:
        return text[: items[place - 1].end] + text[item.end :]
    if len(items) > 1:
        return text[: item.start] + text[items[1].start :]
    return text[: at + 1] + text[_blank(text, item.end) :]


def _blank(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at

"""Read a model's reply as a value of its class: lenient on form, strict on content.

The class alone drives the reading. What is plain is mended: names and choices in another spelling,
one for several, a text for a list, objects for a text. An entry of a list that stays unreadable is
set apart in the reply's `unreadable`; anything else unreadable fails the reply, by its field.
"""

import json
import math
import re
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from functools import lru_cache
from operator import itemgetter
from types import UnionType
from typing import Final, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from acc_ace.core.schemas.base import NO_HINTS, EntryReply, ReplyHints, ReplyValue
from acc_ace.core.text.normalize import NUMBER_WORDS, encodable, one_line
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.errors import ModelOutputError

MAX_REPLY_CHARS = 16_000_000
"""A longer reply is refused unread."""

MOST_ITEMS = 4_096
"""Maximum items read of a list; the budgets allow far fewer."""

_SHOWN_CHARS = 500
_OPENING = lazy_pattern(r"""\{\s*(?:["'}]|//|/\*)|\A\s*(?:```\w*\s*)?\{\s*(?:“|[A-Za-z_]\w*\s*:)""")
"""The start of an object; one of curly quotes or bare keys only at the start of the reply."""
_MENDED = lazy_pattern(
    # An unterminated string extends to the end of the text, to avoid quadratic backtracking.
    r'(?P<string>"(?:[^"\\]|\\.)*(?:"|\\?\Z))'
    r"|(?P<quoted>'(?:[^'\\]|\\.)*(?:'|\\?\Z)|[“”](?:[^“”\\]|\\.)*(?:[“”]|\\?\Z))"
    r"|\b(?P<key>[A-Za-z_]\w*)(?=\s*[:：])"
    r"|(?P<name>\b(?:True|False|None|undefined)\b|[：，])"
    r"|//[^\n]*|/\*.*?(?:\*/|\Z)|,(?=\s*[}\]])",
    re.DOTALL,
)
_ESCAPE = lazy_pattern(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})|\\.', re.DOTALL)
"""A valid escape as a whole, or only the backslash of an invalid one."""
_BARE_QUOTE = lazy_pattern(r'(\\.)|(")', re.DOTALL)
_NAMES: Final = {"True": "true", "False": "false", "：": ":", "，": ","}
_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda _: None)
_NOT_LETTERS = lazy_pattern(r"(?:(?![-+]\d)[\W_])+")
"""All but the sign of a number."""
_NUMBER = lazy_pattern(
    r"\s*[x×]?\s*([-+]?(?:\d{1,300}(?:\.\d{0,300})?|\.\d{1,300})(?:e[-+]?\d{1,3})?)\s*(%?)[x×]?\s*"
)
_TRUE: Final = frozenset({"true", "yes", "y", "1", "はい"})
_FALSE: Final = frozenset({"false", "no", "n", "0", "いいえ"})
_NOTHING: Final = (None, "", "none", "None", "null", "nothing", "N/A", "なし", "特になし")
"""What stands in the place of an entry where there is none."""

V = TypeVar("V", bound=BaseModel)


def read_reply(schema: type[V], text: str) -> V:
    """The reply as a value of its class.

    Raises ModelOutputError with a one-line reason: empty, too long, truncated, no JSON object, or
    the field that is missing or cannot be read.
    """
    return read_value(schema, _chosen(schema, _objects_of(text)))


def read_value(schema: type[V], data: Mapping[str, object]) -> V:
    """An object as a value of its class. Raises ModelOutputError as `read_reply`."""
    try:
        return _Reader().reply(schema, data)
    except RecursionError as error:
        raise ModelOutputError("the reply is not JSON: it is nested too deeply") from error


def parse_json_object(text: str) -> dict[str, object]:
    """The longest JSON object in a text, despite code fences, prose, other quotes or none around
    keys, comments, trailing commas and invalid escapes. Raises ModelOutputError as `read_reply`.
    """
    return _objects_of(text)[0]


def _objects_of(text: str) -> list[dict[str, object]]:
    """The top-level objects of a reply, the longest first; at least one."""
    if len(text) > MAX_REPLY_CHARS:
        raise ModelOutputError(
            f"the reply is too long: {len(text)} characters, the maximum is {MAX_REPLY_CHARS}"
        )
    _, _, answer = text.rpartition("</think>")
    if not answer.strip():
        raise ModelOutputError("the reply is empty")
    answer = _unescaped(answer)
    objects = sorted(_objects(answer), key=itemgetter(0), reverse=True)
    if not objects:
        raise ModelOutputError("the reply is not a JSON object")
    # JSON can escape lone surrogates, which no store accepts.
    return [encodable(value) for _, value in objects]


def _unescaped(text: str) -> str:
    """The text inside a reply that is one JSON string, with or without its quotes."""
    bare = text.strip()
    if bare.startswith(('"', '{\\"')):
        with suppress(ValueError):
            inner = _DECODER.decode(bare if bare[0] == '"' else f'"{bare}"')
            return inner if isinstance(inner, str) else text
    return text


def _objects(text: str) -> Iterator[tuple[int, dict[str, object]]]:
    position = 0
    while (opening := _OPENING.search(text, position)) is not None:
        start = text.index("{", opening.start())
        value, end = _decode(text, start)
        yield end - start, value
        position = end


def _decode(text: str, start: int) -> tuple[dict[str, object], int]:
    try:
        return _object_at(text, start)
    except ValueError as error:
        if _ran_out(error, text):
            raise ModelOutputError("the reply is truncated: its JSON is incomplete") from error
    except RecursionError as error:
        raise ModelOutputError("the reply is not JSON: it is nested too deeply") from error
    mended = _MENDED.sub(_mended, text[start:])
    try:
        value, _ = _object_at(mended, 0)
    except (ValueError, RecursionError) as error:
        cut = isinstance(error, ValueError) and _ran_out(error, mended)
        reason = "truncated: its JSON is incomplete" if cut else f"not JSON: {_reason(error)}"
        raise ModelOutputError(f"the reply is {reason}") from error
    # The repair shifted the offsets, so text after the repaired object is not read.
    return value, len(text)


def _mended(match: re.Match[str]) -> str:
    if match["name"]:
        return _NAMES.get(match["name"], "null")
    if match["key"]:
        return f'"{match["key"]}"'
    string = match["string"] or ""
    if match["quoted"]:
        inner = match["quoted"][1:-1].replace("\\'", "'")
        string = f'"{_BARE_QUOTE.sub(lambda part: part[1] or chr(92) + part[2], inner)}"'
    return _ESCAPE.sub(lambda part: "" if part[0] == "\\" else part[0], string)


def _object_at(text: str, start: int) -> tuple[dict[str, object], int]:
    value: dict[str, object]
    value, end = _DECODER.raw_decode(text, start)
    return value, end


def _ran_out(error: ValueError, text: str) -> bool:
    if not isinstance(error, json.JSONDecodeError):
        return False
    return "Unterminated string" in error.msg or error.pos >= len(
        text.rstrip().rstrip("`").rstrip()
    )


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos}"
    return type(error).__name__


class _Field(NamedTuple):
    """How a field is found and read."""

    info: FieldInfo
    names: tuple[str, ...]
    """Its own name and those that models give it, folded."""
    kind: object
    """Its type without None."""
    entry: type[ReplyValue] | None
    """The class of its entries, if it is a list of objects."""


@lru_cache(maxsize=128)
def _fields(schema: type[BaseModel]) -> Mapping[str, _Field]:
    hints = _hints(schema)
    fields = {}
    for name, info in schema.model_fields.items():
        if name == "unreadable":
            continue
        kind = _without_none(info.annotation)
        args = get_args(kind) if get_origin(kind) in {list, tuple} else ()
        entry = args[0] if args and _is_reply(args[0]) else None
        names = tuple(map(_folded, (name, *hints.other_names.get(name, ()))))
        fields[name] = _Field(info, names, kind, entry)
    return fields


def _hints(schema: type[BaseModel]) -> ReplyHints:
    return schema.hints if issubclass(schema, ReplyValue) else NO_HINTS


def _without_none(annotation: object) -> object:
    if get_origin(annotation) in {Union, UnionType}:
        return next(arg for arg in get_args(annotation) if arg is not type(None))
    return annotation


def _is_reply(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, ReplyValue)


def _folded(name: str) -> str:
    return _NOT_LETTERS.sub("", name).casefold()


def _knows(schema: type[BaseModel], value: object) -> bool:
    """Whether an object has a field of the class."""
    names = {name for each in _fields(schema).values() for name in each.names}
    return isinstance(value, dict) and any(_folded(key) in names for key in value)


def _chosen(schema: type[BaseModel], objects: Sequence[dict[str, object]]) -> dict[str, object]:
    """Of the objects in a reply the one that is meant: wrapped, or its entries without it."""
    # An echo of the schema is no value of it.
    values = [value for value in objects if not value.keys() >= {"type", "properties"}]
    for value in _objects_in(values):
        if _knows(schema, value):
            inner = (part for part in value.values() if isinstance(part, dict))
            return dict(ChainMap(value, *(part for part in inner if _knows(schema, part))))
    for name, each in _fields(schema).items():
        if (it := each.entry) and (parts := [v for v in _objects_in(values) if _knows(it, v)]):
            return {name: parts}
    if not all(values):
        return {}
    names = ", ".join(_fields(schema))
    raise ModelOutputError(f"the reply has none of the fields {names}")


def _objects_in(values: Sequence[object]) -> Iterator[dict[str, object]]:
    """The objects in values at every depth, the outer ones first."""
    rest = [*values]
    for value in rest:  # Which grows meanwhile.
        if isinstance(value, dict):
            yield value
            rest += value.values()
        elif isinstance(value, list):
            rest += value


class _Unreadable(Exception):
    """A value that its field cannot take, with the reason."""


class _Reader:
    """Reads one reply and collects its unreadable entries."""

    def __init__(self) -> None:
        self._unreadable: list[str] = []

    def reply(self, schema: type[V], data: Mapping[str, object]) -> V:
        values = self._values(schema, data)
        if self._unreadable and issubclass(schema, EntryReply):
            values["unreadable"] = self._unreadable
        return _validated(schema, values)

    def _values(self, schema: type[BaseModel], data: Mapping[str, object]) -> dict[str, object]:
        """The fields that the data has, as the class takes them."""
        given = {_folded(key): value for key, value in reversed([*data.items()])}
        values: dict[str, object] = {}
        for name, each in _fields(schema).items():
            value = _first(data.get(name), *(given.get(other) for other in each.names))
            if value is None or (value == [] and each.info.is_required()):
                continue
            try:
                values[name] = self._value(schema, name, each, value)
            except _Unreadable as error:
                if each.info.is_required():
                    where = f"{schema.__name__}.{name}"
                    raise ModelOutputError(f"{where}: {error}") from error
        return values

    def _value(self, schema: type[BaseModel], name: str, each: _Field, value: object) -> object:
        if each.entry is not None:
            return self._entries(each.entry, value)
        return _plain(each.kind, value, _hints(schema).meanings.get(name, {}))

    def _entries(self, entry: type[ReplyValue], value: object) -> list[ReplyValue]:
        items = [item for item in _listed(entry, value) if item not in _NOTHING]
        read = [each for item in items[:MOST_ITEMS] if (each := self._entry(entry, item))]
        if len(items) > MOST_ITEMS:
            self._unreadable.append(f"{len(items) - MOST_ITEMS} more entries")
        return read

    def _entry(self, entry: type[ReplyValue], item: object) -> ReplyValue | None:
        hints = entry.hints
        item = _bare_entry(hints, item)
        if isinstance(item, dict) and len(item) == 1:
            [inner] = item.values()
            item = inner if isinstance(inner, dict) else item
        reason = "it is not an object"
        if isinstance(item, dict):
            try:
                values = self._values(entry, item)
                if hints.content and not any(
                    _text(values.get(key)).strip() for key in hints.content
                ):
                    return None  # It says nothing.
                return _validated(entry, values)
            except ModelOutputError as error:
                reason = str(error)
        shown = json.dumps(item, ensure_ascii=False, default=str)[:_SHOWN_CHARS]
        self._unreadable.append(f"{shown}: {reason}")
        return None


def _validated(schema: type[V], values: Mapping[str, object]) -> V:
    try:
        return schema.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "reply"
        raise ModelOutputError(f"{schema.__name__}.{where}: {first['msg']}") from error


def _first(*values: object) -> object:
    """The first value that says something; else the first that is not null."""
    given = [value for value in values if value is not None]
    usable = (value for value in given if not isinstance(value, str) or value.strip())
    return next(usable, given[0] if given else None)


def _listed(entry: type[ReplyValue], value: object) -> Sequence[object]:
    """Entries as a list: one without its list, a map by key, or all of it as a text."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
    if isinstance(value, list):
        return value
    hints = entry.hints
    if not isinstance(value, dict) or _knows(entry, value) or not hints.key:
        return [value]
    is_numbered = hints.number and all(name.strip("⟦⟧[] ").isdecimal() for name in value)
    key = hints.number if is_numbered else hints.key
    return [
        {key: name, **(each if isinstance(each := _bare_entry(hints, item), dict) else {})}
        for name, items in value.items()
        for item in (items if isinstance(items, list) else [items])
    ]


def _bare_entry(hints: ReplyHints, item: object) -> object:
    """An entry that was written as a text or as a number, as an object."""
    is_number = isinstance(item, int) or (isinstance(item, str) and item.strip().isdecimal())
    name = hints.number if is_number and hints.number else hints.bare
    return {name: item} if name and isinstance(item, str | int) else item


def _plain(kind: object, value: object, meanings: Mapping[str, object]) -> object:
    """A value of a plain type. Raises _Unreadable."""
    if meanings and (word := _folded(_text(value))) in meanings:
        return meanings[word]
    if get_origin(kind) is Literal:
        return _choice(get_args(kind), value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _choice([member.value for member in kind], value)
    return _READERS.get(kind, _texts)(value)


def _text(value: object) -> str:
    """A value as text: of lists and objects all that they hold, in order."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return "; ".join(filter(str.strip, map(_text, value[:MOST_ITEMS])))
    return json.dumps(value, default=str)


def _texts(value: object) -> list[str]:
    """A value as a list of texts: an object is one of 'key:value' pairs."""
    if isinstance(value, dict):
        value = [f"{key}:{_text(item)}" for key, item in value.items()]
    items = value if isinstance(value, list) else [value]
    return [text for text in map(_item, items[:MOST_ITEMS]) if text.strip()]


def _item(value: object) -> str:
    """An item of a list as text; an object of two values is 'one:other', as entities are."""
    if isinstance(value, dict) and len(value) == 2:
        return ":".join(map(_text, value.values()))
    return _text(value)


def _truth(value: object) -> bool:
    word = _folded(_text(value))
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise _Unreadable("it is neither true nor false")


def _number(value: object) -> float:
    match = _NUMBER.fullmatch(str(NUMBER_WORDS.get(text := _text(value).casefold(), text)))
    number = float(match[1]) / (100 if match[2] else 1) if match else math.nan
    if not math.isfinite(number):
        raise _Unreadable("it is not a number")
    return number


_READERS: Final[Mapping[object, Callable[[object], object]]] = {
    str: _text,
    bool: _truth,
    float: _number,
    int: lambda value: round(_number(value)),
}
"""Readers of plain types; any other is a list of texts."""


def _choice(options: Sequence[str], value: object) -> object:
    """The one option that a value names, in any case and with words around it."""
    words = _NOT_LETTERS.sub(" ", _text(value)).casefold().split()
    named = [each for each in options if any(word.startswith(each.casefold()) for word in words)]
    if len(named) == 1 and not {"not", "no", "non"} & set(words):
        return named[0]
    raise _Unreadable(f"'{one_line(_text(value))[:40]}' is not one of {', '.join(options)}")

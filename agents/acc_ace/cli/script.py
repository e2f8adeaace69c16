"""Scripts: inputs played in order from a text file, a YAML file or standard input.

Text: one input per line; blank lines and lines that start with '#' are ignored, and '\\#' starts
an input with '#'. YAML or JSON: a list of inputs, or a mapping `{turns: [...], documents: [...]}`
where a turn is a string or `{input, authority, id, attachments}`, an attachment is
`{text, source}`, and a document is `{content, id, source}`. Slash commands work as inputs too.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.interaction import Attachment
from acc_ace.errors import InputError

STDIN = "-"
MAX_BYTES = 64 * 1024 * 1024
"""Maximum size of a script."""

MAX_DEPTH = 32
"""Maximum nesting of a YAML script; a valid script needs three levels."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's safe loader if available: ten times as fast."""

_ALLOWED = (Authority.USER, Authority.TOOL, Authority.RETRIEVED)


@dataclass(frozen=True)
class ScriptedTurn:
    """One input and its place in the script."""

    input: str
    authority: Authority = Authority.USER
    place: str = ""
    id: str = ""
    """Idempotency key: replaying the script does not run the turn again."""
    attachments: tuple[Attachment, ...] = ()


class ScriptedDocument(BaseModel):
    """A document added to external memory before the first turn."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    content: str = Field(min_length=1)
    id: str | None = None
    source: str = "script"


@dataclass(frozen=True)
class Script:
    """A parsed script. `turns` can be iterated once; standard input is read lazily."""

    turns: Iterable[ScriptedTurn]
    documents: tuple[ScriptedDocument, ...] = ()


class _Attachment(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str
    source: str = ""


class _ScriptTurn(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    input: str
    authority: Authority = Authority.USER
    id: str = Field(default="", max_length=256)
    attachments: tuple[_Attachment, ...] = ()
    expect: Any = None


class _Mapping(BaseModel):
    """A YAML script; keys of type Any are metadata for readers and tests."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    turns: list[str | _ScriptTurn]
    documents: list[ScriptedDocument] = Field(default_factory=list)
    name: Any = None
    language: Any = None
    description: Any = None
    promises: Any = None
    acts: Any = None
    invariants: Any = None


def load_script(source: str, *, stdin: TextIO) -> Script:
    """Load a script from a file, or from standard input for '-'.

    Raises InputError, naming file and place, for a file that is unreadable, too large, not UTF-8
    or not of the form above.
    """
    if source == STDIN:
        return Script(turns=_from_lines(stdin, name="standard input"))
    text = _read(Path(source))
    if Path(source).suffix.lower() in {".yaml", ".yml", ".json"}:
        return _from_yaml(text, name=source)
    return Script(turns=tuple(_from_lines(text.split("\n"), name=source)))


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"script {path} is larger than {MAX_BYTES:,} bytes; split it")
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"script {path} does not exist; check the path") from error
    except OSError as error:
        raise InputError(f"script {path} cannot be read: {error.strerror}") from error
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"script {path} is not UTF-8 (byte {error.start:,}); save it as UTF-8 text"
        ) from error
    if "\0" in text:
        raise InputError(f"script {path} is a binary file; a text or YAML file is expected")
    return text


def _from_lines(lines: Iterable[str], *, name: str) -> Iterator[ScriptedTurn]:
    for number, raw in enumerate(lines, start=1):
        place = f"{name}, line {number}"
        line = raw.removeprefix("\ufeff").strip()
        if any("\ud800" <= character <= "\udfff" for character in line):
            raise InputError(f"{place} is not UTF-8; send UTF-8 text")
        if line and not line.startswith("#"):
            yield ScriptedTurn(line.removeprefix("\\") if line[:2] == "\\#" else line, place=place)


def _from_yaml(text: str, *, name: str) -> Script:
    try:
        _refuse_deep_nesting(text, name)
        value = yaml.load(text, Loader=_LOADER)  # noqa: S506 — a safe loader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "it cannot be parsed"
        raise InputError(f"script {name}{place} is not YAML: {problem}") from error
    if isinstance(value, list):
        value = {"turns": value}
    if not isinstance(value, dict):
        raise InputError(f"script {name}: a list of inputs, or a mapping with 'turns', is expected")
    try:
        mapping = _Mapping.model_validate(value)
    except ValidationError as error:
        raise InputError(f"script {name}: {_problem(error)}") from error
    turns = tuple(
        _turn(item, f"{name}, turn {number}") for number, item in enumerate(mapping.turns, start=1)
    )
    return Script(turns=turns, documents=tuple(mapping.documents))


def _refuse_deep_nesting(text: str, name: str) -> None:
    """Raise InputError for deep nesting: loaders recurse, and libyaml's crashes the process."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise InputError(f"script {name} nests deeper than {MAX_DEPTH} levels")


def _turn(item: str | _ScriptTurn, place: str) -> ScriptedTurn:
    turn = _ScriptTurn(input=item) if isinstance(item, str) else item
    if turn.authority not in _ALLOWED:
        allowed = ", ".join(_ALLOWED)
        raise InputError(f"script {place}: authority '{turn.authority}' is not one of {allowed}")
    given = tuple(Attachment(text=item.text, source=item.source) for item in turn.attachments)
    return ScriptedTurn(turn.input.strip(), turn.authority, place, turn.id, given)


def _problem(error: ValidationError) -> str:
    """The deepest errors only: a union reports one per variant, and they fit the intended one."""
    items = error.errors()
    depth = max(len(item["loc"]) for item in items)
    return "; ".join(
        _complaint(_place(item["loc"]), item["type"], item["msg"])
        for item in items
        if len(item["loc"]) == depth
    )


def _place(loc: tuple[int | str, ...]) -> str:
    """'turns.3.authority': counted from one, without internal class names."""
    parts = [str(part + 1) if isinstance(part, int) else part for part in loc]
    return ".".join(part for part in parts if part not in {"str", _ScriptTurn.__name__})


def _complaint(place: str, kind: str, message: str) -> str:
    if kind == "extra_forbidden":
        return f"{place} is not a known key"
    return (
        f"{place}: {message}; put quotes around it"
        if kind == "string_type"
        else (f"{place}: {message}")
    )

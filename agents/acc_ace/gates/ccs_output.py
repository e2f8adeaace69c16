"""Read a model's reply as JSON, and as a CCS: tolerant of wrapping, strict about content."""

import json
import re
from collections.abc import Iterator

from pydantic import ValidationError

from acc_ace.errors import ModelOutputError
from acc_ace.schemas.ccs import CompressedCognitiveState
from acc_ace.schemas.commit import CompressorReply, RuleChange
from acc_ace.text.normalize import encodable, one_line
from acc_ace.text.patterns import lazy_pattern

MAX_REPLY_CHARS = 16_000_000
"""A longer reply is refused unread."""

_OPENING = lazy_pattern(r'\{\s*["}]')
_STRING_OR_TRAILING_COMMA = lazy_pattern(
    # A string that never ends goes to the end of the text, lest each quote in it be tried.
    r'("(?:[^"\\]|\\.)*(?:"|\\?\Z))|,(?=\s*[}\]])',
    re.DOTALL,
)
_ESCAPE = lazy_pattern(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})|\\.', re.DOTALL)
"""An escape, whole; of one that JSON does not know, its backslash alone."""
_DECODER = json.JSONDecoder(strict=False)

_TEXT_FIELDS = ("episodic_trace", "semantic_gist", "goal_orientation", "uncertainty_signal")
_LIST_FIELDS = ("focal_entities", "constraints")
_OPTIONAL_LIST_FIELDS = ("relational_map", "retrieved_artifacts")
_MAX_ITEMS = 4_096
"""Items of a list that are read; the budgets keep far fewer."""


def parse_json_object(text: str) -> dict[str, object]:
    """The JSON object in a reply, through code fences, prose around it, trailing commas and
    unknown escapes.

    Of several objects in a row the longest is taken. Raises ModelOutputError with a one-line
    reason: empty, too long, truncated, or not a JSON object.
    """
    if len(text) > MAX_REPLY_CHARS:
        raise ModelOutputError(
            f"the reply is too long: {len(text)} characters, at most {MAX_REPLY_CHARS} are read"
        )
    if not text.strip():
        raise ModelOutputError("the reply is empty")
    best = max(_objects(text), key=lambda found: found[0], default=None)
    if best is None:
        raise ModelOutputError("the reply is not a JSON object")
    # JSON can escape half a character, which no store takes.
    return encodable(best[1])


def parse_ccs(text: str) -> CompressedCognitiveState:
    """The nine fields in a reply.

    Missing optional fields, null lists and texts, and a text where a list belongs are mended.
    Raises ModelOutputError that names the reason, and the field when one is missing or wrong.
    """
    data = parse_json_object(text)
    fields: dict[str, object] = {name: _text(data, name) for name in _TEXT_FIELDS}
    fields |= {name: _items(data, name) for name in _LIST_FIELDS}
    fields |= {name: _items({name: [], **data}, name) for name in _OPTIONAL_LIST_FIELDS}
    fields["predictive_cue"] = _text({"predictive_cue": None, **data}, "predictive_cue") or None
    return CompressedCognitiveState.model_validate(fields)


MAX_RULE_CHANGES = 1_000
"""Proposals of a reply that are read; the gate looks at far fewer."""


def parse_compressor_reply(text: str) -> CompressorReply:
    """The nine fields and the proposed rule changes in a reply.

    Fields are mended as `parse_ccs` says. A proposal that is not of the schema is left out: it
    must not cost the state. Raises ModelOutputError as `parse_ccs`.
    """
    ccs = parse_ccs(text)
    proposed = parse_json_object(text).get("rule_changes")
    items = proposed[:MAX_RULE_CHANGES] if isinstance(proposed, list) else []
    changes = [change for item in items if (change := _rule_change(item)) is not None]
    return CompressorReply(**ccs.model_dump(), rule_changes=changes)


def _rule_change(item: object) -> RuleChange | None:
    try:
        return RuleChange.model_validate(item)
    except ValidationError:
        return None


def _objects(text: str) -> Iterator[tuple[int, dict[str, object]]]:
    """Objects at the top level of the text, each with its length."""
    position = 0
    while (opening := _OPENING.search(text, position)) is not None:
        value, end = _decode(text, opening.start())
        yield end - opening.start(), value
        position = end


def _decode(text: str, start: int) -> tuple[dict[str, object], int]:
    try:
        return _object_at(text, start)
    except ValueError as error:
        if _ran_out(error, text):
            raise ModelOutputError("the reply is truncated: its JSON does not end") from error
    except RecursionError as error:
        raise ModelOutputError("the reply is not JSON: it is nested too deeply") from error
    mended = _STRING_OR_TRAILING_COMMA.sub(
        lambda match: _ESCAPE.sub(_known_escape, match[1] or ""), text[start:]
    )
    try:
        value, _ = _object_at(mended, 0)
    except (ValueError, RecursionError) as error:
        raise ModelOutputError(f"the reply is not JSON: {_reason(error)}") from error
    # Offsets moved with the commas; what follows the mended object is not read.
    return value, len(text)


def _known_escape(match: re.Match[str]) -> str:
    return "" if match[0] == "\\" else match[0]


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


def _text(data: dict[str, object], name: str) -> str:
    value = _present(data, name)
    if value is None:
        return ""
    if isinstance(value, list):
        return "; ".join(filter(None, (_scalar(item, name) for item in value[:_MAX_ITEMS])))
    return _scalar(value, name)


def _items(data: dict[str, object], name: str) -> list[str]:
    value = _present(data, name)
    if value is None:
        return []
    items = value[:_MAX_ITEMS] if isinstance(value, list) else [value]
    return [text for text in (_scalar(item, name) for item in items) if text.strip()]


def _present(data: dict[str, object], name: str) -> object:
    if name not in data:
        raise ModelOutputError(f"the reply is not of the schema: field '{name}' is missing")
    return data[name]


def _scalar(value: object, name: str) -> str:
    """A text or number as text; null is blank."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise ModelOutputError(
        f"the reply is not of the schema: field '{one_line(name)}' holds "
        f"{'an object' if isinstance(value, dict) else 'a list'} where a text belongs"
    )

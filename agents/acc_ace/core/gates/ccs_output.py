"""Parse a model's reply as JSON, and as a CCS: lenient on wrapping, strict on content."""

import json
import re
from collections.abc import Iterator

from pydantic import ValidationError

from acc_ace.core.schemas.ccs import CompressedCognitiveState
from acc_ace.core.schemas.commit import CompressorReply, RuleChange
from acc_ace.core.text.normalize import encodable, one_line
from acc_ace.core.text.patterns import lazy_pattern
from acc_ace.errors import ModelOutputError

MAX_REPLY_CHARS = 16_000_000
"""A longer reply is refused unread."""

_OPENING = lazy_pattern(r'\{\s*["}]')
_STRING_OR_TRAILING_COMMA = lazy_pattern(
    # An unterminated string extends to the end of the text, to avoid quadratic backtracking.
    r'("(?:[^"\\]|\\.)*(?:"|\\?\Z))|,(?=\s*[}\]])',
    re.DOTALL,
)
_ESCAPE = lazy_pattern(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})|\\.', re.DOTALL)
"""A valid escape as a whole, or only the backslash of an invalid one."""
_DECODER = json.JSONDecoder(strict=False)

_TEXT_FIELDS = ("episodic_trace", "semantic_gist", "goal_orientation", "uncertainty_signal")
_LIST_FIELDS = ("focal_entities", "constraints")
_OPTIONAL_LIST_FIELDS = ("relational_map", "retrieved_artifacts")
_MAX_ITEMS = 4_096
"""Maximum items read of a list; the budgets allow far fewer."""


def parse_json_object(text: str) -> dict[str, object]:
    """The JSON object in a reply, despite code fences, surrounding prose, trailing commas and
    invalid escapes.

    Of several objects the longest is used. Raises ModelOutputError with a one-line reason: empty,
    too long, truncated, or not a JSON object.
    """
    if len(text) > MAX_REPLY_CHARS:
        raise ModelOutputError(
            f"the reply is too long: {len(text)} characters, the maximum is {MAX_REPLY_CHARS}"
        )
    if not text.strip():
        raise ModelOutputError("the reply is empty")
    best = max(_objects(text), key=lambda found: found[0], default=None)
    if best is None:
        raise ModelOutputError("the reply is not a JSON object")
    # JSON can escape lone surrogates, which no store accepts.
    return encodable(best[1])


def parse_ccs(text: str) -> CompressedCognitiveState:
    """The nine fields in a reply.

    Repairs missing optional fields, null lists and texts, and a text in place of a list.
    Raises ModelOutputError with the reason, naming the field that is missing or wrong.
    """
    data = parse_json_object(text)
    fields: dict[str, object] = {name: _text(data, name) for name in _TEXT_FIELDS}
    fields |= {name: _items(data, name) for name in _LIST_FIELDS}
    fields |= {name: _items({name: [], **data}, name) for name in _OPTIONAL_LIST_FIELDS}
    fields["predictive_cue"] = _text({"predictive_cue": None, **data}, "predictive_cue") or None
    return CompressedCognitiveState.model_validate(fields)


MAX_RULE_CHANGES = 1_000
"""Maximum proposals read of a reply; the gate uses far fewer."""


def parse_compressor_reply(text: str) -> CompressorReply:
    """The nine fields and the proposed rule changes in a reply.

    Fields are repaired as in `parse_ccs`. Invalid proposals are ignored: they must not cost the
    state. Raises ModelOutputError as `parse_ccs`.
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
    """Top-level objects of the text, each with its length."""
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
            raise ModelOutputError("the reply is truncated: its JSON is incomplete") from error
    except RecursionError as error:
        raise ModelOutputError("the reply is not JSON: it is nested too deeply") from error
    repaired = _STRING_OR_TRAILING_COMMA.sub(
        lambda match: _ESCAPE.sub(_known_escape, match[1] or ""), text[start:]
    )
    try:
        value, _ = _object_at(repaired, 0)
    except (ValueError, RecursionError) as error:
        raise ModelOutputError(f"the reply is not JSON: {_reason(error)}") from error
    # The repair shifted the offsets, so text after the repaired object is not read.
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
        raise ModelOutputError(f"the reply does not match the schema: field '{name}' is missing")
    return data[name]


def _scalar(value: object, name: str) -> str:
    """A text or number as text; null as ''."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    raise ModelOutputError(
        f"the reply does not match the schema: field '{one_line(name)}' has "
        f"{'an object' if isinstance(value, dict) else 'a list'} instead of a text"
    )

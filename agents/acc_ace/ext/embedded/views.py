"""Typed views of a prompt's inputs, coerced from any JSON, so that roles see valid data only."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, TypeVar

from pydantic import AliasChoices, BeforeValidator, Field, ValidationError

from acc_ace.core.gates.ccs_budget import NOTHING
from acc_ace.core.schemas.base import Authority, Value
from acc_ace.core.schemas.ccs import CompressedCognitiveState, empty_ccs
from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.schemas.interaction import Attachment, TurnInput

_MAX_TEXT = 40_000
"""Maximum characters of one text that the engine analyses."""


def text_of(value: object) -> str:
    """A bounded string; '' for anything else."""
    return value[:_MAX_TEXT] if isinstance(value, str) else ""


def texts_of(value: object) -> list[str]:
    """The strings of a list; a single string counts as a list."""
    if isinstance(value, str):
        return [text_of(value)] if value.strip() else []
    return [text_of(item) for item in items_of(value) if isinstance(item, str) and item.strip()]


def items_of(value: object) -> list[object]:
    """A list, or an empty one."""
    return list(value) if isinstance(value, list | tuple) else []


def mapping_of(value: object) -> Mapping[str, object]:
    """A JSON object, or an empty one."""
    return value if isinstance(value, Mapping) else {}


_Text = Annotated[str, BeforeValidator(text_of)]
_Count = Annotated[int, BeforeValidator(lambda value: max(0, _whole(value)))]
_Id = Annotated[str, BeforeValidator(text_of), Field(min_length=1)]


def _whole(value: object) -> int:
    """An integer, or one in ASCII digits; 0 for anything else."""
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) < 10 else 0
    return value if isinstance(value, int) else 0


class ArtifactView(Value):
    """A candidate or qualified artifact in a prompt."""

    id: _Id = Field(validation_alias=AliasChoices("artifact_id", "id"))
    content: _Text = Field(default="", validation_alias=AliasChoices("content", "text"))


class BulletView(Value):
    """A playbook bullet in a prompt."""

    id: _Id
    content: _Text = ""
    section: _Text = ""
    helpful: _Count = 0
    harmful: _Count = 0


@dataclass(frozen=True)
class StateView:
    """A committed state in a prompt."""

    ccs: CompressedCognitiveState
    pins: tuple[ConstraintPin, ...] = ()
    turn: int = 0
    subjects: tuple[str, ...] = ()
    """Of what something is known of the user."""


def turn_input_of(value: object) -> TurnInput:
    """x_t with its authority; an unknown one counts as RETRIEVED, the weakest input."""
    if isinstance(value, str):
        return TurnInput(text=text_of(value))
    fields = mapping_of(value)
    name = text_of(fields.get("authority")) or Authority.USER.value
    known = {item.value: item for item in Authority}
    return TurnInput(
        text=text_of(fields.get("text")),
        authority=known.get(name, Authority.RETRIEVED),
        attachments=tuple(attachments_of(fields.get("attachments"))),
    )


def attachments_of(value: object) -> list[Attachment]:
    """The valid attachments of a list, with bounded texts."""
    given = (
        {**item, "text": text_of(item.get("text"))} for item in map(mapping_of, items_of(value))
    )
    return _valid(Attachment, given)


_PIN = re.compile(r"\[([cu]-\d{1,9})\] (.*)")


def state_of(value: object) -> StateView:
    """A state from lines of `render_ccs` (`acc_ace.core.gates.ccs_budget`), or a part of them."""
    empty = empty_ccs()
    items: dict[str, list[str]] = {}
    name = ""
    for line in text_of(value).splitlines():
        if line.startswith(("- ", "| ")):
            items.get(name, []).append(line[2:])
            continue
        name, _, rest = line.partition(":")
        items[name] = [] if rest.strip() in ("", NOTHING) else [rest.strip()]
    pins = [
        ConstraintPin(id=pin[1], text=pin[2], authority=Authority.USER, origin_turn=0, quote=pin[2])
        for item in items.get("constraints", [])
        if (pin := _PIN.fullmatch(item))
    ]
    fields = {
        field: items.get(field, []) if isinstance(none, list) else "\n".join(items.get(field, []))
        for field, none in empty
    }
    turn = "".join(items.get("turn", []))
    return StateView(
        ccs=empty.model_copy(
            update={
                **fields,
                "constraints": [pin.text for pin in pins],
                "predictive_cue": fields["predictive_cue"] or None,
            }
        ),
        pins=tuple(pins),
        turn=_whole(turn),
        subjects=tuple(each for item in items.get("about_user", []) for each in item.split(", ")),
    )


def evidence_of(value: object) -> list[ArtifactView]:
    """Artifacts of a prompt; those without an id cannot be cited and are left out."""
    return _valid(ArtifactView, items_of(value))


def bullets_of(value: object) -> list[BulletView]:
    """Bullets of a prompt, from a list of objects or the text of `Playbook.as_prompt`."""
    return _valid(BulletView, _bullets_in(value) if isinstance(value, str) else items_of(value))


_V = TypeVar("_V", bound=Value)


def _valid(kind: type[_V], values: Iterable[object]) -> list[_V]:
    views = []
    for value in values:
        try:
            views.append(kind.model_validate(value))
        except ValidationError:
            continue
    return views


def _bullets_in(text: str) -> Iterable[Mapping[str, object]]:
    """Parse lines such as '[b-00001] helpful=2 harmful=0 :: content' under '## section'."""
    section = ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:].strip()
            continue
        head, separator, content = line.partition(" :: ")
        name, _, counts = head.partition("] ")
        if separator and name.startswith("["):
            tags = dict(item.partition("=")[::2] for item in counts.split())
            yield {**tags, "id": name[1:], "content": content, "section": section}

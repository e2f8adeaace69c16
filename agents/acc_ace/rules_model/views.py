"""Typed views of the inputs of a prompt, coerced from any JSON: a role never sees junk."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from acc_ace.schemas.base import Authority
from acc_ace.schemas.ccs import CompressedCognitiveState, empty_ccs
from acc_ace.schemas.commit import ConstraintPin
from acc_ace.schemas.interaction import TurnInput

_MAX_TEXT = 40_000
"""Characters of one text that the engine analyses; what lies beyond is not read."""


@dataclass(frozen=True)
class StateView:
    """A committed state as a prompt shows it."""

    ccs: CompressedCognitiveState
    pins: tuple[ConstraintPin, ...] = ()
    turn: int = 0
    pinned: bool = True
    """False for what was read off messages: its rules hold while those are shown, no longer."""
    ended: tuple[str, ...] = ()
    """Rules read off messages that x_t released or amended."""

    def constraint_id(self, text: str) -> str:
        """The id of a constraint's pin, or '' for a constraint without one."""
        if not self.pinned:
            return ""
        return next((pin.id for pin in self.pins if pin.text == text), "")


@dataclass(frozen=True)
class Evidence:
    """A candidate or qualified artifact as a prompt shows it."""

    id: str
    content: str
    source: str = ""
    kind: str = ""


@dataclass(frozen=True)
class BulletView:
    """A playbook bullet as a prompt shows it."""

    id: str
    content: str
    section: str = ""
    helpful: int = 0
    harmful: int = 0


def text_of(value: object) -> str:
    """A string, bounded; '' for anything else."""
    return value[:_MAX_TEXT] if isinstance(value, str) else ""


def texts_of(value: object) -> list[str]:
    """The strings of a list; one string alone counts as a list of it."""
    if isinstance(value, str):
        return [text_of(value)] if value.strip() else []
    return [text_of(item) for item in items_of(value) if isinstance(item, str) and item.strip()]


def items_of(value: object) -> list[object]:
    """A list, or an empty one."""
    return list(value) if isinstance(value, list | tuple) else []


def mapping_of(value: object) -> Mapping[str, object]:
    """A JSON object, or an empty one."""
    return value if isinstance(value, Mapping) else {}


def turn_input_of(value: object) -> TurnInput:
    """x_t with its authority; an unknown authority counts as the weakest that may be input."""
    if isinstance(value, str):
        return TurnInput(text=text_of(value))
    fields = mapping_of(value)
    name = text_of(fields.get("authority")) or Authority.USER.value
    known = {item.value: item for item in Authority}
    return TurnInput(
        text=text_of(fields.get("text")), authority=known.get(name, Authority.RETRIEVED)
    )


def state_of(value: object) -> StateView:
    """A state from `CommittedState.to_state()`, or from whatever of it is there."""
    fields = mapping_of(value)
    meta = mapping_of(fields.get("meta"))
    turn = meta.get("turn")
    cue = text_of(fields.get("predictive_cue"))
    ccs = empty_ccs().model_copy(
        update={
            "episodic_trace": text_of(fields.get("episodic_trace")),
            "semantic_gist": text_of(fields.get("semantic_gist")),
            "focal_entities": texts_of(fields.get("focal_entities")),
            "relational_map": texts_of(fields.get("relational_map")),
            "goal_orientation": text_of(fields.get("goal_orientation")),
            "constraints": texts_of(fields.get("constraints")),
            "predictive_cue": cue or None,
            "uncertainty_signal": text_of(fields.get("uncertainty_signal")),
            "retrieved_artifacts": texts_of(fields.get("retrieved_artifacts")),
        }
    )
    return StateView(
        ccs=ccs,
        pins=tuple(_pins(items_of(meta.get("pins")))),
        turn=turn if isinstance(turn, int) else 0,
    )


def evidence_of(value: object) -> list[Evidence]:
    """Artifacts of a prompt; one without an id cannot be cited and is left out."""
    found = []
    for item in items_of(value):
        fields = mapping_of(item)
        artifact_id = text_of(fields.get("artifact_id")) or text_of(fields.get("id"))
        if artifact_id:
            found.append(
                Evidence(
                    id=artifact_id,
                    content=text_of(fields.get("content")) or text_of(fields.get("text")),
                    source=text_of(fields.get("source")),
                    kind=text_of(fields.get("kind")),
                )
            )
    return found


def bullets_of(value: object) -> list[BulletView]:
    """Bullets of a prompt, from a list of objects or from the text of `Playbook.as_prompt`."""
    if isinstance(value, str):
        return _bullets_in(value)
    found = []
    for item in items_of(value):
        fields = mapping_of(item)
        if bullet_id := text_of(fields.get("id")):
            found.append(
                BulletView(
                    id=bullet_id,
                    content=text_of(fields.get("content")),
                    section=text_of(fields.get("section")),
                    helpful=_count(fields.get("helpful")),
                    harmful=_count(fields.get("harmful")),
                )
            )
    return found


def _pins(values: Iterable[object]) -> Iterable[ConstraintPin]:
    for value in values:
        fields = mapping_of(value)
        try:
            # Prompts leave the quote out; for matching the text itself serves as well.
            yield ConstraintPin.model_validate({"quote": fields.get("text"), **fields})
        except ValidationError:
            continue


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _bullets_in(text: str) -> list[BulletView]:
    """Bullets of lines such as '[b-00001] helpful=2 harmful=0 :: content' under '## section'."""
    found: list[BulletView] = []
    section = ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:].strip()
            continue
        head, separator, content = line.partition(" :: ")
        name, _, counts = head.partition("] ")
        if separator and name.startswith("["):
            numbers = dict(item.partition("=")[::2] for item in counts.split())
            found.append(
                BulletView(
                    id=name[1:],
                    content=content,
                    section=section,
                    helpful=_number(numbers.get("helpful", "")),
                    harmful=_number(numbers.get("harmful", "")),
                )
            )
    return found


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0

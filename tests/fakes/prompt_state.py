"""The state as a prompt shows it, read back."""

import re
from typing import Any, NamedTuple

from acc_ace.core.gates.ccs_budget import NOTHING
from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.ccs import CompressedCognitiveState, empty_ccs
from acc_ace.core.schemas.commit import ConstraintPin

_PIN = re.compile(r"\[([cu]-\d{1,9})\] (.*)")


class ShownState(NamedTuple):
    """A state, with its rules and their ids."""

    ccs: CompressedCognitiveState
    pins: tuple[ConstraintPin, ...]
    turn: int


def state_of(shown: object) -> ShownState:
    """Read the lines of `render_ccs`; what is no text is an empty state."""
    fields: dict[str, list[str]] = {}
    name = ""
    for line in shown.splitlines() if isinstance(shown, str) else ():
        if line.startswith(("- ", "| ")):
            if line.startswith("| ") and not fields.get(name):
                fields[name] = [""]
            fields.setdefault(name, []).append(line[2:])
            continue
        name, _, rest = line.partition(":")
        fields[name] = [] if rest.strip() in {"", NOTHING} else [rest.strip()]
    rules = [rule for item in fields.get("constraints", []) if (rule := _PIN.fullmatch(item))]
    values: dict[str, Any] = {
        field: fields.get(field, []) if isinstance(none, list) else "\n".join(fields.get(field, []))
        for field, none in empty_ccs()
    }
    values["constraints"] = [rule[2] for rule in rules]
    values["predictive_cue"] = values["predictive_cue"] or None
    pins = [
        ConstraintPin(
            id=rule[1], text=rule[2], authority=Authority.USER, origin_turn=0, quote=rule[2]
        )
        for rule in rules
    ]
    turn = "".join(fields.get("turn", []))
    return ShownState(
        empty_ccs().model_copy(update=values), tuple(pins), int(turn) if turn.isdecimal() else 0
    )

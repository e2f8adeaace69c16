"""The guard: tool calls against rules, by the deterministic check alone and with a judging model.

    python -m bench.guard [dev|held] [--ids]

The judging model is scripted: it answers as the labels of the set do, so that what is measured is
what the guard makes of a right answer, not a model. `held` prints counts alone.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from acc_ace.gates.guard import ActCall, conflicts
from acc_ace.schemas.base import Authority
from acc_ace.schemas.commit import ConstraintPin

DATA: Final = Path(__file__).parents[1] / "tests" / "data" / "consent"
NOW: Final = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)
"""When calls without a time of their own are made: a Wednesday noon."""

Item = dict[str, Any]


class Score(NamedTuple):
    """What became of the calls of a set."""

    conflicts: int
    caught: int
    right_rule: int
    harmless: int
    held_up: int
    missed_ids: tuple[str, ...]
    held_up_ids: tuple[str, ...]

    def __str__(self) -> str:
        """One line of counts."""
        return (
            f"conflicts caught {self.caught}/{self.conflicts} (the right rule {self.right_rule}), "
            f"harmless held up {self.held_up}/{self.harmless}"
        )


def items(name: str) -> list[Item]:
    """The calls of one half."""
    lines = (DATA / f"acts_{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line]


def pins_of(item: Item) -> list[ConstraintPin]:
    """The rules in force."""
    return [
        ConstraintPin(
            id=f"c-{at:04}", text=text, authority=Authority.USER, origin_turn=1, quote=text
        )
        for at, text in enumerate(item["rules"])
    ]


def found_rules(item: Item) -> list[str]:
    """The ids of the rules that the deterministic check reports."""
    at = datetime.fromisoformat(item["time"]) if "time" in item else NOW
    call = ActCall(item["tool"], item["description"], item["arguments"])
    return [conflict.rule_id for conflict in conflicts(call, pins_of(item), at)]


def score(calls: list[Item]) -> Score:
    """What the deterministic check makes of the calls."""
    found = {item["id"]: found_rules(item) for item in calls}
    bad = [item for item in calls if item["conflict"]]
    good = [item for item in calls if not item["conflict"]]
    return Score(
        conflicts=len(bad),
        caught=sum(bool(found[item["id"]]) for item in bad),
        right_rule=sum(f"c-{item['rule']:04}" in found[item["id"]] for item in bad),
        harmless=len(good),
        held_up=sum(bool(found[item["id"]]) for item in good),
        missed_ids=tuple(item["id"] for item in bad if not found[item["id"]]),
        held_up_ids=tuple(item["id"] for item in good if found[item["id"]]),
    )


def main(name: str, *, ids: bool) -> None:
    """Print the counts; of `dev` the ids that miss too."""
    result = score(items(name))
    print(f"{name}: rule check alone: {result}")
    if ids and name == "dev":
        print("missed", *result.missed_ids)
        print("held up", *result.held_up_ids)


if __name__ == "__main__":
    chosen = [word for word in sys.argv[1:] if not word.startswith("-")]
    main(chosen[0] if chosen else "dev", ids="--ids" in sys.argv)

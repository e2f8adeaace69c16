"""The guard: tool calls against rules, by the deterministic check alone and with a judging model.

    python -m bench.guard [dev|held] [--ids]

The judging model is scripted: it answers as the labels of the set do, so that what is measured is
what the guard makes of a right answer, not a model. `held` prints counts alone.
"""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import Field

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.core.schemas.base import Authority, SessionKey
from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.schemas.interaction import ActVerdict
from acc_ace.ext.guard.guard import ActCall, conflicts
from acc_ace.ext.guard.tool_guard import ToolGuard
from acc_ace.turn.turn_record import TurnRecord, TurnStart

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
    found = conflicts(call_of(item), pins_of(item), time_of(item))
    return [conflict.rule_id for conflict in found]


def call_of(item: Item) -> ActCall:
    """The call of an item."""
    return ActCall(item["tool"], item["description"], item["arguments"])


def time_of(item: Item) -> datetime:
    """When it is made."""
    return datetime.fromisoformat(item["time"]) if "time" in item else NOW


class Judge(BaseLlm):
    """Answers what the labels of the set say about the call that is asked next."""

    model: str = "scripted/judge"
    item: Item = Field(default_factory=dict)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """One verdict."""
        rule = f"c-{self.item['rule']:04}" if self.item["conflict"] else None
        verdict = ActVerdict(conflict=self.item["conflict"], rule_id=rule)
        part = types.Part(text=verdict.model_dump_json())
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def judged(calls: list[Item]) -> dict[str, list[str]]:
    """The rules that the guard reports for each call when a right model judges beside it."""
    judge = Judge()
    container = build_container(Settings(store="memory", learning="off"))
    guard = ToolGuard(container, judge)
    found: dict[str, list[str]] = {}
    for item in calls:
        judge.item = item
        record = TurnRecord(TurnStart(SessionKey("bench", "user", item["id"])))
        finding = await guard.find(call_of(item), pins_of(item), record, at=time_of(item))
        found[item["id"]] = [finding.conflict.rule_id] if finding else []
    await container.close()
    return found


def score(calls: list[Item], found: dict[str, list[str]] | None = None) -> Score:
    """What the guard makes of the calls: `found` by call, else the deterministic check alone."""
    found = found or {item["id"]: found_rules(item) for item in calls}
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
    calls = items(name)
    result = score(calls)
    print(f"{name}: rule check alone: {result}")
    print(f"{name}: with a judging model: {score(calls, asyncio.run(judged(calls)))}")
    if ids and name == "dev":
        print("missed", *result.missed_ids)
        print("held up", *result.held_up_ids)


if __name__ == "__main__":
    chosen = [word for word in sys.argv[1:] if not word.startswith("-")]
    main(chosen[0] if chosen else "dev", ids="--ids" in sys.argv)

"""The guard: tool calls against rules, by compiled checks alone and with a judging model.

    python -m bench.guard [dev | held | FILE.jsonl ...] [--ids] [--odd | --even]

A file has rows of kind `call`: rules, tools, call, conflict, undecidable, and now where it matters.
Without a model a call is stopped where a check says so or a rule names it; the judging model is
scripted and answers as the labels do, so that what is measured is what the guard makes of a right
answer. `--odd` and `--even` take the rows whose id ends with such a number. `held` and even rows
print counts alone.
"""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

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
from acc_ace.ext.guard.calls import ActCall, Tool
from acc_ace.ext.guard.tool_guard import Act, ToolGuard
from acc_ace.turn.turn_record import TurnRecord, TurnStart

DATA: Final = Path(__file__).parents[1] / "tests" / "data" / "consent"
NOW: Final = datetime(2026, 11, 25, 12, 0, tzinfo=ZoneInfo("Asia/Tokyo"))
"""When calls without a time of their own are made: a Wednesday noon."""


class Item(NamedTuple):
    """A call, the rules in force, and whether it breaks one."""

    id: str
    rules: tuple[str, ...]
    tool: Tool
    call: ActCall
    now: datetime
    conflict: bool
    rule: int | None
    """Which rule it breaks, where the set says so."""


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
            f"conflicts run unasked {self.conflicts - self.caught}/{self.conflicts}, "
            f"harmless held up {self.held_up}/{self.harmless}"
        )


def items(name: str, *, parity: int | None = None) -> list[Item]:
    """The calls of a half of our own set, or of a file of rows."""
    path = DATA / f"acts_{name}.jsonl" if name in {"dev", "held"} else Path(name)
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line]
    wanted = (line for line in lines if parity is None or _number(line) % 2 == parity)
    rows = (json.loads(line) for line in wanted)
    return [_item(row) for row in rows if row.get("kind", "call") == "call"]


def _number(line: str) -> int:
    """The number at the end of a row's id, read without the rest of the row."""
    key = line.split('"id"', 1)[1].split('"', 2)[1]
    return int("".join(char for char in key[-4:] if char.isdigit()))


def _item(row: dict[str, Any]) -> Item:
    said = row.get("now") or row.get("time")
    now = datetime.fromisoformat(said) if said else NOW
    if "call" not in row:
        tool = Tool(row["tool"], row["description"])
        args, rule = row["arguments"], row["rule"]
    else:
        name, args = row["call"]["name"], row["call"]["arguments"]
        each = next(tool for tool in row["tools"] if tool["name"] == name)
        tool = Tool(name, each["description"], each["parameters"], reads=each["read_only"])
        rule = 0 if row["conflict"] else None
    call = ActCall(tool.name, args)
    return Item(row["id"], tuple(row["rules"]), tool, call, now, row["conflict"], rule)


def pins_of(item: Item) -> list[ConstraintPin]:
    """The rules in force."""
    return [
        ConstraintPin(
            id=f"c-{at:04}", text=text, authority=Authority.USER, origin_turn=1, quote=text
        )
        for at, text in enumerate(item.rules)
    ]


class Judge(BaseLlm):
    """Answers what the labels of the set say about the call that is asked next."""

    model: str = "scripted/judge"
    verdict: ActVerdict = Field(default_factory=lambda: ActVerdict(conflict=False))

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """One verdict."""
        part = types.Part(text=self.verdict.model_dump_json())
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


async def stopped(calls: list[Item], *, judged: bool) -> dict[str, str]:
    """The rule for which each call is stopped or asked about, by call; '' for those that run."""
    judge = Judge() if judged else None
    container = build_container(Settings(store="memory", learning="off"))
    guard = ToolGuard(container, judge)
    found: dict[str, str] = {}
    for item in calls:
        if judge is not None:
            judge.verdict = ActVerdict(
                conflict=item.conflict, rule_id=f"c-{item.rule or 0:04}" if item.conflict else None
            )
        record = TurnRecord(TurnStart(SessionKey("bench", "user", item.id)))
        act = Act(item.call, item.tool, item.now)
        breach = await guard.find(act, pins_of(item), record)
        found[item.id] = breach.rule_id if breach else ""
    await container.close()
    return found


def score(calls: list[Item], *, judged: bool = False) -> Score:
    """What the guard makes of the calls."""
    found = asyncio.run(stopped(calls, judged=judged))
    bad = [item for item in calls if item.conflict]
    good = [item for item in calls if not item.conflict]
    return Score(
        conflicts=len(bad),
        caught=sum(bool(found[item.id]) for item in bad),
        right_rule=sum(f"c-{item.rule or 0:04}" == found[item.id] for item in bad),
        harmless=len(good),
        held_up=sum(bool(found[item.id]) for item in good),
        missed_ids=tuple(item.id for item in bad if not found[item.id]),
        held_up_ids=tuple(item.id for item in good if found[item.id]),
    )


def lines_of(name: str, *, parity: int | None, ids: bool) -> Iterator[str]:
    """The counts of a set in both columns; the ids that miss where they may be seen."""
    calls = items(name, parity=parity)
    for title, judged in (("without a model", False), ("with a judge", True)):
        result = score(calls, judged=judged)
        yield f"{Path(name).name}, {title}: {result}"
        if ids and name != "held" and parity != 0:
            yield f"  missed {result.missed_ids} held up {result.held_up_ids}"


def main(words: list[str]) -> None:
    """Print the counts."""
    parity = 1 if "--odd" in words else 0 if "--even" in words else None
    for name in [word for word in words if not word.startswith("-")] or ["dev"]:
        for line in lines_of(name, parity=parity, ids="--ids" in words):
            print(line)


if __name__ == "__main__":
    main(sys.argv[1:])

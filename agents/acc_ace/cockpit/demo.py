"""Play a bundled conversation live, and check each promise while it is played.

What a turn must give stands beside its input; a promise sums up some turns, or an invariant of all.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

import yaml
from pydantic import BaseModel, Field

from acc_ace.conversation import Conversation
from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.schemas.base import Authority, SessionKey
from acc_ace.core.schemas.report import TurnReport
from acc_ace.errors import AccAceError

Talk = Mapping[str, Any]
TALKS: Final = {"en": "incident_en", "ja": "operations_ja"}
_FOLDERS: Final = (Path(__file__).parent / "talks", Path(__file__).parents[3] / "examples")
"""In an installation and in a checkout."""


class DemoCheck(BaseModel):
    """A promise, and whether it has been kept so far."""

    id: int
    title: str
    status: Literal["pending", "ok", "failed"]
    detail: str = ""
    turn: int = Field(description="The last turn it is about.")


class DemoState(BaseModel):
    """What is played, how far it is, and its promises."""

    app: str
    user: str
    session: str
    played: int
    turns: int
    error: str = Field(default="", description="What ended the demo early.")
    checks: list[DemoCheck]


def load_talk(language: str) -> Talk:
    """The bundled conversation of a language, 'en' or 'ja'."""
    name = f"{TALKS[language]}.yaml"
    path = next(folder / name for folder in _FOLDERS if (folder / name).is_file())
    talk: Talk = yaml.safe_load(path.read_text(encoding="utf-8"))
    return talk


class Demo:
    """Plays a talk turn by turn; its state can be read at any time."""

    def __init__(self, talk: Talk, key: SessionKey) -> None:
        self._talk, self._key = talk, key
        self._problems: list[list[tuple[str, str]]] = []
        self._error = ""

    async def play(self, conversation: Conversation, *, pace_s: float) -> None:
        """Play every turn, `pace_s` seconds apart. A turn that fails ends the demo."""
        documents = [_document(item, self._key) for item in self._talk["documents"]]
        try:
            await conversation.remember(self._key.tenant, documents)
            for turn in self._talk["turns"]:
                await asyncio.sleep(pace_s)
                authority = Authority(turn.get("authority", "user"))
                report = await conversation.turn(self._key, turn["input"], authority=authority)
                self._problems.append([*_problems(self._talk, len(self._problems) + 1, report)])
        except AccAceError as error:
            self._error = f"{error.code}: {error}"

    @property
    def problems(self) -> list[str]:
        """All that did not hold so far."""
        turns = enumerate(self._problems, start=1)
        return [f"turn {turn}: {text}" for turn, faults in turns for _, text in faults]

    @property
    def state(self) -> DemoState:
        """Every promise as it stands."""
        promises = enumerate(self._talk["promises"], start=1)
        return DemoState(
            app=self._key.app,
            user=self._key.user,
            session=self._key.session,
            played=len(self._problems),
            turns=len(self._talk["turns"]),
            error=self._error,
            checks=[self._check(number, promise) for number, promise in promises],
        )

    def _check(self, number: int, promise: Talk) -> DemoCheck:
        every = range(1, len(self._talk["turns"]) + 1)
        turns: Sequence[int] = promise.get("turns", every)
        source = promise.get("always", "turn")
        played = [turn for turn in turns if turn <= len(self._problems)]
        broken = [
            f"turn {turn}: {text}"
            for turn in played
            for name, text in self._problems[turn - 1]
            if name == source
        ]
        status = "ok" if len(played) == len(turns) else "pending"
        return DemoCheck(
            id=number,
            title=promise["title"],
            status="failed" if broken else status,
            detail="; ".join(broken) or f"{len(played)}/{len(turns)}",
            turn=turns[-1],
        )


def _problems(talk: Talk, number: int, report: TurnReport) -> Iterator[tuple[str, str]]:
    """What did not hold at a turn: the invariant ('turn' for its own expectations), and why."""
    for text in _expected(talk["turns"][number - 1].get("expect") or {}, report):
        yield "turn", text
    yield from _invariants(talk["invariants"], number, report)


def _document(item: Mapping[str, str], key: SessionKey) -> Artifact:
    return Artifact(
        artifact_id=item["id"],
        content=item["content"],
        source=item["source"],
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        tenant=key.tenant,
    )


def _expected(expect: Mapping[str, Any], report: TurnReport) -> Iterator[str]:
    """What the turn was to give and did not; the keys are explained in examples/README.md."""
    ccs, answer = report.ccs, report.answer
    rules = "\n".join(rule.text for rule in report.constraints)
    stated = f"{ccs.semantic_gist} {ccs.relational_map}"
    rejected = {item.artifact_id: item.reason for item in report.qualified if not item.ok}
    wanted: Sequence[tuple[str, str, str]] = (
        ("constraints_include", rules, "no rule has"),
        ("uncertainty_includes", ccs.uncertainty_signal, "not uncertain:"),
        ("ccs_includes", stated, "the state lacks"),
    )
    unwanted: Sequence[tuple[str, str, str]] = (
        ("constraints_exclude", rules, "a rule has"),
        ("answer_excludes", answer, "the answer has"),
        ("ccs_excludes", stated, "the state has"),
    )
    for key, text, why in wanted:
        yield from (f"{why} '{part}'" for part in expect.get(key, ()) if part not in text)
    for key, text, why in unwanted:
        yield from (f"{why} '{part}'" for part in expect.get(key, ()) if part in text)
    anything = expect.get("answer_includes_any", [answer])
    if not any(part in answer for part in anything):
        yield f"the answer has none of {anything}: '{answer}'"
    if expect.get("goal_includes", "") not in ccs.goal_orientation:
        yield f"the goal is '{ccs.goal_orientation}'"
    for name, reason in expect.get("qualified_rejects", {}).items():
        if rejected.get(name) != reason:
            yield f"{name} was not rejected as {reason}"
    if len(report.deltas) < expect.get("deltas_at_least", 0):
        yield f"only {len(report.deltas)} deltas"


def _invariants(
    invariants: Mapping[str, Any], number: int, report: TurnReport
) -> Iterator[tuple[str, str]]:
    """What must hold at every turn and does not: exactly the living rules, goal, budget."""
    lifetimes = invariants["constraint_lifetimes"]
    living = [item["text"] for item in lifetimes if item["from"] <= number <= item["to"]]
    rules = [rule.text for rule in report.constraints]
    in_force = [text for text, rule in zip(living, rules, strict=False) if text in rule]
    if len(rules) != len(living) or in_force != living:
        yield "rules", f"the rules are {rules}, not {living}"
    released = [item.id for item in report.ccs_diff.constraints_released]
    if released != invariants["releases"].get(number, []):
        yield "rules", f"lifted: {released}"
    goal = invariants["goal_includes"] if number >= invariants["goal_from"] else ""
    if goal not in report.ccs.goal_orientation:
        yield "goal", f"the goal is '{report.ccs.goal_orientation}'"
    if report.ccs_tokens > invariants["ccs_tokens_max"]:
        yield "budget", f"the state has {report.ccs_tokens} tokens"
    if not report.answer.strip():
        yield "turn", "no answer"

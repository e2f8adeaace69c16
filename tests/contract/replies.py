"""Give one role raw replies, as models write them, and say what the product made of each.

A row of `tests/data/replies` has a `reply` (text, or what stands for a reply without one), what is
to `expect` of it, and what must hold `then`. Every other role is played by the suite's fake.
"""

import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.genai import types
from pydantic import PrivateAttr

from acc_ace import (
    AccAceError,
    Artifact,
    Authority,
    SessionKey,
    Settings,
    build_container,
)
from acc_ace.conversation import Conversation
from acc_ace.turn.ports import Ccm
from config import ROLES, Role
from schemas.artifact import ArtifactKind
from tests.fakes.ccm_marks import count_marks
from tests.fakes.clock import FixedClock
from tests.fakes.extensions import is_there
from tests.fakes.fake_gemini import (
    FakeGemini,
    calls_function,
    counts,
    empty,
    safety_stop,
    says,
    thought_only,
    truncated,
)
from tests.fakes.loopback import HttpReply, Received
from tests.fakes.scripted_llm import ScriptedLlm, call, text_content
from tests.pipeline.desk import Desk

Row = Mapping[str, Any]
Raw = str | Mapping[str, Any]
"""Text; or {'thoughts': …}, {'cut': …}, {'stopped': …}, {'empty': …}, {'call': {name, args}}."""

FOLDER = Path(__file__).parents[1] / "data" / "replies"
KEY = SessionKey("acc_ace", "ops", "s1")
ONE_CALL = ("usable", "mended")


def rows_of(name: str, *, held: bool = False) -> list[Row]:
    """The rows of one role, or of `rule_changes`."""
    file = (FOLDER / "held" if held else FOLDER) / f"{name}.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


class Wire(Protocol):
    """A model that plays raw replies in their order, the last one again and again."""

    @property
    def asked(self) -> int:
        """Requests since the model was made."""
        ...

    def model(self, role: Role, *replies: Raw) -> BaseLlm:
        """The model of a role."""
        ...


class Player(BaseLlm):
    """Plays raw replies in the process."""

    model: str = "scripted/raw"
    _replies: list[Raw] = PrivateAttr(default_factory=list)
    _asked: int = PrivateAttr(default=0)

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """The next reply."""
        self._asked += 1
        yield _response(self._replies.pop(0) if len(self._replies) > 1 else self._replies[0])


class InProcess:
    """Raw replies without a wire."""

    def __init__(self) -> None:
        self._player = Player()

    @property
    def asked(self) -> int:
        """Requests so far."""
        return self._player._asked

    def model(self, role: Role, *replies: Raw) -> BaseLlm:
        """The player, whatever the role."""
        self._player._replies = list(replies)
        return self._player


class OverHttp:
    """Raw replies of a Gemini server, through google-genai."""

    def __init__(
        self, gemini: FakeGemini, build: Callable[[Role], BaseLlm], most: int = 24
    ) -> None:
        self._gemini, self._build, self._most = gemini, build, most
        self.asked = 0
        self.built: list[BaseLlm] = []
        """The clients so far; whoever makes the wire closes them."""
        self._replies: list[Raw] = []

    def model(self, role: Role, *replies: Raw) -> BaseLlm:
        """The product's own client of the role."""
        self.asked, self._replies = 0, list(replies)
        self._gemini.script(len(self._gemini.requests), *[self._next] * self._most)
        self.built.append(self._build(role))
        return self.built[-1]

    def _next(self, received: Received) -> HttpReply:
        if received.counts:
            return counts(10)
        self.asked += 1
        return _http(self._replies.pop(0) if len(self._replies) > 1 else self._replies[0])


def _response(raw: Raw) -> LlmResponse:
    if isinstance(raw, str):
        return _whole(text_content(raw))
    match dict(raw):
        case {"thoughts": str(text)}:
            parts = [types.Part(text=text, thought=True)]
            return _whole(types.Content(role="model", parts=parts))
        case {"cut": str(text)}:
            cut = types.FinishReason.MAX_TOKENS
            return LlmResponse(content=text_content(text), finish_reason=cut)
        case {"stopped": str(code)}:
            stop = types.FinishReason.SAFETY
            return LlmResponse(error_code=code, error_message="blocked", finish_reason=stop)
        case {"call": {"name": str(name), "args": dict(args)}}:
            return _whole(call(name, **args))
        case _:
            return _whole(types.Content(role="model", parts=[]))


def _whole(content: types.Content) -> LlmResponse:
    return LlmResponse(content=content, partial=False, finish_reason=types.FinishReason.STOP)


def _http(raw: Raw) -> HttpReply:
    if isinstance(raw, str):
        return says(raw)
    match dict(raw):
        case {"thoughts": _}:
            return thought_only()
        case {"cut": str(text)}:
            return truncated(text)
        case {"stopped": _}:
            return safety_stop()
        case {"call": {"name": str(name), "args": dict(args)}}:
            return calls_function(name, **args)
        case _:
            return empty()


@dataclass
class Outcome:
    """Requests that the role was sent, what was warned of, and the facts of a role."""

    asked: int
    warnings: Sequence[str]
    facts: dict[str, Any] = field(default_factory=dict)


ENDS = ("in force", "asked", "said")


def ends_of(row: Row, outcome: Outcome) -> dict[str, list[str]]:
    """How each rule of a row ended, by a word that only it has."""
    facts, ends = outcome.facts, {}
    for word in row["words"]:
        places = ([*facts["rules"][1:], facts["goal"]], facts["questions"], [facts["answer"]])
        told = [any(word in text for text in texts) for texts in places]
        ends[word] = [end for end, is_so in zip(ENDS, told, strict=True) if is_so]
    return ends


def problems(row: Row, outcome: Outcome, *, retries: bool = False) -> list[str]:
    """What of a row does not hold; a client that `retries` may ask more often than twice."""
    if "ends" in row:
        return _lost(row, outcome) + _untrue(row, outcome)
    wrong = []
    if row["expect"] in ONE_CALL and outcome.asked != 1:
        wrong.append(f"asked {outcome.asked} times instead of once")
    if row["expect"] == "asked again" and outcome.asked != 2 and not (retries and outcome.asked):
        wrong.append(f"asked {outcome.asked} times instead of twice")
    if row["expect"] not in ONE_CALL and not outcome.warnings:
        wrong.append("nothing was said of it")
    return wrong + _untrue(row, outcome)


def _lost(row: Row, outcome: Outcome) -> list[str]:
    """The rules of a row that ended otherwise than they may, or without a word."""
    lost = [
        f"{word!r} ended as {ends or 'lost'}, may end as {row['ends']}"
        for word, ends in ends_of(row, outcome).items()
        if not set(ends[:1]) & set(row["ends"])
    ]
    foreign = [text for text in outcome.facts["rules"] if text not in f"{RULE} {row['x_t']}"]
    return lost + [f"in force, though the user never said it: {text!r}" for text in foreign]


def _untrue(row: Row, outcome: Outcome) -> list[str]:
    return [
        f"{fact}: {outcome.facts.get(fact.split(' has')[0])!r} instead of {wanted!r}"
        for fact, wanted in row["then"].items()
        if not _holds(outcome.facts, fact, wanted)
    ]


def _holds(facts: Mapping[str, Any], fact: str, wanted: Any) -> bool:
    name, has, _ = fact.partition(" has")
    if not has:
        return bool(facts[name] == wanted)
    told = facts[name]
    text = told if isinstance(told, list) else str(told)
    return all((each in text) is not fact.endswith("not") for each in wanted)


async def report_of(
    role: str, rows: Sequence[Row], wire: Callable[[], Wire], *, retries: bool = False
) -> dict[str, str]:
    """The rows of which something does not hold, by name, with what it is."""
    found = {}
    for row in rows:
        outcome = await DRIVERS[role](wire(), row)
        if wrong := problems(row, outcome, retries=retries):
            found[row["name"]] = "; ".join(wrong)
    return found


class Talk:
    """A conversation in which one model plays a role, and the suite's fake all others."""

    def __init__(self, role: Role, model: BaseLlm, **settings: Any) -> None:
        usual = {"store": "memory", "learning": "off", **settings}
        self.clock, self.others = FixedClock(), ScriptedLlm()
        self.container = build_container(Settings(**usual), self.clock)
        models: dict[Role, BaseLlm] = {**dict.fromkeys(ROLES, self.others), role: model}
        self.conversation = Conversation(self.container, models=models)

    async def say(self, text: str) -> Any:
        """One turn, a second after the last; its report."""
        self.clock.advance(seconds=1)
        return await self.conversation.turn(KEY, text)

    async def until_answered(self, text: str) -> tuple[Any, list[str]]:
        """One turn's report, or None with the error that ended it; and what was warned of."""
        try:
            report = await self.say(text)
        except AccAceError as error:
            return None, [str(error)]
        return report, list(report.warnings)


DOCUMENTS = {
    "doc-a1": "The platform team owns the orders database.",
    "doc-b2": "The storage team owns the orders archive.",
}


async def qualifier(wire: Wire, row: Row) -> Outcome:
    """Two documents that no score decides; `kept` are those that are qualified."""
    talk = Talk("qualifier", wire.model("qualifier", row["reply"]))
    artifacts = [
        Artifact(
            artifact_id=name,
            content=content,
            source="document",
            created_at=talk.clock.now(),
            tenant=KEY.tenant,
            kind=ArtifactKind.DOCUMENT,
            authority=Authority.RETRIEVED,
        )
        for name, content in DOCUMENTS.items()
    ]
    await talk.container.artifacts.add(artifacts)
    report = await talk.say("Who owns orders during the audit?")
    await talk.conversation.close()
    kept = sorted(each.artifact_id for each in report.qualified if each.ok)
    return Outcome(wire.asked, report.warnings, {"kept": kept})


RULE = "Never restart db-01 on Sundays."
GOAL = "The goal is to move all shops to the new cluster."
FOUNDED: dict[str, Any] = {
    "episodic_trace": "The user named a rule and a goal.",
    "semantic_gist": "Operations of the shops.",
    "focal_entities": ["server:db-01"],
    "relational_map": ["dependency: shops -> new cluster"],
    "predictive_cue": "Ask for the schedule.",
    "uncertainty_signal": "The date is open.",
    "retrieved_artifacts": [],
    "goal_orientation": "",
    "constraints": [],
    "rule_changes": [
        {"kind": "add", "quote": RULE, "sure": True},
        {"kind": "goal", "quote": GOAL, "sure": True},
    ],
}
"""The reply before each reply of the Compressor, in full."""

COMMON_INPUT = "How is db-01 doing today?"


async def compressor(wire: Wire, row: Row) -> Outcome:
    """The turn after the one with rule and goal; the fields, `rules`, and `answer`."""
    model = wire.model("compressor", json.dumps(FOUNDED), row["reply"])
    talk = Talk("compressor", model)
    talk.others.on("generator", {"final_answer": "Noted."})
    await talk.say(f"{RULE} {GOAL}")
    before = wire.asked
    report = await talk.say(row.get("x_t", COMMON_INPUT))
    await talk.conversation.close()
    facts = report.ccs.model_dump(mode="json")
    facts["rules"] = [each.text for each in report.constraints]
    facts["answer"] = report.answer
    return Outcome(wire.asked - before, report.warnings, facts)


async def rule_changes(wire: Wire, row: Row) -> Outcome:
    """What became of `rule_changes`: `rules` in force, open `questions`, and the `answer`."""
    founding = {**FOUNDED, "rule_changes": FOUNDED["rule_changes"][:1]}
    reply = json.dumps({**FOUNDED, "rule_changes": row["rule_changes"]}, ensure_ascii=False)
    model = wire.model("compressor", json.dumps(founding), reply)
    talk = Talk("compressor", model)
    # The rows are of what is read of a reply, not of what the reader finds beside it.
    await count_marks(talk.container, Ccm(model.model), KEY.tenant)
    talk.others.on("generator", {"final_answer": "Noted."})
    await talk.say(RULE)
    before = wire.asked
    report = await talk.say(row["x_t"])
    await talk.conversation.close()
    facts = {
        "rules": [each.text for each in report.constraints],
        "questions": [each.text for each in report.questions],
        "answer": report.answer,
        "goal": report.ccs.goal_orientation,
        "asked": wire.asked - before,
    }
    return Outcome(wire.asked - before, report.warnings, facts)


LESSONS = (
    "Check replication lag before promoting a replica.",
    "Ask which server is meant before restarting one.",
    "Say the time zone with each time.",
)
BACKUP = "Verify the backup before dropping a table."


async def _taught(talk: Talk) -> None:
    """Three lessons in the playbook, and an answer that used the first two."""
    operations = [{"type": "ADD", "section": "tools", "content": each} for each in LESSONS]
    talk.others.on("curator", {"operations": operations}, {"operations": []})
    talk.others.on("generator", {"final_answer": "ok", "bullet_ids": ["b-00001", "b-00002"]})
    await talk.say(" ".join(LESSONS))


async def _playbook(talk: Talk) -> dict[str, Any]:
    bullets = (await talk.conversation.playbook()).playbook.bullets
    tags = {each.id: [each.helpful, each.harmful, each.neutral] for each in bullets}
    facts: dict[str, Any] = {"lessons": {each.id: each.content for each in bullets}}
    facts["texts"] = [each.content for each in bullets]
    facts["sections"] = {each.id: each.section for each in bullets}
    return facts | {"tags": {name: tag for name, tag in tags.items() if any(tag)}}


async def reflector(wire: Wire, row: Row) -> Outcome:
    """`tags` of bullets as [helpful, harmful, neutral], and what the `curator` was shown."""
    model = wire.model("reflector", "{}", row["reply"])
    talk = Talk("reflector", model, learning="inline", learn_on="every")
    await _taught(talk)
    before, shown = wire.asked, len(talk.others.requests_of("curator"))
    report = await talk.say(f"No, that's wrong. {BACKUP}")
    curator = "\n".join(map(str, talk.others.requests_of("curator")[shown:]))
    facts = {**await _playbook(talk), "curator": curator}
    await talk.conversation.close()
    return Outcome(wire.asked - before, report.warnings, facts)


async def curator(wire: Wire, row: Row) -> Outcome:
    """The `lessons` by id, their `texts` and `sections`, after a turn that taught one more."""
    operations = [{"type": "ADD", "section": "tools", "content": each} for each in LESSONS]
    model = wire.model("curator", json.dumps({"operations": operations}), row["reply"])
    talk = Talk("curator", model, learning="inline", learn_on="every")
    talk.others.on("reflector", {"key_insight": LESSONS[0]}, {"key_insight": BACKUP})
    await talk.say(" ".join(LESSONS))
    before = wire.asked
    report = await talk.say(
        f"No, that's wrong. {BACKUP} Check replication lag and slots before promoting a replica."
    )
    facts = {**await _playbook(talk), "results": [each.status for each in report.deltas]}
    await talk.conversation.close()
    return Outcome(wire.asked - before, report.warnings, facts)


async def generator(wire: Wire, row: Row) -> Outcome:
    """The `answer`, and the `bullets` that it used; '' where the turn failed with an error."""
    model = wire.model("generator", '{"final_answer": "ok"}', row["reply"])
    talk = Talk("generator", model, learning="inline", learn_on="every")
    await _taught(talk)
    before = wire.asked
    report, warnings = await talk.until_answered("Is db-01 up?")
    facts: dict[str, Any] = {"answer": report.answer if report else "", "bullets": []}
    if report:
        facts["bullets"] = list(report.bullet_ids)
    await talk.conversation.close()
    return Outcome(wire.asked - before, warnings, facts)


REFUND_RULE = "Never refund more than 20 euros while the audit is on."
"""No call shows whether it is, so that the model judges."""


async def guard(wire: Wire, row: Row) -> Outcome:
    """Whether a refund of 12 euros `ran`, and the `hint` where a person was asked."""
    paid: list[float] = []

    def refund(order: str, amount: float) -> str:
        """Refund an order in euros."""
        paid.append(amount)
        return "paid"

    agent, memory = ScriptedLlm(), ScriptedLlm()
    agent.on("generator", "Noted.", call("refund", order="A1", amount=12), "Done.")
    standing = {"kind": "add", "quote": REFUND_RULE, "sure": True}
    memory.on(
        "compressor",
        {**FOUNDED, "rule_changes": [standing]},
        {**FOUNDED, "rule_changes": []},
    )
    judge = wire.model("guard", row["reply"])
    root = LlmAgent(name="till", model=agent, instruction="Be short.", tools=[refund])
    desk = Desk(root, Settings(store="memory", learning="off"), memory=memory, judge=judge)
    await desk.say(REFUND_RULE)
    events = await desk.say("Refund A1, and the same again.")
    calls = [each.args or {} for event in events for each in event.get_function_calls()]
    hints = [each["toolConfirmation"]["hint"] for each in calls if "toolConfirmation" in each]
    warnings = desk.reports[-1].warnings if desk.reports else []
    await desk.plugin.close()
    return Outcome(wire.asked, warnings, {"ran": bool(paid), "hint": "".join(hints)})


REMARKS = (
    "Dates belong at the top of each page.",
    "The disk filled up since logs were never rotated.",
)


class Listener(logging.Handler):
    """Collects warnings of the log, where work in the background tells them."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        self.lines.append(record.getMessage())


async def _listening(work: Callable[[], Awaitable[Any]]) -> list[str]:
    listener, log = Listener(), logging.getLogger("acc_ace")
    log.addHandler(listener)
    try:
        await work()
    finally:
        log.removeHandler(listener)
    return listener.lines


async def extractor(wire: Wire, row: Row) -> Outcome:
    """The `notes` of a session that ended."""
    talk = Talk("reflector", wire.model("reflector", row["reply"]))
    for remark in REMARKS:
        await talk.say(remark)
    talk.clock.advance(hours=2)
    lines = await _listening(talk.conversation.housekeep)
    record = await talk.container.directory.find(KEY)
    names = record.notes if record else []
    notes = [await talk.container.artifacts.get(KEY.tenant, name) for name in names]
    await talk.conversation.close()
    return Outcome(wire.asked, lines, {"notes": sorted(note.content for note in notes if note)})


async def summarizer(wire: Wire, row: Row) -> Outcome:
    """The `summary` of a few messages; '' where there is none, which is an error."""
    from tests.ext.strategies.summaries import summary_of  # noqa: PLC0415

    try:
        summary = await summary_of(wire.model("compressor", row["reply"]))
    except AccAceError as error:
        return Outcome(wire.asked, [str(error)], {"summary": ""})
    return Outcome(wire.asked, [], {"summary": summary})


async def thinker(wire: Wire, row: Row) -> Outcome:
    """The plan of the first tick: its `actions` as [type, target, times], and its fields."""
    from acc_ace.ext.survivor.loop import LoopOptions, Survivor  # noqa: PLC0415

    usual: dict[str, Any] = {role: {"model": "embedded/rules"} for role in ROLES}
    container = build_container(Settings(store="memory", **usual), FixedClock())
    models: dict[Role, BaseLlm] = {"generator": wire.model("generator", row["reply"])}
    survivor = Survivor(container, LoopOptions(seed=4, ticks=1), models=models)
    [tick] = [each async for each in survivor.run()]
    await container.close()
    plan = tick.plan
    facts = plan.model_dump(mode="json")
    facts["actions"] = [[each.type, each.target, each.times] for each in plan.actions]
    facts["wanted"] = [each.wanted for each in tick.steps]
    return Outcome(wire.asked, tick.warnings, facts)


_EXTENSIONS = {"guard": "guard", "summarizer": "strategies", "thinker": "survivor"}
"""Roles of extensions, which are driven where the extension is there."""

DRIVERS: dict[str, Callable[[Wire, Row], Awaitable[Outcome]]] = {
    driver.__name__: driver
    for driver in (
        qualifier,
        compressor,
        rule_changes,
        reflector,
        curator,
        generator,
        extractor,
        guard,
        summarizer,
        thinker,
    )
    if driver.__name__ not in _EXTENSIONS or is_there(_EXTENSIONS[driver.__name__])
}

"""Report of a turn, the object that `--json` and `/v1` return; and a running turn's events."""

from operator import not_
from typing import Any, Final, Literal

from pydantic import ConfigDict, Field

from acc_ace.core.schemas.base import Authority, Value
from acc_ace.core.schemas.ccs import CompressedCognitiveState
from acc_ace.core.schemas.commit import CcsDiff, ChangeKind, RuleScope


class ReportedCheck(Value):
    """What a rule does when a tool is called."""

    tool: str
    text: str = Field(description="In words: what is stopped, and when.")
    does: str = Field(default="", description="The form of a check that a person has set.")


class ReportedConstraint(Value):
    """An active constraint with its origin."""

    id: str
    text: str
    authority: Authority
    origin_turn: int
    quote: str = Field(default="", description="The words that set it.")
    scope: RuleScope = RuleScope.SESSION
    tentative: bool = False
    checks: list[ReportedCheck] = Field(
        default_factory=list,
        exclude_if=not_,
        description="What it does at the tools of the app; given where rules are listed.",
    )


class ReportedQuestion(Value):
    """A change that waits for the user's consent."""

    id: str
    kind: ChangeKind
    rule_id: str | None = None
    quote: str
    text: str = Field(description="What waits and how to consent, as the answer says it.")
    before: str = Field(default="", description="The rule or goal in force; '' where none is.")
    after: list[str] = Field(
        default_factory=list, description="What would be in force instead; none for a release."
    )
    asked_turn: int = 0


class ReportedVerdict(Value):
    """The qualification gate's verdict on one candidate."""

    artifact_id: str
    ok: bool
    reason: str


class ReportedDelta(Value):
    """One playbook operation and its result."""

    type: str
    status: str
    reason: str
    bullet_id: str | None = None


class ReportedDeparture(Value):
    """A bullet that left a full playbook, so that a new one has room."""

    bullet_id: str
    content: str
    reason: str = Field(description="'makes_room' or 'over_budget'.")


class ReportedLearning(Value):
    """What a turn gave to learn from, and what the playbook gave up for it."""

    evidence: list[str] = Field(
        default_factory=list,
        description="'correction', 'feedback', 'tool_error', 'recovery' (success after an error) "
        "or 'guarded' (a rule nearly broken).",
    )
    skipped: str = Field(
        default="", description="Why no model was asked: 'no_evidence', or '' if one was."
    )
    left: list[ReportedDeparture] = Field(
        default_factory=list, description="Bullets that left the full playbook; restorable."
    )
    withheld: list[ReportedDeparture] = Field(
        default_factory=list,
        description="Bullets that were not shown, each with the reason: 'against_rule' if it orders"
        " or permits what a rule in force forbids.",
    )


class TokenUse(Value):
    """Tokens and calls of one reply, of one stage, or of any sum of them.

    Providers bill thoughts as output: what is billed as output is `output + thinking`.
    """

    model_config = ConfigDict(populate_by_name=True, frozen=True, serialize_by_alias=True)

    input: int = Field(default=0, alias="in", description="Tokens of the prompts.")
    output: int = Field(default=0, alias="out", description="Tokens of the replies, no thoughts.")
    thinking: int = Field(default=0, description="Tokens of the model's thoughts.")
    cached: int = Field(default=0, description="Part of `in` that the provider had cached.")
    calls: int = Field(default=0, description="Requests sent, failed ones included.")
    failed: int = Field(
        default=0, description="Requests without a usable reply: errors, time-outs, cut replies."
    )
    estimated: bool = Field(
        default=False, description="Whether a server reported no usage, so tokens are estimates."
    )
    billed: int = Field(
        default=0,
        exclude_if=not_,
        description="Billionths of a US dollar that the model itself said it cost; it takes the "
        "place of the price list for the tokens of `covered`.",
    )
    covered: tuple[int, ...] = Field(
        default=(0, 0, 0),
        exclude_if=(0, 0, 0).__eq__,
        description="Tokens that `billed` covers: `in`, `cached`, and `out` with `thinking`.",
    )

    @property
    def total(self) -> int:
        """All tokens that were read and written."""
        return self.input + self.output + self.thinking

    def __add__(self, other: "TokenUse") -> "TokenUse":
        """The sum of both."""
        return TokenUse(
            input=self.input + other.input,
            output=self.output + other.output,
            thinking=self.thinking + other.thinking,
            cached=self.cached + other.cached,
            calls=self.calls + other.calls,
            failed=self.failed + other.failed,
            estimated=self.estimated or other.estimated,
            billed=self.billed + other.billed,
            covered=tuple(map(sum, zip(self.covered, other.covered, strict=True))),
        )


NANO: Final = 1_000_000_000
"""Billionths in a US dollar."""


class Money(Value):
    """An amount, which may be known in part only."""

    usd: float | None = Field(
        default=0.0, description="US dollars of what has a price; null if nothing of it has one."
    )
    complete: bool = Field(default=True, description="Whether every model call has a price.")

    @classmethod
    def of(cls, nano: int, unpriced: int) -> "Money":
        """From billionths, and the number of calls without a price."""
        return cls(usd=None if unpriced and not nano else nano / NANO, complete=not unpriced)

    def __str__(self) -> str:
        """For example '$0.0042', '$0.0042 + unknown' or 'unknown'."""
        if self.usd is None:
            return "unknown"
        shown = f"${self.usd:.2f}" if self.usd >= 1 or not self.usd else f"${self.usd:.2g}"
        if "e" in shown:
            shown = "<$0.0001"
        return shown if self.complete else f"{shown} + unknown"


class TurnCost(Value):
    """What a turn cost, its session so far, and replaying the transcript in its place."""

    turn: Money
    session: Money = Field(description="The session so far, this turn included.")
    replay: Money = Field(description="Replaying the transcript in this turn, at least.")
    session_replay: Money = Field(description="The same for the session so far.")
    unpriced: list[str] = Field(
        default_factory=list, description="Models of this turn without a price."
    )


class TurnReport(Value):
    """Full report of one turn. Field names are a public contract."""

    turn: int
    input: str
    answer: str
    """As shown: with the notes below it, unless they went to its metadata alone."""
    ccs: CompressedCognitiveState
    ccs_diff: CcsDiff
    constraints: list[ReportedConstraint]
    recalled: list[str]
    qualified: list[ReportedVerdict]
    bullet_ids: list[str]
    deltas: list[ReportedDelta]
    playbook_version: int
    tokens: dict[str, TokenUse]
    ms: dict[str, float]
    model: dict[str, str]
    warnings: list[str]
    saved: dict[str, str] = Field(
        default_factory=dict, description="Stages that asked no model, each with the reason."
    )
    why_asked: str = Field(
        default="",
        description="Why the Compressor's model was asked; empty where code carried the state on.",
    )
    learning: ReportedLearning = ReportedLearning()
    cost: TurnCost | None = Field(
        default=None, description="Money; null for a turn that is reported again."
    )
    questions: list[ReportedQuestion] = Field(
        default_factory=list, description="Open questions about rules and goal, oldest first."
    )
    notes: list[str] = Field(
        default_factory=list,
        description="Rules made and changed, what waits, what was not kept: lines by code.",
    )
    session: str = ""
    ccs_version: int = 0
    ccs_tokens: int = 0
    ccs_budget: int = 0
    tool_calls: list[dict[str, Any]] = Field(default_factory=list)


class FeedbackReport(Value):
    """Result of feedback on a turn. Field names are a public contract."""

    id: str
    turn: int
    fresh: bool = Field(description="False if this feedback was already stored.")
    learned: bool = Field(description="Whether reflection on it is done.")
    deltas: list[ReportedDelta] = Field(description="Tags and operations, each with its result.")
    left: list[ReportedDeparture] = Field(
        default_factory=list, description="Bullets that left the full playbook; restorable."
    )
    playbook_version: int
    warnings: list[str]


Stage = Literal[
    "initializer", "recaller", "qualifier", "compressor", "generator", "reflector", "curator"
]


class StageStarted(Value):
    """A stage started."""

    type: Literal["stage_started"] = "stage_started"
    stage: Stage


class StageFinished(Value):
    """A stage finished."""

    type: Literal["stage_finished"] = "stage_finished"
    stage: Stage
    ms: float
    model: str | None = None
    tokens: TokenUse = TokenUse()


class AnswerChunk(Value):
    """The next piece of the answer, as it streams."""

    type: Literal["answer_chunk"] = "answer_chunk"
    text: str


class ToolStarted(Value):
    """The Generator called a tool."""

    type: Literal["tool_started"] = "tool_started"
    name: str
    args: dict[str, Any]


class ToolFinished(Value):
    """A tool returned."""

    type: Literal["tool_finished"] = "tool_finished"
    name: str
    is_error: bool = False


class Answer(Value):
    """The whole answer. Reflection and curation run after this event."""

    type: Literal["answer"] = "answer"
    text: str
    model: str
    note: str = ""


class TurnDone(Value):
    """The turn has finished, including learning."""

    type: Literal["turn_done"] = "turn_done"
    report: TurnReport


CONFIRMATION: Final = "adk_request_confirmation"
"""The name under which ADK asks a person whether a tool may run."""


class WaitingCall(Value):
    """A call that waits for a person's answer."""

    id: str
    name: str
    args: dict[str, Any]

    @property
    def hint(self) -> str:
        """What a tool confirmation asks the person, in its own words; '' for other calls."""
        confirmation = self.args.get("toolConfirmation")
        hint = confirmation.get("hint") if isinstance(confirmation, dict) else None
        return hint if isinstance(hint, str) else ""

    @property
    def question(self) -> str | None:
        """What a person can say yes or no to; None for a call that wants another answer."""
        if self.name != CONFIRMATION:
            return None
        original = self.args.get("originalFunctionCall")
        name = original.get("name") if isinstance(original, dict) else None
        return self.hint or f"Run {name or 'the tool'}?"


class TurnPaused(Value):
    """The turn waits for a person; it continues when its calls are answered."""

    type: Literal["turn_paused"] = "turn_paused"
    session: str
    calls: list[WaitingCall]
    detail: str = (
        "the turn waits for a person: answer each call with a function response of its id and "
        "name, in the web UI or by POST /run; do not send the words again, they are kept"
    )


TurnEvent = (
    StageStarted
    | StageFinished
    | AnswerChunk
    | ToolStarted
    | ToolFinished
    | Answer
    | TurnDone
    | TurnPaused
)

"""One turn as evidence: input, tool calls, answer; the Generator's output, and calls in flight."""

import re
from datetime import datetime
from enum import StrEnum
from functools import partial
from operator import eq, is_, not_
from typing import Annotated, Any, Final, Self

from pydantic import Field, WithJsonSchema, model_validator
from pydantic.json_schema import SkipJsonSchema

from acc_ace.core.schemas.base import Authority, ReplyHints, ReplyValue, StoredValue, Value
from acc_ace.core.schemas.notes import below, without_notes
from acc_ace.core.schemas.reflection import Feedback, Judgement


class GeneratorOutput(ReplyValue):
    """The Generator's answer with its reasoning and the bullets it used (ACE, section 3)."""

    # The reader takes any number; the bound goes on the wire, where small models repeat a step.
    reasoning: list[str] = Field(
        default_factory=list,
        description="Short steps that led to the answer.",
        json_schema_extra={"maxItems": 8},
    )
    bullet_ids: list[str] = Field(
        default_factory=list, description="Ids of the playbook bullets that were used."
    )
    final_answer: str = Field(description="The answer to the user, in the user's language.")

    hints = ReplyHints(other_names={"final_answer": ("answer",)})


class SmallAnswer(ReplyValue):
    """The answer of a small model: what it reads in its state first, which keeps it from guessing.

    It reads as a GeneratorOutput.
    """

    state_says: str = Field(description="The words of the state that matter for the answer.")
    final_answer: str = Field(description="The answer to the user, in the user's language.")


class Attachment(Value):
    """Text that the user hands over: somebody else's words, whatever they claim to be."""

    text: str
    source: str = Field(default="", description="Where it is from, such as a file name.")


class TurnInput(Value):
    """x_t: what arrives before the agent acts; user text, or a tool's or environment's result."""

    text: str
    authority: Authority = Authority.USER
    attachments: tuple[Attachment, ...] = Field(
        default=(),
        exclude_if=not_,
        description="Text of others beside the input, of authority retrieved.",
    )
    judgement: Judgement | None = Field(
        default=None,
        exclude=True,
        description="What is said of the answer in advance; only Reflector and Curator see it.",
    )


class ToolCall(Value):
    """A tool the Generator called."""

    id: str
    name: str
    args: dict[str, Any] = Field(default_factory=dict)
    step: int = Field(
        default=0,
        ge=0,
        exclude_if=not_,
        description="Model call of the turn that made it; parallel calls share it.",
    )


class ToolResult(Value):
    """What a tool returned; `result` is bounded text."""

    tool_call_id: str
    name: str
    result: str
    is_error: bool = False
    whole: str | None = Field(
        default=None,
        exclude_if=partial(is_, None),
        description="All of a result that the model saw cut. Never goes into a prompt.",
    )


class Outcome(StrEnum):
    """Outcome of a turn."""

    ANSWERED = "answered"
    PAUSED = "paused"
    FAILED = "failed"
    UNDONE = "undone"


class GuardVerdict(StrEnum):
    """What became of a tool call that was checked against the rules."""

    ALLOWED = "allowed"
    CONFIRMED = "confirmed"
    REFUSED = "refused"
    BLOCKED = "blocked"


class GuardJudge(StrEnum):
    """Who decided it."""

    CHECK = "rule check"
    MODEL = "model"
    PERSON = "person"


class GuardDecision(Value):
    """A tool call checked against a rule in force."""

    call_id: str
    tool: str
    rule_id: str = Field(default="", description="Empty for a call that breaks none.")
    verdict: GuardVerdict
    by: GuardJudge
    why: str = ""


class ActVerdict(ReplyValue):
    """Output schema of the guard's model: whether one tool call breaks a rule."""

    why: str = Field(default="", description="One short sentence.")
    conflict: bool | None = Field(
        default=None, description="Whether the call breaks a rule; None when it cannot be known."
    )
    rule_id: str | None = Field(default=None, description="Id of the rule, as given.")


class AboutUser(ReplyValue):
    """A CCM points at a sentence in which the user says something lasting; it has no authority."""

    subject: str = ""
    """What it is about, in a noun: a later sentence on the same subject takes its place."""
    sentence: Annotated[str | int | None, WithJsonSchema({"type": "integer"})] = None
    """Its number in the current input; other text here is taken for the quote."""
    quote: SkipJsonSchema[str] = ""
    """The part of it that is meant, verbatim; empty for all of it. Heeded, and not asked for."""

    hints = ReplyHints(
        other_names={
            "subject": ("topic", "about", "name", "key"),
            "sentence": ("number", "sentence_number", "no", "index"),
            "quote": ("text", "fact", "words", "content", "value"),
        },
        bare="sentence",
        number="sentence",
        key="subject",
        content=("sentence", "quote"),
    )

    @property
    def number(self) -> int | None:
        """The number of the sentence."""
        return self.sentence if isinstance(self.sentence, int) else None

    @model_validator(mode="before")
    @classmethod
    def _pointed(cls, value: object) -> object:
        """The number and the quote from where models write them."""
        if not isinstance(value, dict):
            return value
        number = sentence_number(named := value.get("sentence"))
        words = value.get("quote") or ("" if number else named) or ""
        return {**value, "sentence": number, "quote": unmarked(words)}


def unmarked(value: object) -> object:
    """Words without the numbers of sentences, which models copy along with them."""
    return _MARKS.sub("", value) if isinstance(value, str) else value


def sentence_number(value: object) -> int | None:
    """A sentence's number, also where it was written as '⟦2⟧' or 'sentence 2'."""
    text = str(value)
    match = re.fullmatch(_NUMBER, text, re.IGNORECASE) if len(text) <= _LONGEST else None
    return int(match[1]) if match else None


_NUMBER: Final = r"[^\w-]*(?:sentence|number|no|s|文)?[^\w-]*(\d{1,5})(?:\.0)?\W*"
_LONGEST: Final = 40
"""Characters of a number with all that models write around it."""
_MARKS: Final = re.compile(r"⟦\d*⟧")


class Interaction(StoredValue):
    """One turn: input, tool calls and answer. Evidence that outlives the CCS."""

    turn: int
    invocation_id: str
    input: TurnInput
    tool_calls: list[ToolCall] = Field(default_factory=list)
    tool_results: list[ToolResult] = Field(default_factory=list)
    decision: GeneratorOutput | None = None
    outcome: Outcome = Outcome.ANSWERED
    ccs_version: int = 0
    playbook_version: int = 0
    memory: str = Field(
        default="acc",
        exclude_if=partial(eq, "acc"),
        description="Memory of the turn; older versions had others.",
    )
    models: dict[str, str] = Field(default_factory=dict)
    prompt_hashes: dict[str, str] = Field(default_factory=dict)
    guarded: list[GuardDecision] = Field(
        default_factory=list,
        exclude_if=not_,
        description="Tool calls that were checked against the rules, in their order.",
    )
    notes: list[str] = Field(
        default_factory=list, exclude_if=not_, description="Remarks about rules, by code."
    )
    notes_apart: bool = Field(
        default=False, exclude_if=not_, description="Whether they were not below the answer."
    )
    feedback: tuple[Feedback, ...] = Field(
        default=(), exclude_if=not_, description="Feedback on the answer, oldest first."
    )
    idempotency_key: str = Field(
        default="",
        exclude_if=not_,
        description="What the caller named the turn, so that a repeat of it runs nothing.",
    )
    transcript_tokens: int = Field(
        default=0,
        ge=0,
        exclude_if=not_,
        description="Estimated tokens of the transcript through this turn.",
    )
    created_at: datetime

    @property
    def answer(self) -> str:
        """What the agent said, without the notes; '' without an answer."""
        return without_notes(self.decision.final_answer if self.decision else "", self.notes)

    @property
    def shown_answer(self) -> str:
        """The answer as it was shown: with the notes below it, unless they went apart."""
        if self.notes_apart:
            return self.decision.final_answer if self.decision else ""
        return self.answer + below(self.notes) if self.decision else ""

    def with_feedback_learned(self, feedback_id: str = "") -> Self:
        """The turn with feedback marked as learnt: of this id, or all that came with the turn."""
        marked = tuple(
            item.model_copy(update={"learned": True})
            if (item.id == feedback_id if feedback_id else item.with_turn)
            else item
            for item in self.feedback
        )
        return self.model_copy(update={"feedback": marked})


class ToolStart(Value):
    """One call, written down before it is made, until its turn is committed."""

    call_id: str
    name: str
    args: dict[str, Any] = Field(default_factory=dict)
    turn: int
    started_at: datetime

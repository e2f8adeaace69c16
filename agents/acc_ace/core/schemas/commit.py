"""Commit records around a CCS: pins, versions, digest, diff, journal entry; and consent.

Consent is what a CCM proposes about rules, and what the user is asked before it happens.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from functools import partial
from operator import eq, is_, not_
from typing import Annotated, Any, Final, Self

from pydantic import Field, WithJsonSchema, model_validator
from pydantic.json_schema import SkipJsonSchema

from acc_ace.core.schemas.base import (
    Authority,
    EntryReply,
    FrozenValue,
    OptionalText,
    ReplyHints,
    ReplyValue,
    StoredValue,
    Value,
)
from acc_ace.core.schemas.ccs import CCS_FIELDS, CompressedCognitiveState, empty_ccs
from acc_ace.core.schemas.interaction import AboutUser, sentence_number, unmarked


class ChangeKind(StrEnum):
    """What a proposal would do to the rules or the goal."""

    ADD = "add"
    """What binds the agent more: in force at once."""
    PERMIT = "permit"
    """A standing permission or order to act: waits for consent, as do the next two."""
    RELEASE = "release"
    AMEND = "amend"
    GOAL = "goal"


_WIRE: Final = {"restriction": ChangeKind.ADD, "permission": ChangeKind.PERMIT} | {
    kind.value: kind for kind in (ChangeKind.RELEASE, ChangeKind.AMEND, ChangeKind.GOAL)
}
"""The kinds as the prompt names them."""

_KINDS: Final = {
    ChangeKind.ADD: "new rule newrule constraint newconstraint create insert set prohibition "
    "restriction limit preference duty 追加 制約 禁止",
    ChangeKind.PERMIT: "permission allow allowance loosening standingorder exception 許可",
    ChangeKind.RELEASE: "lift remove delete drop cancel 解除 削除",
    ChangeKind.AMEND: "change modify update replace edit 変更",
    ChangeKind.GOAL: "objective task 目標",
}
"""What models call a kind."""


class RuleChange(ReplyValue):
    """A pointer by the CCM to words of x_t that make, lift or change a rule or the goal.

    A proposal has no authority: the commit gate verifies the quote against the user's own words.
    """

    says: str = ""
    """What the sentence is, in a few words: thought before the verdict."""
    sentence: Annotated[str | int | None, WithJsonSchema({"type": "integer"})] = None
    """Its number in the current input; other text here is taken for the quote."""
    quote: str = ""
    """The clause of it that is meant, verbatim; empty for all of it."""
    kind: Annotated[ChangeKind, WithJsonSchema({"type": "string", "enum": [*_WIRE]})]
    rule_id: OptionalText = None
    """For release and amend: the id of the rule, such as 'c-0001'."""
    text: OptionalText = None
    """For amend: the rule's new wording, whole."""

    @property
    def number(self) -> int | None:
        """The number of the sentence."""
        return self.sentence if isinstance(self.sentence, int) else None

    hints = ReplyHints(
        other_names={
            "sentence": ("number", "sentence_number", "no", "index"),
            "quote": ("rule", "content", "constraint", "words"),
            "kind": ("type", "action", "change", "operation", "label"),
            "rule_id": ("id", "constraint_id"),
            "text": ("wording", "new_wording", "new_text", "new"),
        },
        meanings={
            "kind": _WIRE
            | {word: kind for kind, words in _KINDS.items() for word in words.split()}
            | {"add": ChangeKind.ADD, "permit": ChangeKind.PERMIT},
        },
        bare="quote",
        number="sentence",
        key="kind",
        content=("quote", "text", "rule_id", "sentence"),
    )

    @model_validator(mode="before")
    @classmethod
    def _pointed(cls, value: object) -> object:
        """The quote from where models write it; what names no rule and no kind is a new one."""
        if not isinstance(value, dict):
            return value
        named, quote = value.get("sentence"), value.get("quote") or ""
        # Digits alone may be the user's own words; a mark is ours.
        number = sentence_number(named or (quote if "⟦" in str(quote) else None))
        quote = quote or ("" if number else named or value.get("text") or "")
        if number == 0 or not (number or quote):
            raise ValueError("give the number of the `sentence`")
        kind = value.get("kind") or (None if value.get("rule_id") else ChangeKind.ADD)
        kinds = {"kind": kind} if kind else {}
        words = {"quote": unmarked(quote), "text": unmarked(value.get("text"))}
        return {**value, "sentence": number, **words, **kinds}


class CompressorReply(EntryReply):
    """The CCM's reply: what changes in the nine fields, and what it proposes about rules.

    A field that is missing or null stays as it was. What code carries or makes is not asked for:
    constraints, goal, trace, references; a trace and references that come all the same are heeded.
    """

    episodic_trace: SkipJsonSchema[str | None] = None
    semantic_gist: str | None = None
    focal_entities: list[str] | None = None
    relational_map: list[str] | None = None
    goal_orientation: SkipJsonSchema[str | None] = None
    constraints: SkipJsonSchema[list[str] | None] = None
    predictive_cue: str | None = None
    """Empty text is none any more."""
    uncertainty_signal: str | None = None
    retrieved_artifacts: SkipJsonSchema[list[str] | None] = None
    input_is: str = ""
    """What x_t is, in a few words: thought before what it changes."""
    asks_to_forget: OptionalText = None
    """What the user asks to have forgotten of what was said, in the user's words."""
    about_user: list[AboutUser] | None = None
    """Which of the user's own sentences say something lasting of the user."""
    rule_changes: list[RuleChange] | None = None
    """Rules and goal that the user's own words set, lift or change; None: nothing was said of
    them, neither that there are any nor that there are none."""

    def onto(self, before: CompressedCognitiveState) -> CompressedCognitiveState:
        """The nine fields: those of the reply, and of CCS_{t-1} what it leaves out.

        Trace and references are of one turn: those of CCS_{t-1} are left to the gate.
        """
        given = {name: getattr(self, name) for name in CCS_FIELDS}
        changed = {name: value for name, value in given.items() if value is not None}
        own = {"episodic_trace": "", "retrieved_artifacts": []}
        return CompressedCognitiveState.model_validate({**before.model_dump(), **own, **changed})


class OpenQuestion(FrozenValue):
    """A change that waits for the user's word; it lapses after a few turns."""

    id: str = Field(description="Stable id, 'q-0001', never reused within a session.")
    kind: ChangeKind
    rule_id: str | None = None
    quote: str = Field(default="", description="The words of x_t that raised it.")
    texts: list[str] = Field(
        default_factory=list,
        description="What would be pinned: new rules, the new wording, or the new goal.",
    )
    asked_turn: int = 0


class RuleScope(StrEnum):
    """Where a rule holds: in its session, or in every session of its user."""

    SESSION = "session"
    USER = "user"


class ToolCheck(FrozenValue):
    """What a person wants done at a tool, in place of what the rule is compiled to there."""

    tool: str = Field(min_length=1, max_length=128)
    does: str = Field(
        pattern=r"^(?:off|ask|stop|\S{1,64} (?:[<>]=? ?[$€£¥]?-?\d[\w.,' %]{0,30}|!?= \S.{0,99}))$",
        description="'off', 'ask', 'stop', or when a call is stopped: 'amount > 30 EUR', "
        "'branch = main', 'to != ann@a.example'.",
    )


class ConstraintPin(Value):
    """A constraint verbatim; `text` is its entry in `ccs.constraints`."""

    id: str = Field(
        description="Stable id, never reused: 'c-0001' in a session, 'u-0001' for a user's rules."
    )
    text: str = Field(description="The rule, verbatim from the words that set it.")
    authority: Authority
    origin_turn: int
    quote: str = Field(description="The sentence of x_t that set it.")
    scope: RuleScope = Field(default=RuleScope.SESSION, exclude_if=partial(is_, RuleScope.SESSION))
    tentative: bool = Field(
        default=False,
        exclude_if=not_,
        description="The CCM or a reader pointed at it, and no turn has passed yet without an "
        "objection. It binds like any other rule.",
    )
    checks: list[ToolCheck] = Field(default_factory=list, exclude_if=not_)


class GoalPin(Value):
    """The goal, verbatim."""

    text: str
    authority: Authority
    origin_turn: int
    quote: str


class Release(Value):
    """A released or amended constraint, with the words that did so."""

    id: str
    text: str
    quote: str
    replaced_by: str | None = Field(
        default=None, description="Id of the constraint that amends it, if any."
    )


class FieldChange(FrozenValue):
    """A changed field of the CCS, before and after."""

    field: str
    before: str | list[str] | None
    after: str | list[str] | None


class Repair(Value):
    """One repair by the gate to the model's output, with a reason code."""

    field: str
    reason: str = Field(
        description="over_budget, constraint_restored, goal_restored, "
        "goal_unsupported, artifact_unknown, whole_over_budget, duplicate, ..."
    )
    detail: str = ""


class CcsDiff(FrozenValue):
    """Changes of a commit, by type."""

    changes: list[FieldChange] = Field(default_factory=list)
    constraints_added: list[ConstraintPin] = Field(default_factory=list)
    constraints_released: list[Release] = Field(default_factory=list)
    goal_before: str | None = None
    goal_after: str | None = None
    repairs: list[Repair] = Field(default_factory=list)

    @classmethod
    def between(
        cls,
        before: "CommittedState",
        after: "CommittedState",
        *,
        added: Sequence[ConstraintPin] = (),
        released: Sequence[Release] = (),
        repairs: Sequence[Repair] = (),
    ) -> Self:
        """The difference of two states of a session; goals are given only if they differ.

        References are told by their ids: most change each turn, and a state has their words.
        """
        old, new = _with_bare_references(before.ccs), _with_bare_references(after.ccs)
        changes = [
            FieldChange(field=name, before=getattr(old, name), after=getattr(new, name))
            for name in CCS_FIELDS
            if getattr(old, name) != getattr(new, name)
        ]
        goal_changed = old.goal_orientation != new.goal_orientation
        return cls(
            changes=changes,
            constraints_added=list(added),
            constraints_released=list(released),
            goal_before=old.goal_orientation if goal_changed else None,
            goal_after=new.goal_orientation if goal_changed else None,
            repairs=_bounded(repairs),
        )


def _with_bare_references(ccs: CompressedCognitiveState) -> CompressedCognitiveState:
    bare = [each[: each.find("] ") + 1] or each for each in ccs.retrieved_artifacts]
    return ccs.model_copy(update={"retrieved_artifacts": bare})


MAX_REPAIRS: Final = 64
"""Repairs kept in a diff, so that junk output cannot make the journal grow without bound."""


def _bounded(repairs: Sequence[Repair]) -> list[Repair]:
    if len(repairs) <= MAX_REPAIRS:
        return list(repairs)
    more = len(repairs) - MAX_REPAIRS + 1
    tail = Repair(field="*", reason="more_repairs", detail=f"{more} more")
    return [*repairs[: MAX_REPAIRS - 1], tail]


class NotKept(FrozenValue):
    """Words of the user's that may be a rule and are none, as no CCM that is believed says so."""

    text: str
    turn: int


class CommittedState(StoredValue, FrozenValue):
    """CCS_t with its bookkeeping; the value of session.state['ccs'] and of a journal row."""

    version: int = Field(default=0, description="Monotonic per session, one per commit.")
    turn: int = Field(default=0, description="Turns completed, undone ones not counted.")
    ccs: CompressedCognitiveState = Field(default_factory=empty_ccs)
    pins: list[ConstraintPin] = Field(default_factory=list)
    goal_pin: GoalPin | None = None
    next_pin: int = Field(default=1, description="Number of the next constraint id.")
    questions: list[OpenQuestion] = Field(
        default_factory=list,
        exclude_if=not_,
        description="What waits for the user's word, oldest first.",
    )
    not_kept: list[NotKept] = Field(
        default_factory=list,
        exclude_if=not_,
        description="What may be a rule and is none since the CCM is not believed, newest last.",
    )
    next_question: int = Field(
        default=1, exclude_if=partial(eq, 1), description="Number of the next question id."
    )
    read_to: str = Field(
        default="",
        exclude_if=not_,
        description="Invocation of the turn whose words the CCM read last: its answer and what "
        "came after it stand in the trace. Empty for the newest one.",
    )
    has_foreign_text: bool = Field(
        default=False,
        exclude_if=not_,
        description="Whether words of others came into the session; it may rest on them since.",
    )
    next_user_pin: int = Field(
        default=1,
        exclude_if=partial(eq, 1),
        description="Number of the user's next rule, as known when the version was made.",
    )

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical JSON of everything above that is not empty.

        Empty values and the schema's version stay out, so that a field added later (empty by
        default) leaves the digests of states stored before it as they are.
        """
        values = self.model_dump(mode="json", exclude={"schema_version"})
        payload = json.dumps(
            _without_empty(values), sort_keys=True, ensure_ascii=False, separators=(",", ":")
        )
        return hashlib.sha256(payload.encode("utf-8", "surrogatepass")).hexdigest()

    def to_state(self) -> dict[str, Any]:
        """The JSON-safe dict kept in session.state: nine fields on top, bookkeeping in 'meta'."""
        meta = self.model_dump(mode="json", exclude={"ccs"})
        return {**self.ccs.model_dump(mode="json"), "meta": {**meta, "digest": self.digest}}

    @classmethod
    def from_state(cls, value: object) -> Self:
        """Parse the output of `to_state`; raises ValueError if it was altered or is invalid."""
        if not isinstance(value, dict) or not isinstance(value.get("meta"), dict):
            raise ValueError("session.state['ccs'] is not a committed state")
        fields = {name: value[name] for name in CCS_FIELDS if name in value}
        meta = dict(value["meta"])
        digest = meta.pop("digest", None)
        state = cls.model_validate({**meta, "ccs": fields})
        if state.digest != digest:
            raise ValueError("session.state['ccs'] does not match its digest")
        return state


class CommitKind(StrEnum):
    """Kind of a journal entry."""

    COMMIT = "commit"
    KEPT = "kept"
    RULES = "rules"
    """A rule was made, lifted or a question answered outside of a turn."""
    EDIT = "edit"
    """The user rewrote fields of the state outside of a turn."""
    ERASE = "erase"
    """What the user deleted of memory left the state, and every version before."""
    ROLLBACK = "rollback"
    RESET = "reset"


class JournalEntry(FrozenValue):
    """One version of a session's state. Entries are only ever appended."""

    kind: CommitKind
    state: CommittedState
    diff: CcsDiff
    invocation_id: str
    created_at: datetime
    warnings: list[str] = Field(default_factory=list)
    why_asked: str = Field(
        default="",
        exclude_if=not_,
        description="Why the CCM was asked in this turn; empty where code carried the state on.",
    )
    follows: int | None = Field(
        default=None,
        exclude_if=lambda value: value is None,
        description="Version whose content a rollback restored; 0 is CCS_0.",
    )


def _without_empty(value: object) -> object:
    """JSON without the members of objects that are null, false, zero or empty."""
    if isinstance(value, dict):
        return {key: _without_empty(member) for key, member in value.items() if member}
    return [_without_empty(item) for item in value] if isinstance(value, list) else value

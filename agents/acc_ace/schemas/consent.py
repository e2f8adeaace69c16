"""Consent: what a CCM proposes about rules, and what the user is asked before it happens."""

from enum import StrEnum

from pydantic import Field

from acc_ace.schemas.base import Value
from acc_ace.schemas.ccs import CompressedCognitiveState


class ChangeKind(StrEnum):
    """What a proposal would do to the rules or the goal."""

    ADD = "add"
    RELEASE = "release"
    AMEND = "amend"
    GOAL = "goal"


class RuleChange(Value):
    """A pointer by the CCM to words of x_t that make, lift or change a rule or the goal.

    A proposal has no authority: the commit gate verifies the quote against the user's own words.
    """

    kind: ChangeKind
    quote: str
    """The sentence or clause of the current input, verbatim."""
    rule_id: str | None = None
    """For release and amend: the id of the rule, such as 'c-0001'."""
    text: str | None = None
    """For amend: the new wording, verbatim from the current input."""
    sure: bool = True
    """False if it may be no standing rule: the user is asked."""


class CompressorReply(CompressedCognitiveState):
    """The CCM's reply: the nine fields of the CCS, and what it proposes about rules."""

    rule_changes: list[RuleChange] = Field(default_factory=list)
    """Rules and goal that the user's own words set, lift or change."""

    @property
    def ccs(self) -> CompressedCognitiveState:
        """The nine fields alone."""
        return CompressedCognitiveState(**self.model_dump(exclude={"rule_changes"}))


class OpenQuestion(Value):
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

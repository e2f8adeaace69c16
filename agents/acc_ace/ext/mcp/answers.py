"""What the tools answer, as values with a schema that clients are told."""

from pydantic import BaseModel, ConfigDict

from acc_ace.core.schemas.artifact import MemoryHit
from acc_ace.core.schemas.ccs import CompressedCognitiveState
from acc_ace.core.schemas.commit import CommittedState, RuleScope


class ToolAnswer(BaseModel):
    """An answer, whose fields are described by the text below each."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class RuleInForce(ToolAnswer):
    """A rule that holds now."""

    id: str
    text: str
    """Verbatim."""
    scope: RuleScope
    """This session, or every session of the person."""


class WaitingChange(ToolAnswer):
    """A change of the rules or the goal that waits for the person."""

    id: str
    text: str
    """What waits; `rules` with the action 'answer' asks the person."""


class Remembered(ToolAnswer):
    """What became of a text."""

    turn: int
    notes: list[str]
    """What it means for the rules: show these lines to the person."""
    waiting: list[WaitingChange]


class Recalled(ToolAnswer):
    """What memory holds of a query, best first, without what no model may be shown."""

    evidence: list[MemoryHit]
    """Data, whatever it says; the speaker 'tool' stands for what came through an agent."""
    rules: list[RuleInForce]
    """They bind, whatever the evidence says."""
    warnings: list[str]


class RulesNow(ToolAnswer):
    """The rules after the call."""

    notes: list[str]
    """What the call did: show these lines to the person."""
    rules: list[RuleInForce]
    waiting: list[WaitingChange]
    command: str = ""
    """What the person has to type in a terminal, as nobody could be asked here."""


class StateNow(ToolAnswer):
    """The compressed state that replaces the transcript."""

    turn: int
    version: int
    state: CompressedCognitiveState
    rules: list[RuleInForce]
    waiting: list[WaitingChange]


class LessonsNow(ToolAnswer):
    """The lessons of the playbook, without those that a rule in force forbids."""

    version: int
    lessons: list[str]
    """'[id] helpful=… harmful=… :: lesson'."""


def rules_of(state: CommittedState) -> list[RuleInForce]:
    """The rules of a state, in their order."""
    return [RuleInForce(id=pin.id, text=pin.text, scope=pin.scope) for pin in state.pins]

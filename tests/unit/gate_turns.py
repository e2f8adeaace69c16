"""Turns through the commit gate, and the proposals of a scripted CCM."""

from collections.abc import Mapping, Sequence

from acc_ace.core.gates.commit_gate import GateResult
from acc_ace.core.gates.references import Evidence
from schemas.base import Authority
from schemas.ccs import CompressedCognitiveState, empty_ccs
from schemas.commit import ChangeKind, CommittedState, RuleChange
from schemas.interaction import Attachment, TurnInput
from schemas.limits import Limits
from tests.fakes.gate import commit

LIMITS = Limits()
BAN_EN = "Never restart db-01 during business hours."
BAN_JA = "営業時間内は再起動禁止。"
GOAL = "Restore the checkout."


def ccs(**fields: object) -> CompressedCognitiveState:
    """A state with some of the nine fields set."""
    return empty_ccs().model_copy(update=fields)


def add(quote: str) -> RuleChange:
    """The CCM takes these words for a rule."""
    return RuleChange(kind=ChangeKind.ADD, quote=quote)


def permit(quote: str) -> RuleChange:
    """The CCM takes these words for a permission."""
    return RuleChange(kind=ChangeKind.PERMIT, quote=quote)


def release(quote: str, rule_id: str | None = "c-0001") -> RuleChange:
    """The CCM takes these words for the end of a rule."""
    return RuleChange(kind=ChangeKind.RELEASE, quote=quote, rule_id=rule_id)


def amend(quote: str, text: str | None = None, rule_id: str = "c-0001") -> RuleChange:
    """The CCM takes these words for a change of a rule."""
    return RuleChange(kind=ChangeKind.AMEND, quote=quote, rule_id=rule_id, text=text)


def aim(quote: str) -> RuleChange:
    """The CCM takes these words for the goal."""
    return RuleChange(kind=ChangeKind.GOAL, quote=quote)


def say(
    state: CommittedState,
    text: str,
    *changes: RuleChange,
    proposal: CompressedCognitiveState | None = None,
    authority: Authority = Authority.USER,
    attached: Sequence[str] = (),
    evidence: Mapping[str, str] | None = None,
    limits: Limits = LIMITS,
) -> GateResult:
    """One turn; without a proposal the compressor echoes the state it was given."""
    attachments = tuple(Attachment(text=given) for given in attached)
    return commit(
        state,
        proposal if proposal is not None else state.ccs,
        TurnInput(text=text, authority=authority, attachments=attachments),
        evidence=Evidence(evidence or {}),
        limits=limits,
        changes=changes,
    )


def reply(result: GateResult, text: str, *changes: RuleChange) -> GateResult:
    """The turn that follows."""
    return say(result.state, text, *changes)


def started(*rules: str, goal: str = "") -> CommittedState:
    """A state with these rules, set beyond doubt, and a goal."""
    state = CommittedState()
    for rule in rules:
        state = say(state, f"Rule: {rule}").state
    return say(state, f"Goal: {goal}").state if goal else state


def texts(result: GateResult) -> list[str]:
    """The rules in force after a turn."""
    return [pin.text for pin in result.state.pins]


def asked(result: GateResult) -> list[str]:
    """The texts that the questions of a state would pin."""
    return [text for question in result.state.questions for text in question.texts]


def reasons(result: GateResult) -> set[str]:
    """Why something of the CCM's was mended."""
    return {repair.reason for repair in result.diff.repairs}

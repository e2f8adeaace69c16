"""The commit gate with the words of x_t read, as a turn does it, for proposals of a test's own."""

from collections.abc import Sequence

from acc_ace.core.gates.commit_gate import GateResult
from acc_ace.core.gates.commit_gate import commit as commit_gate
from acc_ace.core.gates.references import NO_EVIDENCE, Evidence
from acc_ace.core.text.rules.reading import read_user_words
from schemas.ccs import CompressedCognitiveState
from schemas.commit import CommittedState, CompressorReply, RuleChange
from schemas.interaction import TurnInput
from schemas.limits import Limits


def commit(
    previous: CommittedState,
    proposal: CompressedCognitiveState | None,
    turn_input: TurnInput,
    *,
    limits: Limits,
    changes: Sequence[RuleChange] | None = (),
    evidence: Evidence = NO_EVIDENCE,
) -> GateResult:
    """CCS_t from a proposal and these changes of the rules; None leaves them to the reader."""
    return commit_gate(
        previous,
        proposal,
        turn_input,
        read_user_words(turn_input, _reply(changes), previous.pins, questions=previous.questions),
        evidence=evidence,
        limits=limits,
    )


def _reply(changes: Sequence[RuleChange] | None) -> CompressorReply:
    return CompressorReply(rule_changes=None if changes is None else [*changes])

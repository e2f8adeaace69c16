"""Make the report of a finished turn."""

from acc_ace.adk.repeated_turn import reported_constraints
from acc_ace.schemas.limits import Limits
from acc_ace.schemas.report import (
    ReportedDelta,
    ReportedVerdict,
    TokenUse,
    TurnReport,
)
from acc_ace.text.prompt import ccs_tokens
from acc_ace.turn.turn_record import StageUse, TurnRecord, needed


def turn_report(record: TurnRecord, limits: Limits) -> TurnReport:
    """The report; raises LookupError for a turn that was not answered."""
    entry = needed(record.entry, "entry", "report")
    generation = needed(record.generation, "generation", "report")
    state = entry.state
    return TurnReport(
        turn=state.turn,
        input=needed(record.turn_input, "turn_input", "report").text,
        answer=generation.final_answer,
        ccs=state.ccs,
        ccs_diff=entry.diff,
        constraints=reported_constraints(state.pins),
        recalled=[found.artifact.artifact_id for found in record.recalled.candidates],
        qualified=[
            ReportedVerdict(artifact_id=v.artifact_id, ok=v.ok, reason=v.reason)
            for v in (*record.known, *record.qualification.verdicts)
        ],
        bullet_ids=generation.bullet_ids,
        deltas=[
            ReportedDelta(type=d.type, status=d.status, reason=d.reason, bullet_id=d.bullet_id)
            for d in record.deltas
        ],
        playbook_version=record.playbook.version if record.playbook else 0,
        tokens={stage: _tokens(use) for stage, use in record.stages.items() if use.calls},
        ms={stage: round(use.ms, 3) for stage, use in record.stages.items()},
        model={stage: use.model for stage, use in record.stages.items() if use.model},
        warnings=list(record.warnings),
        session=record.key.session,
        ccs_version=state.version,
        ccs_tokens=ccs_tokens(state.ccs),
        ccs_budget=limits.ccs_tokens,
        memory=record.memory,
        context_tokens=record.context.tokens if record.context else None,
        tool_calls=[call.model_dump(mode="json") for call in record.tool_calls],
    )


def _tokens(use: StageUse) -> TokenUse:
    return TokenUse(**{"in": use.tokens_in, "out": use.tokens_out})

"""The finished turn as input to learning, and notes on learning for the turn's report."""

from acc_ace.container import Container
from acc_ace.core.playbook.curation.curation_record import Curated
from acc_ace.core.playbook.refine.refine_plan import OVER_BUDGET, departures
from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.report import ReportedLearning
from acc_ace.turn.algorithm import require
from acc_ace.turn.reflection_step import TurnOutcome, evidence_of, was_guarded
from acc_ace.turn.turn_record import TurnRecord


def turn_outcome(record: TurnRecord) -> TurnOutcome:
    """The finished turn; raises LookupError when it was not answered."""
    if record.outcome is not None:
        return record.outcome
    return TurnOutcome(
        turn_input=require(record.turn_input, "turn_input", "learning"),
        state=require(record.entry, "entry", "learning").state,
        generation=require(record.decision, "decision", "learning"),
        tool_results=record.tool_results,
        previous=record.previous_turn,
        warnings=record.warnings,
        feedback=record.feedback,
        documents=tuple(
            found.content
            for found in record.qualification.qualified
            if found.authority in {Authority.TOOL, Authority.RETRIEVED}
        ),
        guarded=was_guarded(record),
    )


def look_for_evidence(container: Container, record: TurnRecord) -> bool:
    """Whether the turn is learnt from; reports its evidence, or that there is none."""
    found = evidence_of(turn_outcome(record))
    is_learnt_from = bool(found) or container.settings.learn_on == "every"
    skipped = "" if is_learnt_from else "no_evidence"
    if skipped:
        record.saved["reflector"] = record.saved["curator"] = skipped
    record.learning = ReportedLearning(evidence=list(found), skipped=skipped)
    return is_learnt_from


def note_departures(record: TurnRecord, curated: Curated) -> None:
    """Report which bullets left a full playbook, or that there was no room."""
    left = departures(curated.records)
    if left:
        known = [*record.learning.left, *left]
        record.learning = record.learning.model_copy(update={"left": known})
        ids = ", ".join(gone.bullet_id for gone in left)
        record.warn(
            f"the playbook is full: {ids} left to make room; 'playbook restore' reverts that"
        )
    if any(result.reason == OVER_BUDGET for result in curated.results):
        record.warn(
            "the playbook is full of proven and pinned lessons: a new one is held; unpin or remove "
            "some, or raise ACC_ACE_LIMITS__PLAYBOOK_BULLETS or …PLAYBOOK_TOKENS"
        )


async def note_learned(container: Container, record: TurnRecord) -> None:
    """Mark the turn's own feedback as learned; the turn still holds its session.

    Raises StoreError.
    """
    turn = await container.evidence.last(record.key) if record.feedback else None
    if turn is not None and turn.invocation_id == record.invocation_id:
        await container.evidence.record(record.key, turn.with_feedback_learned())

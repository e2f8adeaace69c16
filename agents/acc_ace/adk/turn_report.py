"""What callers hear of a turn: its report, also when it is repeated, and the calls that wait."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from google.adk.events import Event

from acc_ace.adk.memory_view import screened_bullets
from acc_ace.container import Container
from acc_ace.core.gates.ccs_budget import ccs_tokens
from acc_ace.core.gates.consent_notes import question_text
from acc_ace.core.playbook.rule_screen import AGAINST_RULE
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.commit import (
    ChangeKind,
    CommittedState,
    ConstraintPin,
    JournalEntry,
    OpenQuestion,
)
from acc_ace.core.schemas.interaction import Interaction, Outcome
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.report import (
    ReportedCheck,
    ReportedConstraint,
    ReportedDelta,
    ReportedDeparture,
    ReportedQuestion,
    ReportedVerdict,
    TurnDone,
    TurnPaused,
    TurnReport,
    WaitingCall,
)
from acc_ace.core.text.normalize import language_of
from acc_ace.errors import AccAceError, NotFoundError
from acc_ace.turn.lifecycle import TurnLifecycle
from acc_ace.turn.spending import Spending, turn_cost
from acc_ace.turn.turn_commit import interaction_of
from acc_ace.turn.turn_record import TurnOptions, TurnRecord, require

logger = logging.getLogger(__name__)


class TurnRepeated(Exception):
    """The turn of an idempotency key is committed already; nothing is run again."""

    def __init__(self, turn: Interaction) -> None:
        super().__init__(f"turn {turn.turn} was already committed under this idempotency key")
        self.kept = turn


async def repeated_event(
    container: Container, key: SessionKey, interaction: Interaction
) -> TurnDone | TurnPaused:
    """The last event of a turn, from its evidence and its journal entry. Raises StoreError."""
    if interaction.outcome is Outcome.PAUSED:
        return TurnPaused(session=key.session, calls=_waiting(interaction))
    entry = await container.journal.get(key, interaction.ccs_version)
    if entry is None:
        raise NotFoundError(f"session '{key.session}' has no version {interaction.ccs_version}")
    return TurnDone(report=_report(key, entry, interaction, container.settings.limits))


async def repeated_turn(
    container: Container, key: SessionKey, request: TurnOptions
) -> TurnDone | TurnPaused | None:
    """The last event of the committed turn of an idempotency key, if there is one.

    A turn that still runs is waited for by the turn's own check, which ADK logs as an error.
    Raises InputError for another input, or StoreError.
    """
    lifecycle = TurnLifecycle(container)
    turn = await lifecycle.repeated(key, request.idempotency_key, request.input)
    return None if turn is None else await repeated_event(container, key, turn)


def reported_constraints(
    pins: Sequence[ConstraintPin], checks: Mapping[str, list[ReportedCheck]] = MappingProxyType({})
) -> list[ReportedConstraint]:
    """Constraints as a report shows them, with what they do at tools."""
    return [
        ReportedConstraint(
            id=pin.id,
            text=pin.text,
            authority=pin.authority,
            origin_turn=pin.origin_turn,
            quote=pin.quote,
            scope=pin.scope,
            tentative=pin.tentative,
            checks=checks.get(pin.id, []),
        )
        for pin in pins
    ]


def reported_questions(state: CommittedState) -> list[ReportedQuestion]:
    """Open questions as a report shows them, each in the language of its quote."""
    return [
        ReportedQuestion(
            id=question.id,
            kind=question.kind,
            rule_id=question.rule_id,
            quote=question.quote,
            text=question_text(question, state.pins, language_of(question.quote)),
            before=_in_force(question, state),
            after=question.texts,
            asked_turn=question.asked_turn,
        )
        for question in state.questions
    ]


def _in_force(question: OpenQuestion, state: CommittedState) -> str:
    """The rule or goal that a question would change."""
    if question.kind is ChangeKind.GOAL:
        return state.goal_pin.text if state.goal_pin else ""
    return next((pin.text for pin in state.pins if pin.id == question.rule_id), "")


def _report(key: SessionKey, entry: JournalEntry, turn: Interaction, limits: Limits) -> TurnReport:
    """The stored part of a report: without recall, learning and cost."""
    state: CommittedState = entry.state
    decision = turn.decision
    return TurnReport(
        turn=turn.turn,
        input=turn.input.text,
        answer=turn.shown_answer,
        notes=turn.notes,
        ccs=state.ccs,
        ccs_diff=entry.diff,
        constraints=reported_constraints(state.pins),
        questions=reported_questions(state),
        recalled=[],
        qualified=[],
        bullet_ids=decision.bullet_ids if decision else [],
        deltas=[],
        playbook_version=turn.playbook_version,
        tokens={},
        ms={},
        model=turn.models,
        warnings=entry.warnings,
        why_asked=entry.why_asked,
        session=key.session,
        ccs_version=state.version,
        ccs_tokens=ccs_tokens(state.ccs),
        ccs_budget=limits.ccs_tokens,
        tool_calls=[call.model_dump(mode="json") for call in turn.tool_calls],
    )


def _waiting(interaction: Interaction) -> list[WaitingCall]:
    """The calls that have no result yet."""
    known = {result.tool_call_id for result in interaction.tool_results}
    return [
        WaitingCall(id=call.id, name=call.name, args=call.args)
        for call in interaction.tool_calls
        if call.id not in known
    ]


def turn_report(record: TurnRecord, limits: Limits, spending: Spending) -> TurnReport:
    """The report; raises LookupError for a turn that was not answered."""
    entry, observer = require(record.entry, "entry", "report"), record.observer
    require(record.decision, "decision", "report")
    turn = interaction_of(record, Outcome.ANSWERED, at=entry.created_at, prompt_hashes={})
    uses = spending.prices.priced(observer.run, record.number, observer.used)
    measured = {
        "recalled": [item.artifact.artifact_id for item in record.recalled.candidates],
        "qualified": [
            ReportedVerdict(artifact_id=v.artifact_id, ok=v.ok, reason=v.reason)
            for v in (*record.start.known, *record.qualification.verdicts)
        ],
        "deltas": [
            ReportedDelta(type=d.type, status=d.status, reason=d.reason, bullet_id=d.bullet_id)
            for d in record.learning.deltas
        ],
        "saved": dict(observer.saved),
        "learning": record.learning.report.model_copy(
            update={"withheld": _withheld(record, limits)}
        ),
        "tokens": {s: use.tokens for s, use in observer.stages.items() if use.tokens.calls},
        "ms": {stage: round(use.ms, 3) for stage, use in observer.stages.items()},
        "warnings": list(observer.warnings),
        "cost": turn_cost(uses, observer.cost_before),
    }
    return _report(record.key, entry, turn, limits).model_copy(update=measured)


def _withheld(record: TurnRecord, limits: Limits) -> list[ReportedDeparture]:
    return [
        ReportedDeparture(bullet_id=bullet.id, content=bullet.content, reason=AGAINST_RULE)
        for bullet in screened_bullets(record, limits).against
    ]


def waiting_calls(event: Event) -> Iterator[WaitingCall]:
    """The calls of an event that a person must answer."""
    waiting = event.long_running_tool_ids or ()
    for call in event.get_function_calls():
        if call.id in waiting and not event.partial:
            yield WaitingCall(id=call.id or "", name=call.name or "", args=dict(call.args or {}))


def learning_failed(record: TurnRecord, error: AccAceError) -> None:
    """Report that learning failed; the answer stays committed."""
    logger.warning("learning_failed session=%s code=%s", record.key.session, error.code)
    record.observer.warn(f"learning from this turn failed: {error}")

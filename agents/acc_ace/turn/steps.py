"""Recall, qualify, compress: steps 2 to 4 of a turn, each from values to a value.

Qualification applies rules first, and the model judges only the rest; the CCM's reply passes the
commit gate before it becomes CCS_t. What a step costs goes to the turn's observer.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import NamedTuple

from acc_ace.container import Container
from acc_ace.core.gates.commands import is_acknowledgement
from acc_ace.core.gates.commit_gate import GateResult, commit
from acc_ace.core.gates.consent_notes import invites_reply
from acc_ace.core.gates.qualification_gate import conclude, decide_by_score, screen
from acc_ace.core.gates.references import Evidence, carried
from acc_ace.core.gates.screening import quotation
from acc_ace.core.schemas.artifact import (
    Artifact,
    ArtifactKind,
    Recall,
    RecalledArtifact,
    RecallQuery,
)
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.commit import CommitKind, CommittedState, CompressorReply, JournalEntry
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.qualification import Qualification, QualificationReason, RelevanceBatch
from acc_ace.core.text.rules.contradiction import screened_input
from acc_ace.core.text.rules.own_words import own_words
from acc_ace.core.text.rules.reading import Trust, read_proposals, read_user_words
from acc_ace.memory.excerpts import quotations
from acc_ace.memory.turn_artifacts import turn_artifact_id
from acc_ace.turn.ccm_record import marks_of, trust_in
from acc_ace.turn.foreign_text import has_foreign_text
from acc_ace.turn.observer import TurnObserver
from acc_ace.turn.ports import Ccm, CcmMarks
from acc_ace.turn.structured_call import (
    Completion,
    StructuredResult,
    artifact_values,
    input_value,
    load_prompts,
    parser,
    state_value,
    structured_call,
)
from acc_ace.turn.turn_record import TurnStart

_QUOTED = 3
"""Quotations of full length that the references have room for."""


def recall_query(
    key: SessionKey,
    turn_input: TurnInput,
    previous: CommittedState,
    limits: Limits,
    *,
    at: datetime,
) -> RecallQuery:
    """The query: x_t at time `at`, and the entities, goal, open questions and gist of CCS_{t-1}."""
    return RecallQuery(
        key=key,
        text=turn_input.text,
        state_terms=state_terms(previous),
        limit=limits.recall_k,
        max_tokens=limits.recall_tokens,
        excerpt_tokens=limits.artifact_tokens,
        asked_at=at,
    )


def state_terms(previous: CommittedState) -> list[str]:
    """Entities, goal, open questions and gist of CCS_{t-1}: what x_t may leave unsaid."""
    ccs = previous.ccs
    terms = [
        *ccs.focal_entities,
        ccs.goal_orientation,
        ccs.uncertainty_signal,
        ccs.semantic_gist,
    ]
    return [term for term in terms if term]


async def recall(container: Container, start: TurnStart, observer: TurnObserver) -> Recall:
    """At most k candidates, preceded by the unsettled calls of turns that died.

    Raises StoreError when the store cannot be read.
    """
    with observer.stage("recaller"):
        if _is_acknowledged(start):
            return Recall()
        previous, limits = start.previous, container.settings.limits
        query = recall_query(start.key, start.x_t, previous, limits, at=container.local_now())
        recalled = await container.artifacts.recall(query)
        observer.warn(*recalled.warnings)
        lost = [
            RecalledArtifact(artifact=call.artifact, score=1.0, why=["outcome unknown"])
            for call in start.lost
        ]
        unseen = await _unseen(container, start, recalled)
        candidates = [*lost, *unseen, *recalled.candidates]
        return recalled.model_copy(update={"candidates": candidates})


async def _unseen(
    container: Container, start: TurnStart, recalled: Recall
) -> list[RecalledArtifact]:
    """The turn before an acknowledgement, whose answer no CCM has seen, unless recalled."""
    if not start.previous.unseen_turn:
        return []
    artifact_id = turn_artifact_id(start.key, start.previous.unseen_turn)
    if any(each.artifact.artifact_id == artifact_id for each in recalled.candidates):
        return []
    turn = await container.artifacts.get(start.key.tenant, artifact_id)
    return [RecalledArtifact(artifact=turn, score=1.0, why=["not seen yet"])] if turn else []


async def qualify(
    container: Container,
    start: TurnStart,
    recalled: Recall,
    observer: TurnObserver,
    model: Completion,
    *,
    needed: frozenset[str] = frozenset(),
) -> Qualification:
    """Screen by rule, let the model judge the rest in one call, conclude.

    If the model is down, unjudged candidates are left out. Those `needed` are relevant whatever x_t
    asks, and so are lost calls and the unseen turn.
    """
    limits, previous = container.settings.limits, start.previous
    with observer.stage("qualifier") as use:
        unseen = turn_artifact_id(start.key, previous.unseen_turn)
        screening = screen(
            recalled,
            key=start.key,
            state=previous,
            now=container.clock.now(),
            limits=limits,
            mandatory=needed | {unseen, *(call.artifact.artifact_id for call in start.lost)},
        )
        scores = {each.artifact.artifact_id: each.score for each in recalled.candidates}
        decided = decide_by_score(screening.to_judge, scores)
        known = {decision.artifact_id for decision in decided}
        doubtful = [each for each in screening.to_judge if each.artifact_id not in known]
        result: StructuredResult[RelevanceBatch] = StructuredResult(value=None)
        if doubtful:
            result = await structured_call(
                model,
                load_prompts().qualifier,
                _inputs(start, "candidates", doubtful, limits),
                parser(RelevanceBatch),
                repairs=limits.repairs,
            )
        else:
            observer.saved["qualifier"] = "decided by rules and scores"
        observer.count(use, result)
        judged = result.value.decisions if result.value else []
        return conclude(screening, RelevanceBatch(decisions=[*decided, *judged]), limits=limits)


class Prepared(NamedTuple):
    """CCS_t, which the turn's commit writes, and remarks about rules for the answer."""

    entry: JournalEntry
    notes: tuple[str, ...]
    unkept: tuple[str, ...]
    """What x_t says that may be a rule and is not kept."""


async def compress(
    container: Container,
    start: TurnStart,
    qualified: Qualification,
    observer: TurnObserver,
    model: Completion,
) -> Prepared:
    """Call the CCM for CCS_t and pass its reply through the commit gate.

    An acknowledgement carries the state on without the CCM. Raises ConstraintBudgetError when the
    constraints alone are over budget.
    """
    limits = container.settings.limits
    with observer.stage("compressor") as use:
        if _is_acknowledged(start):
            observer.saved["compressor"] = "acknowledgement"
            gate = _carried_on(start, limits)
        else:
            inputs = _inputs(start, "artifacts", qualified.qualified, limits)
            inputs.update(await asyncio.to_thread(_numbered, start))
            result = await structured_call(
                model,
                load_prompts().compressor,
                inputs,
                partial(read_proposals, x_t=start.x_t, inputs=inputs),
                repairs=limits.repairs,
            )
            observer.count(use, result)
            trust = await _trust(container, start, result, observer)
            # The language pass takes about 15 ms per 1,000 characters; its rules compile once.
            gate = await asyncio.to_thread(_gated, start, qualified, result.value, trust, limits)
        observer.warn(*gate.warnings)
        mixed = start.previous.has_foreign_text or has_foreign_text(
            start.key, start.x_t, qualified.qualified, start.previous_turn
        )
        released = [*start.dropped, *gate.diff.constraints_released]
        entry = JournalEntry(
            kind=CommitKind.KEPT if gate.kept else CommitKind.COMMIT,
            state=gate.state.model_copy(update={"has_foreign_text": mixed}),
            diff=gate.diff.model_copy(update={"constraints_released": released}),
            invocation_id=start.invocation_id,
            created_at=container.clock.now(),
            warnings=list(observer.warnings),
        )
        return Prepared(entry, gate.notes, gate.unkept)


def _is_acknowledged(start: TurnStart) -> bool:
    """Whether x_t only thanks or confirms, and nothing waits that it could answer."""
    last, x_t = start.previous_turn, start.x_t
    return (
        is_acknowledgement(x_t.text)
        and x_t.authority.may_rule
        and not x_t.attachments
        and not start.previous.questions
        and not start.unanswered
        and not start.lost
        and last is not None
        and last.decision is not None
        and not invites_reply(last.decision.final_answer)
    )


def _carried_on(start: TurnStart, limits: Limits) -> GateResult:
    """CCS_{t-1} as CCS_t, through the gate like any reply."""
    previous = start.previous
    reply = CompressorReply(rule_changes=[])
    words = read_user_words(start.x_t, reply, previous.pins, questions=previous.questions)
    gate = commit(previous, previous.ccs, start.x_t, words, limits=limits)
    unseen = previous.unseen_turn or previous.turn
    return replace(gate, state=gate.state.model_copy(update={"unseen_turn": unseen}))


async def _trust(
    container: Container,
    start: TurnStart,
    result: StructuredResult[CompressorReply],
    observer: TurnObserver,
) -> Trust:
    """How far what the CCM says of rules is believed; its reply counts from the next turn on."""
    if result.value is None or result.value.rule_changes is None:
        return Trust.ABSENT
    ccm, tenant = Ccm(result.model, result.endpoint), start.key.tenant
    if marks := await asyncio.to_thread(marks_of, start.x_t, result.value):
        observer.ccm_marks = CcmMarks(tenant.user, ccm, marks)
    return trust_in(ccm, tenant.user, await container.ccm_records.of_app(tenant))


def _gated(
    start: TurnStart,
    qualified: Qualification,
    reply: CompressorReply | None,
    trust: Trust,
    limits: Limits,
) -> GateResult:
    x_t, previous = start.x_t, start.previous
    return commit(
        previous,
        reply.onto(previous.ccs) if reply else None,
        x_t,
        read_user_words(
            x_t,
            reply,
            previous.pins,
            trust=trust,
            unanswered=start.unanswered,
            questions=previous.questions,
            has_goal=bool(previous.ccs.goal_orientation),
        ),
        evidence=_evidence(start, qualified, limits),
        limits=limits,
    )


def _inputs(
    start: TurnStart, name: str, artifacts: Sequence[Artifact], limits: Limits
) -> dict[str, object]:
    """What a model of memory is shown: CCS_{t-1}, artifacts, x_t.

    What CCS_{t-1} quoted was for its own turn. Artifacts are screened by its constraints (x_t's are
    not known yet): all passed the gate except the session's own turns, in which answers may
    contradict.
    """
    previous = start.previous
    references = carried(previous.ccs.retrieved_artifacts, limits)
    ccs = previous.ccs.model_copy(update={"retrieved_artifacts": references})
    quoted = [
        quotation(item, previous.pins, max_tokens=limits.artifact_tokens)
        if item.kind is ArtifactKind.TURN
        else item
        for item in artifacts
    ]
    return {
        "previous_state": state_value(previous.model_copy(update={"ccs": ccs})),
        name: artifact_values(quoted, limits),
        "current_input": input_value(screened_input(start.x_t, previous.pins)),
    }


def _numbered(start: TurnStart) -> dict[str, object]:
    """x_t with the number of each sentence of the user's own, for the CCM to point at."""
    x_t = screened_input(start.x_t, start.previous.pins)
    if x_t.authority.may_rule:
        x_t = x_t.model_copy(update={"text": own_words(x_t.text).numbered()})
    return {"current_input": input_value(x_t)}


def _evidence(start: TurnStart, qualified: Qualification, limits: Limits) -> Evidence:
    """Evidence for grounding and quoting; screened again by the constraints that x_t sets."""
    own = (
        artifact
        for artifact in qualified.qualified
        if artifact.kind is ArtifactKind.TURN and artifact.session == start.key.session
    )
    needed = frozenset(
        verdict.artifact_id
        for verdict in qualified.verdicts
        if verdict.ok and verdict.reason is not QualificationReason.PREVIOUS_TURN
    )
    return Evidence(
        {artifact.artifact_id: artifact.content for artifact in qualified.qualified},
        frozenset(artifact.artifact_id for artifact in own),
        quotations(
            qualified.qualified,
            start.x_t.text,
            state_terms(start.previous),
            needed=needed,
            max_tokens=limits.retrieved_artifacts_tokens // _QUOTED,
        ),
    )

"""Recall, qualify, compress: steps 2 to 4 of a turn, each from values to a value.

Qualification applies rules first, and the model judges only the rest; the CCM's reply passes the
commit gate before it becomes CCS_t. What a step costs goes to the turn's observer.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from acc_ace.container import Container
from acc_ace.core.gates.consent_notes import unread_notes
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
from acc_ace.core.schemas.commit import CcsDiff, CommitKind, CommittedState, JournalEntry
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.qualification import Qualification, QualificationReason, RelevanceBatch
from acc_ace.core.text.normalize import same_wording
from acc_ace.core.text.rules.contradiction import screened_input
from acc_ace.core.text.sentences import split_sentences
from acc_ace.memory.excerpts import quotations
from acc_ace.memory.tail import Tail, tail_of
from acc_ace.memory.turn_artifacts import turn_artifact_id
from acc_ace.turn.ccm_call import Heard, read_all
from acc_ace.turn.foreign_text import has_foreign_text
from acc_ace.turn.observer import TurnObserver
from acc_ace.turn.reading import (
    ALWAYS,
    Asked,
    carried_on,
    is_acknowledged,
    late_messages,
    read_to,
    why_read,
)
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
from acc_ace.turn.turn_record import CcmFinds, TurnStart

_QUOTED = 5
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
    """Entities, goal, open questions and gist of CCS_{t-1}: what x_t may leave unsaid.

    A time is no subject: its digits would match whatever has the same.
    """
    ccs = previous.ccs
    terms = [*ccs.focal_entities, ccs.goal_orientation, ccs.uncertainty_signal, ccs.semantic_gist]
    return [term for term in terms if term and not term.startswith("time:")]


async def recall(container: Container, start: TurnStart, observer: TurnObserver) -> Recall:
    """At most k candidates, preceded by the unsettled calls of turns that died.

    Raises StoreError when the store cannot be read.
    """
    with observer.stage("recaller"):
        if is_acknowledged(start):
            return Recall()
        previous, limits = start.previous, container.settings.limits
        brief, now = start.brief(limits), container.local_now()
        query = recall_query(start.key, brief, previous, limits, at=now)
        recalled = await container.artifacts.recall(query)
        observer.warn(*recalled.warnings)
        lost = [
            RecalledArtifact(artifact=call.artifact, score=1.0, why=["outcome unknown"])
            for call in start.lost
        ]
        is_first = start.previous.turn == 0
        candidates = await container.parts.with_profile(
            container, query, recalled.candidates, is_first=is_first
        )
        return recalled.model_copy(update={"candidates": [*lost, *candidates]})


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
    asks, and so are lost calls.
    """
    limits, previous = container.settings.limits, start.previous
    with observer.stage("qualifier") as use:
        screening = screen(
            recalled,
            key=start.key,
            state=previous,
            now=container.clock.now(),
            limits=limits,
            mandatory=needed | {call.artifact.artifact_id for call in start.lost},
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
    """What the user says that may be a rule and is not kept."""
    is_read: bool
    """Whether a CCM has read all that the user said, or had its turn to."""
    is_spent: bool
    """Whether more is left of a long message than the turn has read."""
    finds: CcmFinds


async def compress(
    container: Container,
    start: TurnStart,
    qualified: Qualification,
    observer: TurnObserver,
    model: Completion,
    *,
    reason: Asked | None = None,
) -> Prepared:
    """Call the CCM for CCS_t and pass its reply through the commit gate.

    Where nothing asks for it (`reason` is one that the caller knows) code carries the state on,
    and an acknowledgement never does but for an act. Raises ConstraintBudgetError when the
    constraints alone are over budget.
    """
    limits = container.settings.limits
    with observer.stage("compressor"):
        evidence = await asyncio.to_thread(_evidence, start, qualified, limits)
        # The language pass takes about 15 ms per 1,000 characters; its rules compile once.
        why = await asyncio.to_thread(why_read, start, limits, reason)
        heard = await (
            _carry_on(start, evidence, observer, limits)
            if why is None
            else read_all(container, start, evidence, observer, model)
        )
        gate, is_long = heard.gate, heard.is_long
        is_read = why is not None and not heard.unread
        observer.warn(*gate.warnings)
        mixed = start.previous.has_foreign_text or has_foreign_text(
            start.key, start.x_t, qualified.qualified, start.previous_turn
        )
        is_known, most = is_read or (reason in ALWAYS and not heard.unread), limits.tail_tokens
        pins, now = gate.state.pins, container.local_now()
        tail = tail_of(start.since, start.key, pins, most, now=now, is_read=is_known)
        if tail.hidden:
            observer.warn(f"what the user said in {len(tail.hidden)} turns is unread and not shown")
        state = _with_tail(start, gate.state, tail)
        at = read_to(start, start.evidence_id if is_read else heard.read_to)
        state = state.model_copy(update={"has_foreign_text": mixed, "read_to": at})
        changed = {
            "constraints_released": [*start.dropped, *gate.diff.constraints_released],
            "changes": CcsDiff.between(start.previous, state).changes,
            "repairs": [*gate.diff.repairs, *heard.repairs],
        }
        entry = JournalEntry(
            kind=CommitKind.KEPT if gate.kept else CommitKind.COMMIT,
            state=state,
            diff=gate.diff.model_copy(update=changed),
            invocation_id=start.invocation_id,
            created_at=container.clock.now(),
            warnings=list(observer.warnings),
            why_asked=why or "",
        )
        wishes = await container.parts.wish_notes(container, start, heard.asks_to_forget)
        left = unread_notes(start.x_t.text, heard.unread) if is_long else ()
        return Prepared(
            entry,
            (*gate.notes, *left, *start.erased, *wishes),
            gate.unkept,
            is_read or (reason is Asked.EVERY and not (heard.unread or late_messages(start))),
            is_long and not is_read,
            heard.finds,
        )


async def _carry_on(
    start: TurnStart, evidence: Evidence, observer: TurnObserver, limits: Limits
) -> Heard:
    is_thanks = is_acknowledged(start)
    observer.saved["compressor"] = "acknowledgement" if is_thanks else "carried on"
    return Heard(await asyncio.to_thread(carried_on, start, evidence, limits))


def _with_tail(start: TurnStart, state: CommittedState, tail: Tail) -> CommittedState:
    """CCS_t with what was said since the last reading in its trace.

    What stands there or in x_t verbatim is not said again by the fields of the moment, but for
    uncertain statements, which outlive both.
    """
    words = same_wording(
        "\n".join([start.x_t.text, *(each.input.text for each in start.since.exchanges)])
    )

    def once(text: str, *, stays: Callable[[str], bool] = lambda _: False) -> str:
        sentences = split_sentences(text)
        news = [each for each in sentences if stays(each) or same_wording(each) not in words]
        return text if len(news) == len(sentences) else " ".join(news)

    ccs = state.ccs
    own = once(ccs.episodic_trace)
    fields = {
        "uncertainty_signal": once(ccs.uncertainty_signal, stays=_is_statement),
        "predictive_cue": once(ccs.predictive_cue or "") or None,
        "episodic_trace": f"{own}\n{tail.text}" if tail.text else own,
    }
    return state.model_copy(update={"ccs": ccs.model_copy(update=fields)})


def _is_statement(sentence: str) -> bool:
    return not sentence.endswith(("?", "？"))


def _inputs(
    start: TurnStart, name: str, artifacts: Sequence[Artifact], limits: Limits
) -> dict[str, object]:
    """What a judge of relevance is shown: CCS_{t-1}, artifacts, x_t.

    What CCS_{t-1} quoted was for its own turn. Artifacts are screened by its constraints (x_t's are
    not known yet): all passed the gate except the session's own turns, in which answers may
    contradict.
    """
    previous = start.before
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
        name: artifact_values(quoted, limits.artifact_tokens),
        "current_input": input_value(screened_input(start.brief(limits), previous.pins)),
    }


def _evidence(start: TurnStart, qualified: Qualification, limits: Limits) -> Evidence:
    """Evidence for grounding and quoting; screened again by the constraints that x_t sets.

    What was said since the last reading stands in the state, and is not quoted beside it.
    """
    since = {
        turn_artifact_id(start.key, each.turn): f"{each.input.text}\n{each.answer}"
        for each in start.since.exchanges
    }
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
        {artifact.artifact_id: artifact.content for artifact in qualified.qualified} | since,
        frozenset(artifact.artifact_id for artifact in own) | since.keys(),
        quotations(
            [each for each in qualified.qualified if each.artifact_id not in since],
            start.brief(limits).text,
            state_terms(start.previous),
            needed=needed,
            max_tokens=limits.retrieved_artifacts_tokens // _QUOTED,
        ),
    )

"""Recall, qualify, compress: steps 2 to 4 of a turn, each from values to a value.

Qualification applies rules first, and the model judges only the rest; the CCM's reply passes the
commit gate before it becomes CCS_t. What a step costs goes to the turn's observer.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple

from acc_ace.container import Container
from acc_ace.core.gates.ccs_budget import append_fitting
from acc_ace.core.gates.commit_gate import GateResult
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
from acc_ace.core.schemas.commit import (
    CcsDiff,
    CommitKind,
    CommittedState,
    CompressorReply,
    JournalEntry,
)
from acc_ace.core.schemas.interaction import TurnInput
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.qualification import Qualification, QualificationReason, RelevanceBatch
from acc_ace.core.text.normalize import same_wording, short_ids
from acc_ace.core.text.rules.contradiction import screened_input
from acc_ace.core.text.rules.own_words import own_words
from acc_ace.core.text.rules.reading import Trust, numbered_words, read_proposals, shared_out
from acc_ace.core.text.sentences import split_sentences
from acc_ace.memory.excerpts import quotations
from acc_ace.memory.tail import Tail, answer_in_short, fitted, tail_of
from acc_ace.memory.turn_artifacts import turn_artifact_id
from acc_ace.turn.ccm_record import marks_of, trust_in
from acc_ace.turn.foreign_text import has_foreign_text
from acc_ace.turn.observer import TurnObserver
from acc_ace.turn.ports import Ccm, CcmMarks
from acc_ace.turn.reading import (
    ALWAYS,
    Asked,
    CcmReading,
    Portion,
    carried_on,
    gated,
    in_turn,
    is_acknowledged,
    late_messages,
    messages,
    portions,
    read_to,
    together,
    unread,
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
from acc_ace.turn.turn_record import TurnStart

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
        shown, now = start.shown(limits), container.local_now()
        query = recall_query(start.key, shown, previous, limits, at=now)
        recalled = await container.artifacts.recall(query)
        observer.warn(*recalled.warnings)
        lost = [
            RecalledArtifact(artifact=call.artifact, score=1.0, why=["outcome unknown"])
            for call in start.lost
        ]
        return recalled.model_copy(update={"candidates": [*lost, *recalled.candidates]})


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
    is_spent: bool = False
    """Whether more is left of a long message than the turn has read."""


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
            else _read_all(container, start, evidence, observer, model)
        )
        gate, is_long = heard.gate, heard.calls > 1
        # Without a choice of its turns, a CCM that fails has had its turn, but for a long message.
        has_turn = reason is Asked.EVERY and not is_long
        is_read = why is not None and (not heard.unread or has_turn)
        observer.warn(*gate.warnings)
        mixed = start.previous.has_foreign_text or has_foreign_text(
            start.key, start.x_t, qualified.qualified, start.previous_turn
        )
        released = [*start.dropped, *gate.diff.constraints_released]
        tail = _tail(start, gate.state, limits, is_read=is_read or reason in ALWAYS)
        if tail.hidden:
            observer.warn(f"what the user said in {len(tail.hidden)} turns is unread and not shown")
        state = _with_tail(start, gate.state, tail)
        at = read_to(start, start.evidence_id if is_read else heard.read_to)
        reached = {"has_foreign_text": mixed, "read_to": at}
        state = state.model_copy(update=reached)
        changes = CcsDiff.between(start.previous, state).changes
        changed = {"constraints_released": released, "changes": changes}
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
            is_read or (reason is Asked.EVERY and not (is_long or late_messages(start))),
            is_long and not is_read,
        )


class _Heard(NamedTuple):
    """What came of the words of a turn."""

    gate: GateResult
    calls: int = 1
    """What it takes to read them all."""
    unread: Sequence[str] = ()
    read_to: str = ""
    asks_to_forget: str | None = None


async def _carry_on(
    start: TurnStart, evidence: Evidence, observer: TurnObserver, limits: Limits
) -> _Heard:
    is_thanks = is_acknowledged(start)
    observer.saved["compressor"] = "acknowledgement" if is_thanks else "carried on"
    return _Heard(await asyncio.to_thread(carried_on, start, evidence, limits))


async def _read_all(
    container: Container,
    start: TurnStart,
    evidence: Evidence,
    observer: TurnObserver,
    model: Completion,
) -> _Heard:
    """Have the CCM read what is unread, each call going on from the state that the last one made.

    Once a call fails there is no other in this turn; the reader alone hears the beginning of x_t.
    """
    limits, lifted = container.settings.limits, await _lifted(container, start)
    unread_now = await asyncio.to_thread(portions, start, limits)
    results, wishes, read, has_failed = list[GateResult](), list[str](), list[Portion](), False
    for portion in in_turn(unread_now, limits.read_calls):
        part = portion.start
        if results:
            # The numbers of CCS_{t-1}: all of it makes one version.
            numbers = {"version": start.previous.version, "turn": start.previous.turn}
            part = replace(part, previous=results[-1].state.model_copy(update=numbers))
        reading = CcmReading(None, Trust.ABSENT, lifted)
        if not has_failed:
            reading = await _read(container, part, evidence, observer, model)
            reading = reading._replace(lifted=lifted)
        has_failed = reading.reply is None
        if has_failed and not portion.is_input:
            continue
        result = await asyncio.to_thread(
            gated, part, evidence, reading, limits, newest=portion.late
        )
        results.append(result)
        wishes += filter(None, [reading.reply.asks_to_forget if reading.reply else None])
        if result.kept:
            break
        read.append(portion)
    left = [each for each in unread_now if each not in read]
    reached = unread_now[: unread_now.index(left[0])] if left else read
    return _Heard(
        together(start.before, results),
        len(unread_now),
        [each.start.x_t.text for each in left],
        reached[-1].read_to if reached else "",
        next(iter(wishes), None),
    )


async def _read(
    container: Container,
    start: TurnStart,
    evidence: Evidence,
    observer: TurnObserver,
    model: Completion,
) -> CcmReading:
    """Ask the CCM for x_t and for what it has not read before."""
    inputs = await asyncio.to_thread(_shown, start, evidence, container.settings.limits)
    result = await structured_call(
        model,
        load_prompts().compressor,
        inputs,
        partial(read_proposals, x_t=start.x_t, inputs=inputs, late=messages(start)[1:]),
        repairs=container.settings.limits.repairs,
    )
    observer.count(observer.stages["compressor"], result)
    trust = await _trust(container, start, result, observer)
    return CcmReading(result.value, trust)


async def _lifted(container: Container, start: TurnStart) -> list[str]:
    """The rules that were lifted while words of the user's were unread. Raises StoreError."""
    oldest = min((each.ccs_version for each in unread(start.since)), default=0)
    lifted, version = list[str](), start.previous.version
    while (
        oldest and version > oldest and (entry := await container.journal.get(start.key, version))
    ):
        lifted += [gone.text for gone in entry.diff.constraints_released]
        version -= 1
    return lifted


def _tail(start: TurnStart, state: CommittedState, limits: Limits, *, is_read: bool) -> Tail:
    return tail_of(start.since, start.key, state.pins, limits.tail_tokens, is_read=is_read)


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
    x_t, *late = messages(start)
    replies = shared_out(result.value, x_t, late)
    if marks := "".join(map(marks_of, (x_t, *late), replies)):
        before = observer.ccm_marks.marks if observer.ccm_marks else ""
        observer.ccm_marks = CcmMarks(tenant.user, ccm, before + marks)
    return trust_in(ccm, tenant.user, await container.ccm_records.of_app(tenant))


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
        "current_input": input_value(screened_input(start.shown(limits), previous.pins)),
    }


def _shown(start: TurnStart, evidence: Evidence, limits: Limits) -> dict[str, object]:
    """What a CCM is shown: CCS_{t-1}, what was said since it last read, quotations, x_t.

    Each sentence of the user's own in x_t has its number, for the CCM to point at.
    """
    previous, x_t = start.before, screened_input(start.x_t, start.previous.pins)
    if x_t.authority.may_rule:
        x_t = x_t.model_copy(update={"text": own_words(x_t.text).numbered()})
    late = {each.invocation_id: each for each in late_messages(start)}
    turns = [
        quotation(fitted(each, start.key, limits.artifact_tokens), previous.pins, max_tokens=_WHOLE)
        for each in start.since.exchanges
        if each.invocation_id not in late
    ]
    fitting = append_fitting(
        [], evidence.quotations.values(), budget=_EVIDENCE_TOKENS, max_items=limits.list_items
    )
    quoted = [
        {"artifact_id": short_ids(name), "content": text}
        for name, text in evidence.quotations.items()
        if text in fitting
    ]
    # Notes of earlier sessions are new to it; what turns have quoted it has read.
    notes = [] if previous.turn else previous.ccs.retrieved_artifacts
    ccs = previous.ccs.model_copy(update={"retrieved_artifacts": notes})
    return {
        "previous_state": state_value(previous.model_copy(update={"ccs": ccs})),
        "artifacts": [*artifact_values(turns, _WHOLE), *_unread(start), *quoted],
        "current_input": input_value(x_t),
    }


def _unread(start: TurnStart) -> list[dict[str, object]]:
    """The exchanges whose words the CCM reads beside x_t, numbered on from it."""
    own, *late = numbered_words(messages(start))
    first, entries = len(own.sentences) + 1, list[dict[str, object]]()
    for each, words in zip(late_messages(start), late, strict=True):
        entry = {
            "artifact_id": turn_artifact_id(start.key, each.turn),
            "said_at": f"{each.created_at:%Y-%m-%d %H:%M}",
            "user": words.numbered(first),
            "agent": answer_in_short(each, start.key, start.before.pins),
        }
        entries.append({name: value for name, value in entry.items() if value})
        first += len(words.sentences)
    return entries


_EVIDENCE_TOKENS: Final = 300
"""Quotations that a CCM is shown beside what was said since it last read."""
_WHOLE: Final = 16_384
"""More tokens than an exchange takes that was made to fit."""


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
            start.shown(limits).text,
            state_terms(start.previous),
            needed=needed,
            max_tokens=limits.retrieved_artifacts_tokens // _QUOTED,
        ),
    )

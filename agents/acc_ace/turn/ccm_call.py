"""What a CCM is asked about a turn's words, call by call, and what comes of its replies."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final, NamedTuple

from acc_ace.container import Container
from acc_ace.core.gates.ccs_budget import append_fitting
from acc_ace.core.gates.commit_gate import GateResult
from acc_ace.core.gates.references import Evidence
from acc_ace.core.gates.screening import quotation
from acc_ace.core.schemas.artifact import Artifact
from acc_ace.core.schemas.commit import CommittedState, CompressorReply, Repair
from acc_ace.core.schemas.interaction import AboutUser
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.text.normalize import short_ids
from acc_ace.core.text.rules.contradiction import screened_input
from acc_ace.core.text.rules.own_words import own_words
from acc_ace.core.text.rules.reader import Trust
from acc_ace.core.text.rules.reading import numbered_words, read_proposals, shared_out
from acc_ace.memory.tail import answer_in_short, fitted
from acc_ace.memory.turn_artifacts import turn_artifact_id
from acc_ace.turn.ccm_record import marks_of, trust_in
from acc_ace.turn.observer import TurnObserver
from acc_ace.turn.ports import Ccm, CcmMarks
from acc_ace.turn.reading import (
    CcmReading,
    Portion,
    gated,
    in_turn,
    late_messages,
    messages,
    portions,
    together,
    unread,
)
from acc_ace.turn.structured_call import (
    Completion,
    StructuredResult,
    artifact_values,
    input_value,
    load_prompts,
    state_value,
    structured_call,
)
from acc_ace.turn.turn_record import CcmFinds, TurnStart


class Heard(NamedTuple):
    """What came of the words of a turn."""

    gate: GateResult
    is_long: bool = False
    """Whether more than one call reads them all."""
    unread: Sequence[str] = ()
    """What no call has read, in the order said."""
    read_to: str = ""
    """How far the session is read; empty for no further than before."""
    asks_to_forget: str | None = None
    repairs: Sequence[Repair] = ()
    """What was pointed at of the user in vain."""
    finds: CcmFinds = CcmFinds()


async def read_all(
    container: Container,
    start: TurnStart,
    evidence: Evidence,
    observer: TurnObserver,
    model: Completion,
) -> Heard:
    """Have the CCM read what is unread, each call going on from the state that the last one made.

    Once a call fails there is no other in this turn; the reader alone hears the beginning of x_t.
    """
    limits, lifted = container.settings.limits, await _lifted(container, start)
    profile = await container.parts.profile_artifacts(container, start.key.tenant)
    waiting = await asyncio.to_thread(portions, start, limits)
    results, replies, behind = list[GateResult](), list[CompressorReply](), list[Portion]()
    has_failed, repairs, finds = False, list[Repair](), CcmFinds()
    for portion in in_turn(waiting, limits.read_calls):
        if has_failed and not portion.is_input:
            continue
        part = _after(results, portion.start, start.previous)
        reading = CcmReading(None, Trust.ABSENT)
        if not has_failed:
            reading = await _read(
                container, part, evidence, model, profile=profile, observer=observer
            )
            replies += [reading.reply] if reading.reply else []
            finds = finds.then(CcmFinds(marks=reading.marks))
        reading = reading._replace(lifted=lifted)
        results.append(
            await asyncio.to_thread(gated, part, evidence, reading, limits, newest=portion.late)
        )
        has_failed = has_failed or results[-1].kept
        if reading.reply and reading.reply.about_user:
            facts, vain = await _noted(
                container,
                portion._replace(start=part),
                reading.reply.about_user,
                rules=[pin.text for pin in results[-1].state.pins],
            )
            finds, repairs = finds.then(CcmFinds(tuple(facts))), [*repairs, *vain]
        if not has_failed:
            behind.append(portion)
        elif portion.is_input:
            break
    rest = [each for each in waiting if each not in behind]
    first = waiting.index(rest[0]) if rest else len(waiting)
    return Heard(
        together(start.before, results),
        len(waiting) > 1,
        [each.start.x_t.text for each in rest],
        waiting[first - 1].read_to if first else "",
        next((each.asks_to_forget for each in replies if each.asks_to_forget), None),
        repairs,
        finds,
    )


async def _noted(
    container: Container, portion: Portion, entries: Sequence[AboutUser], *, rules: Sequence[str]
) -> tuple[Sequence[Artifact], Sequence[Repair]]:
    """What a reply points at of the user, for the commit, and what it points at in vain."""
    start, its = portion.start, portion.exchange
    now = (its.turn, its.created_at) if its else (start.previous.turn + 1, container.clock.now())
    places = [now, *((each.turn, each.created_at) for each in late_messages(start))]
    return await container.parts.new_facts(
        container, start.key, entries, messages(start), places=places, rules=rules
    )


def _after(results: Sequence[GateResult], part: TurnStart, previous: CommittedState) -> TurnStart:
    """The part of a turn behind the others; all of them make one version."""
    if not results:
        return part
    numbers = {"version": previous.version, "turn": previous.turn}
    return replace(part, previous=results[-1].state.model_copy(update=numbers))


async def _read(
    container: Container,
    start: TurnStart,
    evidence: Evidence,
    model: Completion,
    *,
    profile: Sequence[Artifact],
    observer: TurnObserver,
) -> CcmReading:
    """Ask the CCM for x_t and for what it has not read before."""
    subjects = [container.parts.subject_of(each) for each in profile]
    limits = container.settings.limits
    inputs = await asyncio.to_thread(_shown, start, evidence, limits, subjects)
    result = await structured_call(
        model,
        load_prompts().compressor,
        inputs,
        partial(read_proposals, x_t=start.x_t, inputs=inputs, late=messages(start)[1:]),
        repairs=container.settings.limits.repairs,
    )
    observer.count(observer.stages["compressor"], result)
    trust, marks = await _trust(container, start, result)
    return CcmReading(result.value, trust, marks=marks)


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


async def _trust(
    container: Container, start: TurnStart, result: StructuredResult[CompressorReply]
) -> tuple[Trust, CcmMarks | None]:
    """How far what the CCM says of rules is believed; its reply counts from the next turn on."""
    if result.value is None or result.value.rule_changes is None:
        return Trust.ABSENT, None
    ccm, tenant = Ccm(result.model, result.endpoint), start.key.tenant
    x_t, *late = messages(start)
    replies = shared_out(result.value, x_t, late)
    # About 15 ms per 1,000 characters.
    pairs = zip((x_t, *late), replies, strict=True)
    marks = "".join([await asyncio.to_thread(marks_of, *each) for each in pairs])
    trust = trust_in(ccm, tenant.user, await container.ccm_records.of_app(tenant))
    return trust, CcmMarks(tenant.user, ccm, marks) if marks else None


def _shown(
    start: TurnStart, evidence: Evidence, limits: Limits, subjects: Sequence[str]
) -> dict[str, object]:
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
        "previous_state": state_value(previous.model_copy(update={"ccs": ccs}), subjects),
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

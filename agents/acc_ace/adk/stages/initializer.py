"""Step 1 under ADK: take x_t; load CCS_{t-1} and the playbook from their stores.

The journal and the playbook store are the authorities. session.state holds a projection
that clients could have changed: it is checked by digest and repaired, never trusted.
"""

from collections.abc import Mapping
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

from google.adk.agents.invocation_context import InvocationContext
from google.genai import types
from pydantic import ValidationError

from acc_ace.adk.stages.initial_state import bootstrap
from acc_ace.adk.stages.stage import State, Work, playbook_projection
from acc_ace.adk.user_content import content_text, hand_on
from acc_ace.container import Container
from acc_ace.core.schemas import state as keys
from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.commit import CommitKind, CommittedState
from acc_ace.core.schemas.reflection import Feedback, Judgement
from acc_ace.core.text.input_checks import take_input
from acc_ace.errors import InputError
from acc_ace.turn.journal import Journal
from acc_ace.turn.lifecycle import TurnLifecycle
from acc_ace.turn.turn_record import TurnRecord


def opening(container: Container, lifecycle: TurnLifecycle) -> Work:
    """Step 1 as the work of a stage."""

    async def opened(ctx: InvocationContext, record: TurnRecord) -> State:
        state = ctx.session.state
        mended = await open_turn(lifecycle, container, record, state, ctx.user_content)
        hand_on(ctx, keys.USER_QUERY, record.start.x_t)
        state.setdefault(keys.GROUND_TRUTH, None)
        return mended

    return opened


async def open_turn(
    lifecycle: TurnLifecycle,
    container: Container,
    record: TurnRecord,
    state: Mapping[str, Any],
    content: types.Content | None,
    *,
    is_host: bool = False,
) -> State:
    """Take x_t from a content, open the turn; return what of `state` must be mended.

    `state` is session.state. Of a host's agent (`is_host`) a binary part is named in x_t instead of
    refused. Raises InputError for an invalid x_t, or StoreError.
    """
    settings = container.settings
    with record.observer.stage("initializer"):
        taken = content_text(content, name_attachments=is_host)
        authority = min(taken.authority, _authority(state), key=attrgetter("rank"))
        turn_input = take_input(
            taken.text, authority, settings.limits, attachments=taken.attachments
        )
        await lifecycle.open(
            record,
            turn_input,
            feedback=_judged(state, container.clock.now()),
            begin=bootstrap,
        )
        _warn_of_other_memory(record)
        return await _mended_projection(state, record, container.journal)


def _judged(state: Mapping[str, Any], at: datetime) -> tuple[Feedback, ...]:
    """The caller's judgement of the answer to come. Raises InputError for an invalid one."""
    given = {key.removeprefix("temp:"): state.get(key) for key in keys.JUDGEMENT}
    if all(value is None for value in given.values()):
        return ()
    try:
        judgement = Judgement.model_validate(given)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in problem["loc"]) or "the judgement"
        raise InputError(f"{where} of the turn: {problem['msg']}") from error
    return (judgement.sent_with_turn(at),)


def _warn_of_other_memory(record: TurnRecord) -> None:
    """Warn that the state lacks the rules of turns by another memory, as older versions had."""
    last = record.start.previous_turn
    before = last.memory if last else "acc"
    if before != "acc":
        record.observer.warn(
            f"the turns before this one used the memory '{before}' of an older version, which "
            "pinned no rules; repeat those that must hold from now on"
        )


def _authority(state: Mapping[str, Any]) -> Authority:
    value = state.get(keys.INPUT_AUTHORITY, Authority.USER)
    try:
        return Authority(value)
    except ValueError:
        allowed = ", ".join(a.value for a in Authority if a is not Authority.SYSTEM)
        raise InputError(f"'{value}' is not an input authority; use one of {allowed}") from None


async def _mended_projection(
    state: Mapping[str, Any], record: TurnRecord, journal: Journal
) -> State:
    """The persisted keys that differ from the authorities, with the right values."""
    mended: State = {}
    projection = state.get(keys.CCS)
    true = record.start.previous.to_state()
    if projection is not None and projection != true:
        mended[keys.CCS] = true
        if not await _is_stale(projection, record, journal):
            record.observer.warn(
                "session.state['ccs'] was altered; it was restored from the journal"
            )
    for key, value in playbook_projection(record).items():
        if state.get(key) != value:
            mended[key] = value
    return mended


async def _is_stale(projection: object, record: TurnRecord, journal: Journal) -> bool:
    """Whether the projection is only stale, as after an undo, a rollback, a crash, an erasure."""
    try:
        state = CommittedState.from_state(projection)
    except ValueError:
        return False
    entry = await journal.get(record.key, state.version)
    if entry is None or entry.state.digest == state.digest:
        return entry is not None
    newer = await journal.history(record.key, limit=_MOST_NEWER)
    return any(
        each.kind is CommitKind.ERASE and each.state.version > state.version for each in newer
    )


_MOST_NEWER: Final = 50
"""Newest versions among which an erasure is looked for, which rewrites the others."""

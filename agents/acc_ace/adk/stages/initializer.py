"""StateInitializer: step 1, take x_t; load CCS_{t-1} and the playbook from their stores.

The journal and the playbook store are the authorities. session.state holds a projection
that clients could have changed: it is checked by digest and repaired, never trusted.
"""

from datetime import datetime
from typing import ClassVar

from google.adk.agents.invocation_context import InvocationContext
from pydantic import PrivateAttr, ValidationError

from acc_ace.adk.stages.stage import ContentlessStage, State, playbook_projection
from acc_ace.adk.user_content import content_text, hand_on
from acc_ace.container import Container
from acc_ace.core.schemas import state as keys
from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.commit import CommittedState
from acc_ace.core.schemas.reflection import Feedback, Judgement
from acc_ace.core.text.input_checks import take_input
from acc_ace.errors import InputError
from acc_ace.turn.algorithm import OPENED
from acc_ace.turn.initial_state import bootstrap
from acc_ace.turn.journal import Journal
from acc_ace.turn.lifecycle import TurnLifecycle
from acc_ace.turn.turn_record import TurnRecord, TurnRecords


class StateInitializer(ContentlessStage):
    """Opens the turn."""

    provides: ClassVar[frozenset[str]] = OPENED | {"playbook"}

    _name_attachments: bool = PrivateAttr()

    def __init__(
        self,
        container: Container,
        records: TurnRecords,
        *,
        name_attachments: bool = False,
    ) -> None:
        """With `name_attachments` a binary part is named in x_t instead of refused."""
        super().__init__(
            container, records, name="state_initializer", description="Opens the turn."
        )
        self._name_attachments = name_attachments

    async def work(self, ctx: InvocationContext, record: TurnRecord) -> State:
        """Take x_t, open the state. Raises InputError for an invalid x_t."""
        with record.stage("initializer"):
            await self._open(ctx, record)
            return await _mended_projection(ctx, record, self._container.journal)

    async def _open(self, ctx: InvocationContext, record: TurnRecord) -> None:
        taken = content_text(ctx.user_content, name_attachments=self._name_attachments)
        authority = min(taken.authority, _authority(ctx), key=lambda a: a.rank)
        turn_input = take_input(
            taken.text,
            authority,
            self._container.settings.limits,
            attachments=taken.attachments,
        )
        record.feedback = _judged(ctx, self._container.clock.now())
        await TurnLifecycle(self._container).open(record, turn_input, begin=bootstrap)
        _warn_of_other_memory(record)
        hand_on(ctx, keys.USER_QUERY, turn_input)
        ctx.session.state.setdefault(keys.GROUND_TRUTH, None)


def _judged(ctx: InvocationContext, at: datetime) -> tuple[Feedback, ...]:
    """The caller's judgement of the answer to come. Raises InputError for an invalid one."""
    state = ctx.session.state
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
    before = record.previous_turn.memory if record.previous_turn else "acc"
    if before != "acc":
        record.warn(
            f"the turns before this one used the memory '{before}' of an older version, which "
            "pinned no rules; repeat those that must hold from now on"
        )


def _authority(ctx: InvocationContext) -> Authority:
    value = ctx.session.state.get(keys.INPUT_AUTHORITY, Authority.USER)
    try:
        return Authority(value)
    except ValueError:
        allowed = ", ".join(a.value for a in Authority if a is not Authority.SYSTEM)
        raise InputError(f"'{value}' is not an input authority; use one of {allowed}") from None


async def _mended_projection(ctx: InvocationContext, record: TurnRecord, journal: Journal) -> State:
    """The persisted keys that differ from the authorities, with the right values."""
    mended: State = {}
    held = ctx.session.state.get(keys.CCS)
    if held is not None and held != record.previous.to_state():
        mended[keys.CCS] = record.previous.to_state()
        if not await _is_stale(held, record, journal):
            record.warn("session.state['ccs'] was altered; it was restored from the journal")
    for key, value in playbook_projection(record).items():
        if ctx.session.state.get(key) != value:
            mended[key] = value
    return mended


async def _is_stale(held: object, record: TurnRecord, journal: Journal) -> bool:
    """Whether the projection is only stale, as after an undo, a rollback or a crash."""
    try:
        state = CommittedState.from_state(held)
    except ValueError:
        return False
    entry = await journal.get(record.key, state.version)
    return entry is not None and entry.state.digest == state.digest

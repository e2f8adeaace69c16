"""StateInitializer: step 1, take x_t; open CCS_{t-1} and the playbook from where they are kept.

The journal and the playbook store are the authorities. What stands in session.state is a
projection that clients could have touched: it is checked by digest and mended, never trusted.
"""

from collections.abc import AsyncGenerator

from google.adk.agents import BaseAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.events import Event
from pydantic import PrivateAttr

from acc_ace.context import hand_on, session_key, state_event
from acc_ace.turn_record import TurnRecord, TurnRecords
from acc_ace.user_content import content_text
from core.container import Container
from core.errors import InputError
from core.turn.inputs import take_input
from schemas import state as keys
from schemas.authority import Authority
from schemas.commit import CommittedState
from schemas.playbook import StoredPlaybook
from schemas.tenancy import PlaybookScope


class StateInitializer(BaseAgent):
    """Opens the turn. Raises InputError for an x_t that cannot be taken."""

    _container: Container = PrivateAttr()
    _records: TurnRecords = PrivateAttr()

    def __init__(self, container: Container, records: TurnRecords) -> None:
        super().__init__(name="state_initializer", description="Opens the state of the turn.")
        self._container = container
        self._records = records

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        key = session_key(ctx)
        record = self._records.get(key)
        with record.stage("initializer"):
            await self._open(ctx, record)
            mended = _mended_projection(ctx, record)
        if mended:
            yield state_event(ctx, self.name, mended)

    async def _open(self, ctx: InvocationContext, record: TurnRecord) -> None:
        taken = content_text(ctx.user_content)
        authority = min(taken.authority, _authority(ctx), key=lambda a: a.rank)
        record.turn_input = take_input(taken.text, authority, self._container.settings.limits)
        head = await self._container.journal.head(record.key)
        record.previous = head.state if head else CommittedState()
        record.previous_turn = await self._container.evidence.last(record.key)
        record.playbook = await self._container.playbooks.load(PlaybookScope(record.key.app))
        hand_on(ctx, keys.TURN_INPUT, record.turn_input)
        hand_on(ctx, keys.PREVIOUS, record.previous.to_state())


def _authority(ctx: InvocationContext) -> Authority:
    value = ctx.session.state.get(keys.INPUT_AUTHORITY, Authority.USER)
    try:
        return Authority(value)
    except ValueError:
        allowed = ", ".join(a.value for a in Authority if a is not Authority.SYSTEM)
        raise InputError(f"'{value}' is no authority of an input; use one of {allowed}") from None


def _mended_projection(ctx: InvocationContext, record: TurnRecord) -> dict[str, object]:
    """The persisted keys whose value is not what the authorities hold."""
    mended: dict[str, object] = {}
    held = ctx.session.state.get(keys.CCS)
    truth = record.previous.to_state()
    if held is not None and not _same_state(held, record.previous):
        record.warn("session.state['ccs'] did not match the journal; it was restored from there")
        mended[keys.CCS] = truth
    stored = record.playbook
    if stored is not None and not _same_playbook(ctx.session.state.get(keys.PLAYBOOK), stored):
        mended[keys.PLAYBOOK] = stored.to_state()
    return mended


def _same_state(held: object, truth: CommittedState) -> bool:
    try:
        return CommittedState.from_state(held).digest == truth.digest
    except ValueError:
        return False


def _same_playbook(held: object, truth: StoredPlaybook) -> bool:
    return isinstance(held, dict) and held == truth.to_state()

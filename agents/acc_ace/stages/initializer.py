"""StateInitializer: step 1, take x_t; open CCS_{t-1} and the playbook from where they are kept.

The journal and the playbook store are the authorities. What stands in session.state is a
projection that clients could have touched: it is checked by digest and mended, never trusted.
"""

from google.adk.agents.invocation_context import InvocationContext
from pydantic import PrivateAttr

from acc_ace.context import hand_on
from acc_ace.stages.evidence import name_evidence
from acc_ace.stages.learning import playbook_projection
from acc_ace.stages.stage import ContentlessStage, State
from acc_ace.turn_record import TurnRecord, TurnRecords
from acc_ace.user_content import content_text
from core.container import Container
from core.errors import InputError
from core.ports.journal import Journal
from core.turn.bootstrapping import bootstrap
from core.turn.inputs import take_input
from core.turn.keeping import finish_keeping
from core.turn.returning import finish_reset, finish_return
from schemas import state as keys
from schemas.authority import Authority
from schemas.commit import CommitKind, CommittedState, JournalEntry
from schemas.memory_name import MEMORIES, MemoryName
from schemas.tenancy import SessionKey


class StateInitializer(ContentlessStage):
    """Opens the turn."""

    _name_attachments: bool = PrivateAttr()
    _only_memory: MemoryName | None = PrivateAttr()

    def __init__(
        self,
        container: Container,
        records: TurnRecords,
        *,
        name_attachments: bool = False,
        memory: MemoryName | None = None,
    ) -> None:
        """With `name_attachments` a binary part is named in x_t instead of refused.

        `memory` is the one that the stages after this one have, whatever is chosen elsewhere.
        """
        super().__init__(
            container, records, name="state_initializer", description="Opens the turn."
        )
        self._name_attachments, self._only_memory = name_attachments, memory

    async def work(self, ctx: InvocationContext, record: TurnRecord) -> State:
        """Take x_t, open the state. Raises InputError for an x_t that cannot be taken."""
        with record.stage("initializer"):
            await self._open(ctx, record)
            return await _mended_projection(ctx, record, self._container.journal)

    async def _open(self, ctx: InvocationContext, record: TurnRecord) -> None:
        taken = content_text(ctx.user_content, name_attachments=self._name_attachments)
        authority = min(taken.authority, _authority(ctx), key=lambda a: a.rank)
        turn_input = take_input(taken.text, authority, self._container.settings.limits)
        record.memory = self._only_memory or _memory(ctx, self._container.settings.memory)
        head = await self._container.journal.head(record.key)
        if head is not None:
            record.previous = head.state
        await name_evidence(self._container, record, ctx.invocation_id)
        # From here on a turn that fails is evidence, under a name that no other turn has.
        record.turn_input = turn_input
        record.session = await self._container.directory.open(
            record.key, at=self._container.clock.now(), memory=record.memory
        )
        if await finish_return(self._container, record.key, head) is not None:
            # Its summary, and where its messages begin, are others now.
            found = await self._container.directory.find(record.key)
            record.session = found or record.session
        record.session = await finish_reset(self._container, record.key, head, record.session)
        begins = await _begins(self._container.journal, record.key, head)
        if self._container.settings.bootstrap and begins:
            # After an undo of its first turn too, the session begins with what is known then.
            # Under a classic memory as well: the session may go on with this state.
            begun = await bootstrap(self._container, record.key)
            numbers = {"version": record.previous.version, "next_pin": record.previous.next_pin}
            record.previous = begun.state.model_copy(update=numbers)
            record.known = begun.verdicts
        record.previous_turn = await finish_keeping(self._container, record.key, head)
        scope = self._container.playbook_scope(record.key.app, record.key.user)
        record.playbook, record.playbook_scope = await self._container.playbooks.load(scope), scope
        _warn_of_other_memory(record)
        hand_on(ctx, keys.TURN_INPUT, record.turn_input)
        hand_on(ctx, keys.PREVIOUS, record.previous.to_state())


async def _begins(journal: Journal, key: SessionKey, head: JournalEntry | None) -> bool:
    """Whether a session has no turn yet, or none since all were undone; not after a reset."""
    while head is not None and head.kind is CommitKind.ROLLBACK and not head.state.turn:
        if head.follows is None:
            return False
        # Undone more than once, it stands on the undo before.
        head = await journal.get(key, head.follows) if head.follows else None
    return head is None


def _memory(ctx: InvocationContext, default: MemoryName) -> MemoryName:
    value = ctx.session.state.get(keys.MEMORY, default)
    for name in MEMORIES:
        if value == name:
            return name
    raise InputError(f"'{value}' is no memory; use one of {', '.join(MEMORIES)}")


def _warn_of_other_memory(record: TurnRecord) -> None:
    """The state does not hold what was said while another memory was in use."""
    before = record.previous_turn.memory if record.previous_turn else "acc"
    if record.memory == "acc" and before != "acc":
        record.warn(
            f"the turns before this one used the memory '{before}', which pins no rules; "
            "repeat those that must hold from now on"
        )


def _authority(ctx: InvocationContext) -> Authority:
    value = ctx.session.state.get(keys.INPUT_AUTHORITY, Authority.USER)
    try:
        return Authority(value)
    except ValueError:
        allowed = ", ".join(a.value for a in Authority if a is not Authority.SYSTEM)
        raise InputError(f"'{value}' is no authority of an input; use one of {allowed}") from None


async def _mended_projection(ctx: InvocationContext, record: TurnRecord, journal: Journal) -> State:
    """The persisted keys whose value is not what the authorities hold."""
    mended: State = {}
    held = ctx.session.state.get(keys.CCS)
    if held is not None and held != record.previous.to_state():
        mended[keys.CCS] = record.previous.to_state()
        if not await _was_true_once(held, record, journal):
            record.warn("session.state['ccs'] was altered; it was restored from the journal")
    for key, value in playbook_projection(record).items():
        if ctx.session.state.get(key) != value:
            mended[key] = value
    return mended


async def _was_true_once(held: object, record: TurnRecord, journal: Journal) -> bool:
    """Whether the projection is only behind: after an undo, a rollback or a crash it may be."""
    try:
        state = CommittedState.from_state(held)
    except ValueError:
        return False
    entry = await journal.get(record.key, state.version)
    return entry is not None and entry.state.digest == state.digest

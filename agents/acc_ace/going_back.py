"""Take a session's state back: to a version, before its last turn, or to CCS_0."""

from acc_ace.session_life import SessionLife
from core.container import Container
from core.errors import ConflictError, NotFoundError
from core.turn.committing import restore_state
from core.turn.lineage import line
from core.turn.returning import finish_return, left_version, return_turns
from schemas.commit import CommitKind, CommittedState, JournalEntry
from schemas.tenancy import SessionKey


class GoingBack:
    """Writes an older state as a new version of a session that its caller holds.

    Nothing is rewritten: the journal keeps what was. The turns of the session are those that led
    to the state: what came of others is no longer recalled, and turns that were undone stand again
    when the session goes back to where they were there. What an earlier going back has left that
    ended half-way is done first.
    """

    def __init__(self, container: Container, life: SessionLife) -> None:
        self._container = container
        self._life = life

    async def to_version(self, key: SessionKey, version: int) -> CommittedState:
        """Go back to a version's content. Raises NotFoundError."""
        entry = await self._container.journal.get(key, version)
        if entry is None:
            raise NotFoundError(f"session '{key.session}' has no version {version}")
        await finish_return(self._container, key, await self._container.journal.head(key))
        return await self._restore(key, entry.state)

    async def before_last_turn(self, key: SessionKey, turn: int | None = None) -> CommittedState:
        """Take the last turn back. Raises NotFoundError when there is none.

        An undo that ended half-way is finished, and takes no other turn back. With `turn` that one
        is taken back and no other: once it is, asking again changes nothing. Raises ConflictError
        when another turn is the last.
        """
        head = await self._container.journal.head(key)
        left = await finish_return(self._container, key, head)
        if head is not None and left is not None and await self._was_undo(key, head, left, turn):
            return head.state
        if head is not None and turn is not None and head.state.turn != turn:
            if await self._has_left(key, head, turn):
                return head.state
            raise ConflictError(
                f"the last turn of session '{key.session}' is {head.state.turn}, not {turn}; "
                "nothing was undone"
            )
        if head is None or head.state.turn == 0:
            raise NotFoundError(f"session '{key.session}' has no turn to undo")
        return await self._restore(key, await self._before_turn(key, head.state))

    async def to_start(self, key: SessionKey) -> None:
        """Go on from CCS_0; a session without a turn stays as it is. Evidence stays searchable."""
        head = await self._container.journal.head(key)
        if head is None:
            return
        await finish_return(self._container, key, head)
        await self._write(key, CommittedState(turn=head.state.turn), follows=None)
        await self._life.was_reset(key, head.state.turn)

    async def _restore(self, key: SessionKey, target: CommittedState) -> CommittedState:
        here = await left_version(self._container, key, target.version)
        restored = await self._write(key, target, follows=target.version)
        await return_turns(self._container, key, here=here, there=target.version)
        return restored

    async def _was_undo(
        self, key: SessionKey, head: JournalEntry, left: int, turn: int | None
    ) -> bool:
        """Whether the head, which left a version, took back its turn alone: `turn`, if one is."""
        entry = await self._container.journal.get(key, left)
        if entry is None or turn not in {None, entry.state.turn}:
            return False
        return (await self._before_turn(key, entry.state)).version == head.follows

    async def _has_left(self, key: SessionKey, head: JournalEntry, turn: int) -> bool:
        """Whether the head went back from that turn, or a later one, to before it."""
        if head.kind is not CommitKind.ROLLBACK or head.follows is None or head.state.turn >= turn:
            return False
        left = await left_version(self._container, key, head.follows)
        entry = await self._container.journal.get(key, left)
        return entry is not None and entry.state.turn >= turn

    async def _write(
        self, key: SessionKey, target: CommittedState, *, follows: int | None
    ) -> CommittedState:
        return await restore_state(
            self._container.journal,
            key,
            target,
            kind=CommitKind.ROLLBACK,
            invocation_id="",
            at=self._container.clock.now(),
            follows=follows,
        )

    async def _before_turn(self, key: SessionKey, current: CommittedState) -> CommittedState:
        """The newest state of an earlier turn; CCS_0 before the first one."""
        async for entry in line(self._container.journal, key, current.version):
            if entry.state.turn < current.turn:
                return entry.state
        return CommittedState()

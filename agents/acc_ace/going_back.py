"""Take a session's state back: to a version, before its last turn, or to CCS_0."""

from acc_ace.session_life import SessionLife
from core.container import Container
from core.errors import NotFoundError
from core.turn.committing import restore_state
from schemas.commit import CommitKind, CommittedState
from schemas.tenancy import SessionKey


class GoingBack:
    """Writes an older state as a new version of a session that its caller holds.

    Nothing is rewritten: the journal keeps what was, and what came of the turns that are taken
    back is no longer recalled.
    """

    def __init__(self, container: Container, life: SessionLife) -> None:
        self._container = container
        self._life = life

    async def to_version(self, key: SessionKey, version: int) -> CommittedState:
        """Go back to a version's content. Raises NotFoundError."""
        entry = await self._container.journal.get(key, version)
        if entry is None:
            raise NotFoundError(f"session '{key.session}' has no version {version}")
        return await self._restore(key, entry.state)

    async def before_last_turn(self, key: SessionKey) -> CommittedState:
        """Take the last turn back. Raises NotFoundError when there is none."""
        head = await self._container.journal.head(key)
        if head is None or head.state.turn == 0:
            raise NotFoundError(f"session '{key.session}' has no turn to undo")
        return await self._restore(key, await self._before_turn(key, head.state))

    async def to_start(self, key: SessionKey) -> None:
        """Go on from CCS_0; a session without a turn stays as it is. Evidence stays searchable."""
        head = await self._container.journal.head(key)
        if head is None:
            return
        await self._write(key, CommittedState(turn=head.state.turn))
        await self._life.was_reset(key, head.state.turn)

    async def _restore(self, key: SessionKey, target: CommittedState) -> CommittedState:
        restored = await self._write(key, target)
        await self._life.was_restored(key, restored.turn)
        await self._container.evidence.mark_undone(key, restored.turn)
        await self._container.artifacts.retire(key, restored.turn)
        return restored

    async def _write(self, key: SessionKey, target: CommittedState) -> CommittedState:
        return await restore_state(
            self._container.journal,
            key,
            target,
            kind=CommitKind.ROLLBACK,
            invocation_id="",
            at=self._container.clock.now(),
        )

    async def _before_turn(self, key: SessionKey, current: CommittedState) -> CommittedState:
        """The newest state of an earlier turn; CCS_0 before the first one."""
        before: int | None = None
        while page := await self._container.journal.history(key, limit=50, before_version=before):
            for entry in page:
                if entry.state.turn < current.turn:
                    return entry.state
            before = page[-1].state.version
        return CommittedState()

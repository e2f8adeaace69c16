"""A session goes back to an older state: the turns that led to it are its turns again."""

from core.container import Container
from core.turn.forgetting import forget_undone
from core.turn.lineage import Way, is_reset, way
from core.turn.rejoining import has_left, rejoin
from schemas.commit import CommitKind, JournalEntry
from schemas.session import SessionRecord
from schemas.tenancy import SessionKey


async def return_turns(container: Container, key: SessionKey, *, here: int, there: int) -> None:
    """Let the turns of a session be those of version `there`, where it was at `here`.

    The caller holds the session. Raises StoreError; trying again does what is left.
    """
    await _take(container, key, await way(container.journal, key, here, there))


async def finish_return(
    container: Container, key: SessionKey, head: JournalEntry | None
) -> int | None:
    """Do what a return that ended half-way, after its journal entry, has left to do.

    The version that it left; None when nothing was unfinished. The caller holds the session, whose
    head is `head`. Raises StoreError.
    """
    if head is None or head.kind is not CommitKind.ROLLBACK or head.follows is None:
        return None
    here = await left_version(container, key, head.follows)
    taken = await way(container.journal, key, here, head.follows)
    if not await _is_unfinished(container, key, taken):
        return None
    await _take(container, key, taken)
    return here


async def finish_reset(
    container: Container, key: SessionKey, head: JournalEntry | None, record: SessionRecord
) -> SessionRecord:
    """The record of a session whose messages begin after its reset, also if that ended half-way.

    It does between its journal entry, which is `head`, and the record. The caller holds the
    session. Raises StoreError.
    """
    if head is None or record.history_from >= head.state.turn:
        return record
    if not await is_reset(container.journal, key, head):
        return record
    await container.directory.reset(key, turn=head.state.turn)
    return await container.directory.find(key) or record


async def left_version(container: Container, key: SessionKey, target: int) -> int:
    """Where a session goes back to a target from: before tries that may have ended half-way."""
    entry = await container.journal.head(key)
    while entry is not None and entry.kind is CommitKind.ROLLBACK and entry.follows == target:
        entry = await container.journal.get(key, entry.state.version - 1)
    return entry.state.version if entry else 0


async def _take(container: Container, key: SessionKey, taken: Way) -> None:
    """Go the way. As long as evidence shows turns that were left, it is seen to be unfinished."""
    await forget_undone(container, key, taken.turn)
    await _restored(container, key, taken)
    await container.evidence.mark_undone(key, taken.turn)
    # Once more: a summary that was begun since may have read turns that are undone only now.
    await _restored(container, key, taken)
    await rejoin(container, key, taken.joined, after_turn=taken.turn)


async def _restored(container: Container, key: SessionKey, taken: Way) -> None:
    await container.directory.restored(key, turn=taken.turn, history_from=taken.history_from)


async def _is_unfinished(container: Container, key: SessionKey, taken: Way) -> bool:
    last = await container.evidence.last(key)
    if last and last.turn > taken.turn and last.ccs_version not in taken.joined:
        return True
    return await has_left(container, key, taken.joined, after_turn=taken.turn)

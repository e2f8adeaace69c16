"""Keep an answered turn: as evidence, and as artifacts that later turns can recall."""

from collections.abc import Sequence

from core.container import Container
from core.domain.turn_artifacts import turn_artifact_id, turn_artifacts
from core.errors import CorruptStoreError
from schemas.artifact import Artifact
from schemas.commit import JournalEntry
from schemas.interaction import Interaction
from schemas.tenancy import SessionKey


async def keep_turn(container: Container, key: SessionKey, answered: Interaction) -> None:
    """Store an answered turn. The caller holds the session. Raises StoreError."""
    # Evidence first: what is left when the process ends here can be made of it.
    await container.evidence.record(key, answered)
    await container.artifacts.add(_artifacts(container, key, answered))


async def finish_keeping(
    container: Container, key: SessionKey, head: JournalEntry | None
) -> Interaction | None:
    """The last answered turn that led to `head`, or None; its artifacts are written if missing.

    They are where the process was killed while it kept the turn. A later turn was undone in the
    journal, and its words could not be retired or its evidence not be marked: that is done now. The
    caller holds the session. Raises StoreError.
    """
    last = await container.evidence.last(key)
    if last is not None and last.turn > _turn(head):
        # Read anew: another turn may have committed since, which a lost session lock allows.
        stands = _turn(await container.journal.head(key))
        # As long as the evidence is not marked, it is seen that this is still to be done.
        await container.artifacts.retire(key, stands)
        await container.evidence.mark_undone(key, stands)
        last = await container.evidence.last(key)
    if last is not None and (missing := await missing_artifacts(container, key, last)):
        await container.artifacts.add(missing)
    return last


async def missing_artifacts(
    container: Container, key: SessionKey, answered: Interaction
) -> Sequence[Artifact]:
    """The artifacts of a turn whose process ended between its evidence and them.

    Or where the one of the turn is damaged.
    """
    try:
        kept = await _kept(container, key, answered)
    except CorruptStoreError:
        kept = None  # The evidence has all that it held.
    # What was undone may have left an artifact of the same id.
    if kept is not None and kept.created_at == answered.created_at:
        return ()
    return _artifacts(container, key, answered)


async def was_erased(container: Container, key: SessionKey, turn: Interaction) -> bool:
    """Whether a turn was deleted from memory; what was undone stays there, hidden."""
    try:
        return await _kept(container, key, turn) is None
    except CorruptStoreError:
        return False


async def _kept(container: Container, key: SessionKey, turn: Interaction) -> Artifact | None:
    return await container.artifacts.get(key.tenant, turn_artifact_id(key, turn.turn))


def _turn(head: JournalEntry | None) -> int:
    return head.state.turn if head else 0


def _artifacts(container: Container, key: SessionKey, answered: Interaction) -> Sequence[Artifact]:
    return turn_artifacts(key, answered, max_tokens=container.settings.limits.tool_result_tokens)

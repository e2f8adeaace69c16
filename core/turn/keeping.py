"""Keep an answered turn: as evidence, and as artifacts that later turns can recall."""

from collections.abc import Sequence

from core.container import Container
from core.domain.turn_artifacts import turn_artifact_id, turn_artifacts
from schemas.artifact import Artifact
from schemas.interaction import Interaction
from schemas.tenancy import SessionKey


async def keep_turn(container: Container, key: SessionKey, answered: Interaction) -> None:
    """Store an answered turn. The caller holds the session. Raises StoreError."""
    # Evidence first: what is left when the process ends here can be made of it.
    await container.evidence.record(key, answered)
    await container.artifacts.add(_artifacts(container, key, answered))


async def finish_keeping(container: Container, key: SessionKey) -> Interaction | None:
    """The last answered turn, or None; its artifacts are written if they were not.

    That is so where the process was killed while it kept the turn. The caller holds the session.
    Raises StoreError.
    """
    last = await container.evidence.last(key)
    if last is not None and (missing := await missing_artifacts(container, key, last)):
        await container.artifacts.add(missing)
    return last


async def missing_artifacts(
    container: Container, key: SessionKey, answered: Interaction
) -> Sequence[Artifact]:
    """The artifacts of a turn whose process ended between its evidence and them."""
    kept = await container.artifacts.get(key.tenant, turn_artifact_id(key, answered.turn))
    # What was undone may have left an artifact of the same id.
    if kept is not None and kept.created_at == answered.created_at:
        return ()
    return _artifacts(container, key, answered)


def _artifacts(container: Container, key: SessionKey, answered: Interaction) -> Sequence[Artifact]:
    return turn_artifacts(key, answered, max_tokens=container.settings.limits.tool_result_tokens)

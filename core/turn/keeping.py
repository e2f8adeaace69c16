"""Keep an answered turn: as evidence, and as artifacts that later turns can recall."""

from core.container import Container
from core.domain.turn_artifacts import turn_artifact_id, turn_artifacts
from schemas.interaction import Interaction
from schemas.tenancy import SessionKey


async def keep_turn(container: Container, key: SessionKey, answered: Interaction) -> None:
    """Store an answered turn. The caller holds the session. Raises StoreError."""
    # Evidence first: what is left when the process ends here can be made of it.
    await container.evidence.record(key, answered)
    await _keep_words(container, key, answered)


async def finish_keeping(container: Container, key: SessionKey) -> Interaction | None:
    """The last answered turn, or None; its artifacts are written if they were not.

    That is so where the process was killed while it kept the turn. The caller holds the session.
    Raises StoreError.
    """
    last = await container.evidence.last(key)
    if last is not None and not await _has_words(container, key, last):
        await _keep_words(container, key, last)
    return last


async def _has_words(container: Container, key: SessionKey, answered: Interaction) -> bool:
    kept = await container.artifacts.get(key.tenant, turn_artifact_id(key, answered.turn))
    # What was undone may have left an artifact of the same id.
    return kept is not None and kept.created_at == answered.created_at


async def _keep_words(container: Container, key: SessionKey, answered: Interaction) -> None:
    limit = container.settings.limits.tool_result_tokens
    await container.artifacts.add(turn_artifacts(key, answered, max_tokens=limit))

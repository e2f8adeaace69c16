"""Turns that were undone stand again when a session goes back to a state that they led to."""

from collections.abc import AsyncIterator, Collection

from core.container import Container
from core.domain.event_artifacts import event_piece_id, past_turn_artifacts
from core.domain.tokens import estimate_tokens
from core.domain.turn_artifacts import turn_artifacts
from core.turn.keeping import was_erased
from schemas.artifact import Artifact
from schemas.interaction import Interaction, Outcome
from schemas.past_turn import PastTurn, Utterance
from schemas.tenancy import SessionKey

_PAGE = 50


async def rejoin(
    container: Container, key: SessionKey, versions: Collection[int], *, after_turn: int
) -> None:
    """Let the undone turns of some versions be answered ones, and found by recall, again.

    All of them are later than `after_turn`. None that a deletion, which then failed, erased from
    memory. Raises StoreError; trying again does what is left.
    """
    async for undone in _undone(container, key, versions, after_turn=after_turn):
        await _answered(container, key, undone)


async def has_left(
    container: Container, key: SessionKey, versions: Collection[int], *, after_turn: int
) -> bool:
    """Whether some of the turns that `rejoin` lets stand again are undone. Raises StoreError."""
    async for _ in _undone(container, key, versions, after_turn=after_turn):
        return True
    return False


async def _undone(
    container: Container, key: SessionKey, versions: Collection[int], *, after_turn: int
) -> AsyncIterator[Interaction]:
    before: str | None = None
    while versions and (page := await container.evidence.list(key, limit=_PAGE, before=before)):
        for interaction in page:
            if interaction.turn <= after_turn:
                return
            is_undone = (
                interaction.ccs_version in versions and interaction.outcome is Outcome.UNDONE
            )
            if is_undone and not await was_erased(container, key, interaction):
                yield interaction
        before = page[-1].invocation_id


async def _answered(container: Container, key: SessionKey, undone: Interaction) -> None:
    turn = undone.model_copy(update={"outcome": Outcome.ANSWERED})
    limit = container.settings.limits.tool_result_tokens
    pieces = await _pieces(container, key, turn.invocation_id)
    if not pieces and container.settings.session_events == "offload":
        # Its events may have been deleted while it was undone, when they were not offloaded.
        pieces = _cut_words(key, turn, max_tokens=limit)
    # A turn of the same number that was taken instead has left artifacts of the same ids.
    await container.artifacts.add([*turn_artifacts(key, turn, max_tokens=limit), *pieces])
    # Last: as long as it is undone, it is seen that this is still to be done.
    await container.evidence.record(key, turn)


async def _pieces(container: Container, key: SessionKey, invocation_id: str) -> list[Artifact]:
    """What was offloaded of the turn's events."""
    found: list[Artifact] = []
    while piece := await container.artifacts.get(
        key.tenant, event_piece_id(key, invocation_id, len(found) + 1)
    ):
        found.append(piece)
    return found


def _cut_words(key: SessionKey, turn: Interaction, *, max_tokens: int) -> list[Artifact]:
    """The words of a turn whose artifact has to cut them, whole, as its events would leave them."""
    answer = turn.decision.final_answer if turn.decision else ""
    said = [
        Utterance(speaker="user", text=turn.input.text),
        Utterance(speaker="agent", text=answer),
    ]
    if all(estimate_tokens(part.text) < max_tokens // 2 for part in said):
        return []
    past = PastTurn(invocation_id=turn.invocation_id, at=turn.created_at, said=said)
    return [*past_turn_artifacts(key, past, max_tokens=max_tokens, number=turn.turn)]

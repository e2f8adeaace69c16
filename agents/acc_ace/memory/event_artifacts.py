"""What a turn leaves in external memory when its events are deleted."""

from collections.abc import Sequence

from acc_ace.schemas.artifact import Artifact, ArtifactKind
from acc_ace.schemas.authority import Authority
from acc_ace.schemas.past_turn import PastTurn
from acc_ace.schemas.tenancy import SessionKey
from acc_ace.text.tokens import token_end


def past_turn_artifacts(
    key: SessionKey, turn: PastTurn, *, max_tokens: int, number: int | None = None
) -> Sequence[Artifact]:
    """All that was said in a turn, in pieces of at most `max_tokens`, the same ids each time.

    `number` is the turn's, where it is known: with it they leave recall when the turn is undone.
    They hold the agent's words too, so they have its authority: recalling one makes no rule.
    """
    text = "\n".join(f"{part.speaker}: {part.text}" for part in turn.said if part.text.strip())
    return [
        Artifact(
            artifact_id=event_piece_id(key, turn.invocation_id, position),
            content=piece,
            source=f"events:{turn.invocation_id}",
            created_at=turn.at,
            tenant=key.tenant,
            kind=ArtifactKind.DOCUMENT,
            authority=Authority.AGENT,
            session=key.session,
            turn=number,
        )
        for position, piece in enumerate(_pieces(text, max_tokens), start=1)
    ]


def event_piece_id(key: SessionKey, invocation_id: str, position: int) -> str:
    """Id of a piece of a turn's words; the first one is at position 1."""
    return f"events:{key.session}:{invocation_id}:{position}"


def _pieces(text: str, max_tokens: int) -> list[str]:
    """The text cut into pieces, none of it lost."""
    pieces: list[str] = []
    at = 0
    while at < len(text):
        end = token_end(text, max_tokens, start=at, stop=len(text))
        pieces.append(text[at:end])
        at = end
    return pieces

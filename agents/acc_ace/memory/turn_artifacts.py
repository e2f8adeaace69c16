"""What a turn leaves in external memory.

A completed turn leaves itself and what its tools returned; old events that are deleted leave
their words.
"""

from collections.abc import Sequence
from itertools import chain

from acc_ace.core.schemas.artifact import Artifact, ArtifactKind
from acc_ace.core.schemas.base import Authority, SessionKey
from acc_ace.core.schemas.interaction import Interaction
from acc_ace.core.schemas.session import PastTurn
from acc_ace.core.text.exchange import AGENT, ExchangePart, parts_of_input, written
from acc_ace.core.text.tokens import clip_tokens, token_end

SEARCH_TOOL = "search_evidence"
"""The tool that reads memory. Its results are stored already; a copy would crowd recall."""


def turn_artifacts(
    key: SessionKey, interaction: Interaction, *, max_tokens: int
) -> Sequence[Artifact]:
    """The turn as one artifact, one for each attachment and new tool result.

    Each is within `max_tokens`. Attachments have the authority of what is retrieved.

    Each part of the turn stands under its speaker's label, what the user quoted apart. It holds the
    agent's own words too, so it has the agent's authority: recalling it can never make a rule. Tool
    results have the authority of tools.
    """
    return [
        _turn(key, interaction, max_tokens),
        *_attachments(key, interaction, max_tokens),
        *_tool_results(key, interaction, max_tokens),
    ]


def turn_artifact_id(key: SessionKey, turn: int) -> str:
    """Id of the artifact of a turn."""
    return f"turn:{key.session}:{turn}"


def _turn(key: SessionKey, interaction: Interaction, max_tokens: int) -> Artifact:
    half = max(1, max_tokens // 2)
    said, answer = clip_tokens(interaction.input.text, half), clip_tokens(interaction.answer, half)
    return exchange_artifact(key, interaction, said, answer)


def exchange_artifact(
    key: SessionKey, interaction: Interaction, said: str, answer: str
) -> Artifact:
    """The turn as one artifact, with as much of what was said as is given."""
    parts = parts_of_input(interaction.input.authority, said)
    answered = [ExchangePart(AGENT, answer)] if interaction.decision else []
    return Artifact(
        artifact_id=turn_artifact_id(key, interaction.turn),
        content=written([*parts, *answered]),
        source="turn",
        created_at=interaction.created_at,
        tenant=key.tenant,
        kind=ArtifactKind.TURN,
        authority=Authority.AGENT,
        session=key.session,
        turn=interaction.turn,
    )


def _attachments(key: SessionKey, interaction: Interaction, max_tokens: int) -> list[Artifact]:
    return [
        Artifact(
            artifact_id=f"attached:{key.session}:{interaction.turn}:{number}",
            content=clip_tokens(given.text, max_tokens),
            source=f"attachment:{given.source}",
            created_at=interaction.created_at,
            tenant=key.tenant,
            kind=ArtifactKind.DOCUMENT,
            authority=Authority.RETRIEVED,
            session=key.session,
            turn=interaction.turn,
        )
        for number, given in enumerate(interaction.input.attachments, start=1)
    ]


def _tool_results(key: SessionKey, interaction: Interaction, max_tokens: int) -> list[Artifact]:
    return [
        Artifact(
            artifact_id=f"tool:{key.session}:{interaction.turn}:{number}",
            content=clip_tokens(result.result, max_tokens),
            source=f"tool:{result.name}",
            created_at=interaction.created_at,
            tenant=key.tenant,
            kind=ArtifactKind.TOOL_RESULT,
            authority=Authority.TOOL,
            session=key.session,
            turn=interaction.turn,
        )
        for number, result in enumerate(interaction.tool_results, start=1)
        if result.result.strip() and result.name != SEARCH_TOOL
    ]


def past_turn_artifacts(
    key: SessionKey, turn: PastTurn, *, max_tokens: int, number: int | None = None
) -> Sequence[Artifact]:
    """All that was said in a turn, in pieces of at most `max_tokens`, the same ids each time.

    `number` is the turn's, where it is known: with it they leave recall when the turn is undone.
    They hold the agent's words too, so they have its authority: recalling one makes no rule.
    """
    said = (parts_of_input(part.speaker, part.text) for part in turn.said if part.text.strip())
    text = written(chain.from_iterable(said))
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

"""What a turn leaves in external memory.

A completed turn leaves itself and what its tools returned; old events that are deleted leave
their words.
"""

from collections.abc import Iterable, Sequence
from itertools import chain, islice

from acc_ace.core.schemas.artifact import Artifact, ArtifactKind
from acc_ace.core.schemas.base import Authority, SessionKey
from acc_ace.core.schemas.interaction import Interaction
from acc_ace.core.schemas.session import PastTurn
from acc_ace.core.text.exchange import AGENT, ExchangePart, parts_of_input, written
from acc_ace.core.text.tokens import CUT_MARK, token_end

SEARCH_TOOL = "search_evidence"
"""The tool that reads memory. Its results are stored already; a copy would crowd recall."""


def turn_artifacts(
    key: SessionKey, interaction: Interaction, *, max_tokens: int
) -> Sequence[Artifact]:
    """The turn as one artifact, one for each attachment and new tool result, and their rest.

    Each is within `max_tokens`; what is longer goes on in pieces (`rest_id`). Attachments have the
    authority of what is retrieved.

    Each part of the turn stands under its speaker's label, what the user quoted apart. It holds the
    agent's own words too, so it has the agent's authority: recalling it can never make a rule. Tool
    results have the authority of tools.
    """
    return [
        *_turn(key, interaction, max_tokens),
        *_attachments(key, interaction, max_tokens),
        *_tool_results(key, interaction, max_tokens),
    ]


def turn_artifact_id(key: SessionKey, turn: int) -> str:
    """Id of the artifact of a turn."""
    return f"turn:{key.session}:{turn}"


def attachment_id(key: SessionKey, turn: int, number: int) -> str:
    """Id of the artifact of an attachment of a turn; the first one is number 1."""
    return f"attached:{key.session}:{turn}:{number}"


def rest_id(artifact_id: str, number: int) -> str:
    """Id of a later piece of what is too long for one artifact; the first of these is number 2."""
    return f"{_REST}{number}:{artifact_id}"


def id_after(artifact_id: str) -> str:
    """Id of the piece that would follow."""
    if not artifact_id.startswith(_REST):
        return rest_id(artifact_id, 2)
    number, _, whole = artifact_id.removeprefix(_REST).partition(":")
    return rest_id(whole, int(number) + 1)


_REST = "rest:"
MOST_PIECES = 512
"""Pieces of one text that are stored: about a million tokens with default limits."""


def _turn(key: SessionKey, interaction: Interaction, max_tokens: int) -> list[Artifact]:
    half = max(1, max_tokens // 2)
    texts = interaction.input.text, interaction.answer
    ends = [stretch_end(text, half) for text in texts]
    cut = (
        f"{text[:end]}{CUT_MARK if end < len(text) else ''}"
        for text, end in zip(texts, ends, strict=True)
    )
    turn = exchange_artifact(key, interaction, *cut)
    rest = (_pieces(text[end:], max_tokens) for text, end in zip(texts, ends, strict=True))
    return [turn, *_rest(turn, chain.from_iterable(rest))]


def _in_pieces(whole: Artifact, max_tokens: int) -> list[Artifact]:
    first, *others = _pieces(whole.content, max_tokens) or [""]
    return [whole.model_copy(update={"content": first}), *_rest(whole, others)]


def _rest(whole: Artifact, pieces: Iterable[str]) -> list[Artifact]:
    """Later pieces; those of a turn are none, so that the turn stays the newest of its session."""
    kind = ArtifactKind.DOCUMENT if whole.kind is ArtifactKind.TURN else whole.kind
    return [
        whole.model_copy(
            update={
                "artifact_id": rest_id(whole.artifact_id, number),
                "content": piece,
                "kind": kind,
            }
        )
        for number, piece in enumerate(islice(pieces, MOST_PIECES), start=2)
    ]


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
    wholes = [
        Artifact(
            artifact_id=attachment_id(key, interaction.turn, number),
            content=given.text,
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
    return [piece for whole in wholes for piece in _in_pieces(whole, max_tokens)]


def _tool_results(key: SessionKey, interaction: Interaction, max_tokens: int) -> list[Artifact]:
    wholes = [
        Artifact(
            artifact_id=f"tool:{key.session}:{interaction.turn}:{number}",
            content=result.whole or result.result,
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
    return [piece for whole in wholes for piece in _in_pieces(whole, max_tokens)]


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


def stretch_end(text: str, max_tokens: int, *, start: int = 0) -> int:
    """Where a stretch of at most `max_tokens` ends, behind a line if it is not its first half."""
    end = token_end(text, max_tokens, start=start, stop=len(text))
    line = text.rfind("\n", (start + end) // 2, end) + 1
    return line if line and end < len(text) else end


def _pieces(text: str, max_tokens: int) -> list[str]:
    """The text cut into pieces, none of it lost."""
    pieces: list[str] = []
    at = 0
    while at < len(text):
        end = stretch_end(text, max_tokens, start=at)
        pieces.append(text[at:end])
        at = end
    return pieces

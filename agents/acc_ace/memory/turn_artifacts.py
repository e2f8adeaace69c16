"""What a completed turn leaves in external memory: itself, and what its tools returned."""

from collections.abc import Sequence

from acc_ace.schemas.artifact import Artifact, ArtifactKind
from acc_ace.schemas.authority import Authority
from acc_ace.schemas.interaction import Interaction
from acc_ace.schemas.tenancy import SessionKey
from acc_ace.text.tokens import clip_tokens

SEARCH_TOOL = "search_evidence"
"""The tool that reads memory. What it returns is there already; a copy would crowd recall."""


def turn_artifacts(
    key: SessionKey, interaction: Interaction, *, max_tokens: int
) -> Sequence[Artifact]:
    """The turn as one artifact, and one for each new tool result, each within `max_tokens`.

    The turn holds the agent's own words too, so it has the agent's authority: recalling it can
    never make a rule. Tool results have the authority of tools.
    """
    return [_turn(key, interaction, max_tokens), *_tool_results(key, interaction, max_tokens)]


def turn_artifact_id(key: SessionKey, turn: int) -> str:
    """Id of the artifact of a turn."""
    return f"turn:{key.session}:{turn}"


def _turn(key: SessionKey, interaction: Interaction, max_tokens: int) -> Artifact:
    answer = interaction.decision.final_answer if interaction.decision else ""
    half = max(1, max_tokens // 2)
    said = clip_tokens(interaction.input.text, half)
    return Artifact(
        artifact_id=turn_artifact_id(key, interaction.turn),
        content=f"{interaction.input.authority}: {said}\nagent: {clip_tokens(answer, half)}",
        source="turn",
        created_at=interaction.created_at,
        tenant=key.tenant,
        kind=ArtifactKind.TURN,
        authority=Authority.AGENT,
        session=key.session,
        turn=interaction.turn,
    )


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

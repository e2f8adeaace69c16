"""State and artifacts as prompts show them: bounded, and without what a decision never needs."""

from collections.abc import Sequence

from acc_ace.schemas.artifact import Artifact
from acc_ace.schemas.commit import CommittedState
from acc_ace.schemas.interaction import TurnInput
from acc_ace.schemas.limits import Limits
from acc_ace.text.tokens import clip_tokens


def state_value(state: CommittedState) -> dict[str, object]:
    """The nine fields, and the ids of constraints so that they can be cited and released."""
    pins = [
        {"id": pin.id, "text": pin.text, "authority": pin.authority, "origin_turn": pin.origin_turn}
        for pin in state.pins
    ]
    return {**state.ccs.model_dump(mode="json"), "meta": {"turn": state.turn, "pins": pins}}


def input_value(turn_input: TurnInput) -> dict[str, object]:
    """x_t with who said it."""
    return turn_input.model_dump(mode="json")


def artifact_values(artifacts: Sequence[Artifact], limits: Limits) -> list[dict[str, object]]:
    """Artifacts as quoted data, each cut to its budget."""
    return [
        {
            "artifact_id": artifact.artifact_id,
            "source": artifact.source,
            "authority": artifact.authority,
            "kind": artifact.kind,
            "created_at": artifact.created_at.isoformat(timespec="seconds"),
            "content": clip_tokens(artifact.content, limits.artifact_tokens),
        }
        for artifact in artifacts
    ]

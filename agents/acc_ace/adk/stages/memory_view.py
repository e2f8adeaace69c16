"""What an answering agent is shown of memory: CCS_t, the playbook excerpt, warnings."""

from acc_ace.playbook.selection import select_bullets
from acc_ace.schemas.bullet import Bullet
from acc_ace.schemas.ccs import CompressedCognitiveState
from acc_ace.schemas.limits import Limits
from acc_ace.turn.structured_call import state_value
from acc_ace.turn.turn_record import TurnRecord, needed


def shown_bullets(record: TurnRecord, limits: Limits) -> tuple[Bullet, ...]:
    """The bullets of the excerpt: all while they fit, then those that matter here."""
    state = needed(record.entry, "entry", "memory view").state
    playbook = needed(record.playbook, "playbook", "memory view").playbook
    x_t = needed(record.turn_input, "turn_input", "memory view").text
    return select_bullets(
        playbook, x_t, state=_topics(state.ccs), max_tokens=limits.playbook_prompt_tokens
    )


def _topics(ccs: CompressedCognitiveState) -> str:
    """What the state is about. Its constraints are left out: they hold whatever is asked."""
    parts = (
        ccs.goal_orientation,
        ccs.semantic_gist,
        *ccs.focal_entities,
        ccs.predictive_cue or "",
        ccs.episodic_trace,
        *ccs.relational_map,
    )
    return " ".join(parts)


def memory_view(record: TurnRecord, limits: Limits) -> dict[str, object]:
    """The inputs `state`, `playbook` and `warnings` of a prompt, in this order."""
    playbook = needed(record.playbook, "playbook", "memory view").playbook
    return {
        "state": state_value(needed(record.entry, "entry", "memory view").state),
        "playbook": playbook.as_prompt(shown_bullets(record, limits)),
        "warnings": list(record.warnings),
    }

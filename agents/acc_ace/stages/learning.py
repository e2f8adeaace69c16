"""What the Reflector and the Curator share: the finished turn, and how it may be learnt from."""

from acc_ace.stages.needs import needed
from acc_ace.turn_record import TurnRecord
from core.container import Container
from core.domain.curation import CurationContext
from core.turn.learning import Learned, TurnOutcome, curation_context
from schemas import state as keys


def turn_outcome(record: TurnRecord) -> TurnOutcome:
    """The finished turn; raises LookupError when it was not answered."""
    return TurnOutcome(
        turn_input=needed(record.turn_input, "turn_input", "learning"),
        state=needed(record.committed, "committed", "learning").state,
        generation=needed(record.generation, "generation", "learning"),
        tool_results=record.tool_results,
        previous=record.previous_turn,
        warnings=record.warnings,
    )


def learning_context(container: Container, record: TurnRecord) -> CurationContext:
    """By whom, when and from what the playbook is about to be changed."""
    return curation_context(
        turn_outcome(record),
        container.settings.limits,
        at=container.clock.now(),
        user=record.key.user,
        session=record.key.session,
    )


def projection(learned: Learned) -> dict[str, object]:
    """The playbook as session.state shows it, if it changed."""
    return {keys.PLAYBOOK: learned.stored.to_state()} if learned.changed else {}

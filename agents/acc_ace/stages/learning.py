"""What the Reflector and the Curator share: the finished turn, and how it may be learnt from."""

from acc_ace.stages.needs import needed
from acc_ace.turn_record import TurnRecord
from core.container import Container
from core.domain.curation import CurationContext
from core.turn.learning import Learned, TurnOutcome, curation_context
from core.turn.refining import Refinery, stale_time
from schemas import state as keys
from schemas.tenancy import PlaybookScope


def turn_outcome(record: TurnRecord) -> TurnOutcome:
    """The finished turn; raises LookupError when it was not answered."""
    if record.outcome is not None:
        return record.outcome
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
        shared=taught_scope(record).user is None,
        stale_after=stale_time(container.settings.stale_days),
    )


def taught_scope(record: TurnRecord) -> PlaybookScope:
    """Whose playbook the turn teaches: the one that it was answered with."""
    return needed(record.playbook_scope, "playbook_scope", "learning")


def take_learned(record: TurnRecord, learned: Learned) -> dict[str, object]:
    """Go on with the playbook as it is now; what of session.state changes with it."""
    record.playbook = learned.stored
    return playbook_projection(record) if learned.changed else {}


def refinery(container: Container) -> Refinery:
    """What refines the playbooks, as the settings say."""
    return Refinery(
        container.playbooks,
        interval=container.settings.refine_interval,
        stale_days=container.settings.stale_days,
        embedder=container.embedder,
    )


def playbook_projection(record: TurnRecord) -> dict[str, object]:
    """The playbook as session.state shows it.

    Every session of the app sees that key, so a user's own playbook is not shown there.
    """
    stored, scope = record.playbook, record.playbook_scope
    if stored is None or scope is None or scope.user is not None:
        return {}
    return {keys.PLAYBOOK: stored.to_state()}

"""What the Reflector and the Curator share: the finished turn, and how it may be learnt from."""

from acc_ace.container import Container
from acc_ace.playbook.curation.delta_guard import CurationContext
from acc_ace.playbook.refine.refinement import Refinery, stale_time
from acc_ace.schemas import state as keys
from acc_ace.schemas.base import PlaybookScope
from acc_ace.turn.learning_step import Learned, TurnOutcome, curation_context
from acc_ace.turn.turn_record import TurnRecord, needed


def turn_outcome(record: TurnRecord) -> TurnOutcome:
    """The finished turn; raises LookupError when it was not answered."""
    if record.outcome is not None:
        return record.outcome
    return TurnOutcome(
        turn_input=needed(record.turn_input, "turn_input", "learning"),
        state=needed(record.entry, "entry", "learning").state,
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

    Every session of the app sees that key, so a user's own playbook is not shown there. A session
    service that is not ours keeps each change in an event, so it gets the version alone.
    """
    stored, scope = record.playbook, record.playbook_scope
    if stored is None or scope is None or scope.user is not None:
        return {}
    return {
        keys.PLAYBOOK: {"version": stored.version} if record.marks_playbook else stored.to_state()
    }

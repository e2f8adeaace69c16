"""Feedback on a finished turn: store it with the turn's evidence, then learn from it.

Ids of merged bullets resolve to the surviving bullet.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from acc_ace.container import Container
from acc_ace.core.playbook.playbook_store import IdempotentCommit
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.commit import CommittedState
from acc_ace.core.schemas.interaction import Interaction, Outcome
from acc_ace.core.schemas.learning_job import LearningJob, LearningKind
from acc_ace.core.schemas.reflection import MAX_FEEDBACK, Feedback, Judgement
from acc_ace.errors import InputError, NotFoundError
from acc_ace.turn.learning_step import LearningResult, Roles, curation_context, learn
from acc_ace.turn.reflection_step import outcome_of, with_feedback

_TRIES_OF_A_TURN = 50
"""Interactions searched for the answered one: a turn may have failed or been undone before."""


@dataclass(frozen=True)
class StoredFeedback:
    """The stored feedback, and whether it was new."""

    interaction: Interaction
    feedback: Feedback
    fresh: bool


async def store_feedback(
    container: Container, key: SessionKey, turn: int, judgement: Judgement, *, given_id: str = ""
) -> StoredFeedback:
    """Store feedback with the evidence of an answered turn, once per id.

    Raises NotFoundError when no such turn was answered, InputError when the id is used for
    another judgement or the turn has MAX_FEEDBACK pieces, SessionBusyError or StoreError.
    """
    wait_s = container.settings.limits.turn_wait_s
    async with container.lock.hold(key, wait_s=wait_s):
        interaction = await answered_turn(container, key, turn)
        name = given_id or judgement.digest
        known = _find(interaction.feedback, name)
        if known is not None:
            if known.judgement() != judgement.judgement():
                raise InputError(f"feedback id '{name}' of turn {turn} is taken; use another")
            return StoredFeedback(interaction, known, fresh=False)
        if len(interaction.feedback) >= MAX_FEEDBACK:
            raise InputError(f"turn {turn} has {MAX_FEEDBACK} pieces of feedback, the maximum")
        feedback = Feedback(**judgement.judgement(), id=name, created_at=container.clock.now())
        updated = interaction.model_copy(update={"feedback": (*interaction.feedback, feedback)})
        await container.evidence.record(key, updated)
    return StoredFeedback(updated, feedback, fresh=True)


async def learn_from_feedback(
    container: Container, key: SessionKey, turn: int, given_id: str, *, roles: Roles
) -> LearningResult | None:
    """Reflect on a turn again with stored feedback; None when that was done already.

    The feedback is marked learned once the Reflector has answered. Raises NotFoundError, also
    when the turn was undone or erased meanwhile, ConflictError or StoreError; the call can then
    be retried.
    """
    interaction = await answered_turn(container, key, turn)
    feedback = _find(interaction.feedback, given_id)
    if feedback is None:
        raise NotFoundError(f"turn {turn} of session '{key.session}' has no feedback '{given_id}'")
    entry = await container.journal.get(key, interaction.ccs_version)
    state = entry.state if entry else CommittedState(turn=turn)
    outcome = outcome_of(interaction, state)
    if feedback.learned or outcome is None:
        return None
    settings = container.settings
    reported = with_feedback(outcome, feedback)
    scope = container.playbook_scope(key.app, key.user)
    lesson = await learn(
        reported,
        store=container.playbooks,
        scope=scope,
        roles=roles,
        context=curation_context(
            reported,
            settings.limits,
            at=container.clock.now(),
            user=key.user,
            session=key.session,
            shared=scope.user is None,
        ),
        max_rounds=settings.reflector_max_rounds,
        once=IdempotentCommit(
            feedback_job(key, interaction, feedback).id,
            gone=lambda: _is_gone(container, key, interaction),
        ),
    )
    if lesson.reflected.value is not None:
        await mark_learned(container, key, turn, given_id)
    return lesson


def feedback_job(key: SessionKey, interaction: Interaction, feedback: Feedback) -> LearningJob:
    """The learning job of a piece of feedback; its id is the idempotency key."""
    return LearningJob(
        kind=LearningKind.FEEDBACK,
        app=key.app,
        user=key.user,
        session=key.session,
        turn=interaction.turn,
        invocation_id=interaction.invocation_id,
        base_version=interaction.playbook_version,
        detail=feedback.id,
    )


async def answered_turn(container: Container, key: SessionKey, turn: int) -> Interaction:
    """The evidence of an answered turn. Raises NotFoundError or StoreError."""
    return await committed_turn(container, key, turn, {Outcome.ANSWERED})


async def committed_turn(
    container: Container,
    key: SessionKey,
    turn: int,
    outcomes: Collection[Outcome] = (Outcome.ANSWERED, Outcome.PAUSED),
) -> Interaction:
    """The evidence of a turn with one of these outcomes. Raises NotFoundError or StoreError."""
    page = await container.evidence.list(key, limit=_TRIES_OF_A_TURN, before_turn=turn + 1)
    for interaction in page:
        if interaction.turn == turn and interaction.outcome in outcomes:
            return interaction
    raise NotFoundError(f"session '{key.session}' has no answered turn {turn}")


async def mark_learned(
    container: Container, key: SessionKey, turn: int, given_id: str = ""
) -> None:
    """Mark feedback as learned: that of an id, or all that came with the turn.

    Raises SessionBusyError, NotFoundError or StoreError.
    """
    # Read again under the lock: other feedback may have arrived during the model calls.
    async with container.lock.hold(key, wait_s=container.settings.limits.turn_wait_s):
        interaction = await answered_turn(container, key, turn)
        await container.evidence.record(key, interaction.with_feedback_learned(given_id))


async def _is_gone(container: Container, key: SessionKey, judged: Interaction) -> bool:
    """Whether a turn was undone or replaced during the model calls."""
    try:
        interaction = await answered_turn(container, key, judged.turn)
    except NotFoundError:
        return True
    return interaction.invocation_id != judged.invocation_id


def _find(feedback: Sequence[Feedback], name: str) -> Feedback | None:
    return next((item for item in feedback if item.id == name), None)

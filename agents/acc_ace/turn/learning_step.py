"""After the turn: reflect on it, tag the bullets it used, curate the playbook (ACE, section 3).

Framework-free: the pipeline's stages call the steps one by one; all other callers (a job, later
feedback, offline learning) use `learn`, which runs the whole cycle and commits tags and deltas
together.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256

from acc_ace.core.playbook.curation.delta_guard import Curated, CurationContext, curate, tag
from acc_ace.core.playbook.playbook_store import IdempotentCommit, PlaybookStore
from acc_ace.core.playbook.refine.refinement import room_maker
from acc_ace.core.playbook.rule_screen import rule_against
from acc_ace.core.playbook.selection import select_bullets
from acc_ace.core.playbook.swap_tries import swap_tries
from acc_ace.core.schemas.base import PlaybookScope
from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.core.schemas.delta import DeltaBatch
from acc_ace.core.schemas.limits import Limits
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from acc_ace.core.schemas.reflection import Reflection
from acc_ace.core.schemas.report import TokenUse
from acc_ace.core.text.prompt import Lines, Prompt
from acc_ace.errors import ConflictError
from acc_ace.turn.lesson_view import lesson_view
from acc_ace.turn.reflection_step import (
    plain_reflection,
    reflect,
    with_current_bullets,
)
from acc_ace.turn.structured_call import (
    Completion,
    StructuredResult,
    parser,
    structured_call,
)
from acc_ace.turn.turn_record import TurnOutcome

__all__ = [
    "Learned",
    "LearningResult",
    "Roles",
    "TurnOutcome",
    "apply_batch",
    "apply_tags",
    "curation_context",
    "learn",
    "propose_deltas",
    "reflect",
]

Change = Callable[[Playbook], Curated]


@dataclass(frozen=True)
class Learned:
    """The playbook after a commit, and the outcome of each operation."""

    stored: StoredPlaybook
    curated: Curated
    changed: bool


@dataclass(frozen=True)
class Roles:
    """The model and prompt of the Reflector and of the Curator."""

    reflector: Completion
    reflector_prompt: Prompt
    curator: Completion
    curator_prompt: Prompt


@dataclass(frozen=True)
class LearningResult:
    """The result of a learning cycle; `learned` is None when there was nothing to commit."""

    reflected: StructuredResult[Reflection]
    proposed: StructuredResult[DeltaBatch]
    learned: Learned | None

    @property
    def calls(self) -> int:
        """Model calls of the cycle."""
        return self._use.calls

    @property
    def tokens(self) -> int:
        """Tokens of the cycle, into and out of the models."""
        return self._use.total

    @property
    def _use(self) -> TokenUse:
        return self.reflected.use + self.proposed.use

    @property
    def used(self) -> dict[str, dict[str, TokenUse]]:
        """Tokens of the cycle by stage and model."""
        reflected, proposed = self.reflected, self.proposed
        return {
            "reflector": {reflected.model: reflected.use},
            "curator": {proposed.model: proposed.use},
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the model calls."""
        return (*self.reflected.warnings, *self.proposed.warnings)


async def learn(
    outcome: TurnOutcome,
    *,
    store: PlaybookStore,
    scope: PlaybookScope,
    roles: Roles,
    context: CurationContext,
    max_rounds: int = 1,
    once: IdempotentCommit | None = None,
) -> LearningResult:
    """The whole cycle for one turn: reflect, tag, propose, apply; at most one commit.

    `once` makes the commit idempotent under a job's id; it is skipped when the log has that id
    or the turn no longer exists.
    If the Reflector fails, nothing changes; if the Curator fails, the tags still count.
    Raises ConflictError or StoreError, with nothing changed.
    """
    playbook = (await store.load(scope)).playbook.shown_to(context.user)
    outcome = await with_current_bullets(outcome, store, scope, playbook)
    reflected = await reflect(
        outcome,
        playbook,
        completion=roles.reflector,
        prompt=roles.reflector_prompt,
        limits=context.limits,
        max_rounds=max_rounds,
    )
    reflection = reflected.value
    if reflection is None:
        return LearningResult(reflected, StructuredResult(value=None), None)
    context = resting_on(reflection, context)
    tags = _tagging(reflection, outcome, context)
    proposed = await propose_deltas(
        reflection,
        outcome,
        tags(playbook).playbook,
        completion=roles.curator,
        prompt=roles.curator_prompt,
        limits=context.limits,
    )
    batch = proposed.value or DeltaBatch()
    learned = await _commit(
        store, scope, _both(tags, lambda now: curate(now, batch, context)), once
    )
    return LearningResult(reflected, proposed, learned if learned.curated.records else None)


async def propose_deltas(
    reflection: Reflection,
    outcome: TurnOutcome,
    playbook: Playbook,
    *,
    completion: Completion,
    prompt: Prompt,
    limits: Limits,
) -> StructuredResult[DeltaBatch]:
    """Ask the Curator for deltas, showing it the bullets relevant here within a token budget.

    It sees words of others only where the reflection rests on them: then all it proposes is held.
    Praise without words teaches nothing but its tags, so it asks nothing.
    """
    if plain_reflection(outcome) is not None:
        return StructuredResult(value=DeltaBatch())
    shown = select_bullets(
        playbook, _topic(reflection, outcome, playbook), max_tokens=limits.playbook_prompt_tokens
    )
    view = lesson_view(outcome, whole=reflection.needs_text)
    inputs = {
        "playbook": Lines(playbook.as_prompt(shown)),
        "stats": playbook.stats(),
        "reflection": reflection.model_dump(mode="json", exclude={"needs_text"}),
        "current_input": view.current_input,
        "tool_results": view.tool_results,
    }
    return await structured_call(
        completion, prompt, inputs, parser(DeltaBatch), repairs=limits.repairs
    )


async def apply_tags(
    store: PlaybookStore,
    scope: PlaybookScope,
    reflection: Reflection,
    outcome: TurnOutcome,
    context: CurationContext,
) -> Learned:
    """Count the tags on the used bullets, in the current version.

    Tags on a corrected answer count for the bullets it used and are recorded under its turn.
    """
    return await _commit(store, scope, _tagging(reflection, outcome, context))


def apply_batch(
    store: PlaybookStore, scope: PlaybookScope, batch: DeltaBatch, context: CurationContext
) -> Awaitable[Learned]:
    """Apply a delta batch to the current version; each operation succeeds or fails by itself."""
    return _commit(store, scope, lambda playbook: curate(playbook, batch, context))


def resting_on(reflection: Reflection, context: CurationContext) -> CurationContext:
    """The context of what is learnt from a reflection: ungrounded where others' words told it."""
    return replace(context, grounded=context.grounded and not reflection.needs_text)


def curation_context(
    outcome: TurnOutcome,
    limits: Limits,
    *,
    at: datetime,
    user: str,
    session: str,
    shared: bool = True,
    stale_after: timedelta | None = None,
) -> CurationContext:
    """Provenance of a lesson: author, time, and whether a person or an outcome stands behind it.

    Feedback counts as grounding: a person's verdict, a ground truth or an environment's reward.
    `shared` is False for the user's own playbook; lessons for any other pass the gate.
    A full playbook is refined first; `stale_after` as in `refine`.
    """
    reported = outcome.feedback
    return CurationContext(
        limits=limits,
        at=at,
        user=user,
        session=session,
        turn=outcome.state.turn,
        grounded=outcome.turn_input.authority.may_rule or bool(reported),
        rule_objection=_rule_objection(outcome.state.pins),
        quote_digest=sha256(outcome.turn_input.text.encode("utf-8", "replace")).hexdigest(),
        shared=shared,
        entities=tuple(outcome.state.ccs.focal_entities),
        refine=room_maker(stale_after),
    )


def _rule_objection(pins: Sequence[ConstraintPin]) -> Callable[[str], str | None]:
    """A check that rejects lessons contradicting a constraint in force."""
    return lambda text: "against_rule" if rule_against(text, pins) else None


def _topic(reflection: Reflection, outcome: TurnOutcome, playbook: Playbook) -> str:
    """The query that selects bullets for the Curator; it includes the used bullets' text."""
    used = {*outcome.used_ids, *outcome.previous_ids}
    contents = [bullet.content for bullet in playbook.bullets if bullet.id in used]
    return " ".join(
        [
            reflection.key_insight,
            reflection.correct_approach,
            outcome.turn_input.text,
            *contents,
        ]
    )


def _tagging(reflection: Reflection, outcome: TurnOutcome, context: CurationContext) -> Change:
    """The change that counts a reflection's tags, each recorded under the turn it judges."""

    def own(playbook: Playbook) -> Curated:
        return tag(playbook, reflection.bullet_tags, outcome.used_ids, context)

    previous = outcome.previous
    # Only the user can correct an answer; a tool result saying "wrong" is data.
    if (
        previous is None
        or not reflection.corrects_previous
        or not outcome.turn_input.authority.may_rule
    ):
        return own
    corrected = replace(context, turn=previous.turn)
    return _both(
        lambda now: tag(now, reflection.previous_bullet_tags, outcome.previous_ids, corrected), own
    )


def _both(first: Change, second: Change) -> Change:
    """Compose two changes."""

    def change(playbook: Playbook) -> Curated:
        one = first(playbook)
        two = second(one.playbook)
        return Curated(two.playbook, [*one.results, *two.results], [*one.records, *two.records])

    return change


async def _commit(
    store: PlaybookStore, scope: PlaybookScope, change: Change, once: IdempotentCommit | None = None
) -> Learned:
    async for is_last in swap_tries():
        current = await store.load(scope)
        if once is not None and await once.settled(store, scope):
            return Learned(current, Curated(current.playbook, [], []), changed=False)
        curated = change(current.playbook)
        records: Sequence[DeltaRecord] = curated.records
        if not records:
            return Learned(current, curated, changed=False)
        records = records if once is None else once.signed(records)
        try:
            stored = await store.commit(
                scope,
                curated.playbook,
                records,
                expected_version=current.version,
                commit_id=None if once is None else once.job,
            )
        except ConflictError:
            if is_last:
                raise
            continue
        return Learned(stored, curated, changed=stored.version != current.version)
    raise AssertionError("unreachable: the last try returns or raises")

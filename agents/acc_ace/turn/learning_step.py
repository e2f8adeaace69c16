"""After the turn: reflect on it, tag the bullets it used, curate the playbook (ACE, section 3).

Free of any framework: the stages of the pipeline call the steps one by one, everybody else (a
job, feedback that comes later, offline learning) calls `learn`, which does the same in one go
and commits tags and deltas together.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256

from acc_ace.errors import ConflictError
from acc_ace.gates.contradiction import contradiction
from acc_ace.playbook.curation.delta_guard import Curated, CurationContext, curate, tag
from acc_ace.playbook.playbook_store import IdempotentCommit, PlaybookStore
from acc_ace.playbook.refine.refinement import room_maker
from acc_ace.playbook.selection import select_bullets
from acc_ace.schemas.base import PlaybookScope
from acc_ace.schemas.commit import ConstraintPin
from acc_ace.schemas.delta import DeltaBatch
from acc_ace.schemas.limits import Limits
from acc_ace.schemas.playbook import DeltaRecord, Playbook, StoredPlaybook
from acc_ace.schemas.reflection import Reflection
from acc_ace.text.prompt import Prompt
from acc_ace.turn.reflection_step import (
    TurnOutcome,
    heard_in,
    reflect,
    tool_values,
    with_current_bullets,
)
from acc_ace.turn.structured_call import (
    Completion,
    StructuredResult,
    input_value,
    parser,
    structured_call,
)

__all__ = [
    "Learned",
    "Lesson",
    "Roles",
    "TurnOutcome",
    "apply_batch",
    "apply_tags",
    "curation_context",
    "learn",
    "propose_deltas",
    "reflect",
]

_COMMIT_TRIES = 32
"""Compare-and-swap tries before a batch is given up; each loser reads the newer version first.

With eight processes that learn without a pause, one batch in eight loses five times in a row.
"""

Change = Callable[[Playbook], Curated]


@dataclass(frozen=True)
class Learned:
    """The playbook after a commit, and how each operation ended."""

    stored: StoredPlaybook
    curated: Curated
    changed: bool


@dataclass(frozen=True)
class Roles:
    """Who reflects and who curates: a model with its prompt each."""

    reflector: Completion
    reflector_prompt: Prompt
    curator: Completion
    curator_prompt: Prompt


@dataclass(frozen=True)
class Lesson:
    """What came of a whole cycle; `learned` is None when nothing was to be committed."""

    reflected: StructuredResult[Reflection]
    proposed: StructuredResult[DeltaBatch]
    learned: Learned | None

    @property
    def calls(self) -> int:
        """Model calls of the cycle."""
        return self.reflected.calls + self.proposed.calls

    @property
    def tokens(self) -> int:
        """Tokens of the cycle, into and out of the models."""
        asked = (self.reflected, self.proposed)
        return sum(item.tokens_in + item.tokens_out for item in asked)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What went wrong with the models."""
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
) -> Lesson:
    """The whole cycle for one turn: reflect, tag, propose, apply; one commit, or none.

    With `once` the commit bears a job's name, and is left out when the log has it already,
    or when the turn is gone.
    A Reflector that fails leaves everything as it is; with a Curator that fails the tags count.
    Raises ConflictError or StoreError, with nothing changed.
    """
    playbook = (await store.load(scope)).playbook
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
        return Lesson(reflected, StructuredResult(value=None), None)
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
    return Lesson(reflected, proposed, learned if learned.curated.records else None)


async def propose_deltas(
    reflection: Reflection,
    outcome: TurnOutcome,
    playbook: Playbook,
    *,
    completion: Completion,
    prompt: Prompt,
    limits: Limits,
) -> StructuredResult[DeltaBatch]:
    """What the Curator would change. It sees the bullets that matter here, never all of many."""
    shown = select_bullets(
        playbook, _topic(reflection, outcome, playbook), max_tokens=limits.playbook_prompt_tokens
    )
    inputs = {
        "playbook": playbook.as_prompt(shown),
        "stats": playbook.stats(),
        "reflection": reflection.model_dump(mode="json"),
        "current_input": input_value(outcome.turn_input),
        "tool_results": tool_values(outcome.tool_results),
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
    """Count the tags on the bullets that were used, on whatever version is current.

    Tags of a corrected answer count on the bullets that it used, in the name of its turn.
    """
    return await _commit(store, scope, _tagging(reflection, outcome, context))


async def apply_batch(
    store: PlaybookStore, scope: PlaybookScope, batch: DeltaBatch, context: CurationContext
) -> Learned:
    """Apply a delta batch to whatever version is current; each operation ends on its own."""
    return await _commit(store, scope, lambda playbook: curate(playbook, batch, context))


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
    """Who taught it, when, and whether it rests on more than tool or document text.

    Feedback counts as more: a person's verdict, a ground truth or an environment's reward. It does
    not make words of others the user's own.
    `shared` is False for the user's own playbook; what goes into any other passes the gate.
    A playbook that is full is refined first; `stale_after` as in `refine`.
    """
    reported = outcome.feedback
    heard = heard_in(outcome)
    return CurationContext(
        limits=limits,
        at=at,
        user=user,
        session=session,
        turn=outcome.state.turn,
        grounded=outcome.turn_input.authority.may_rule or bool(reported),
        foreign=heard.foreign,
        untrusted=heard.doubtful,
        vouched=heard.own,
        rule_objection=_rule_objection(outcome.state.pins),
        quote_digest=sha256(outcome.turn_input.text.encode("utf-8", "replace")).hexdigest(),
        shared=shared,
        entities=tuple(outcome.state.ccs.focal_entities),
        refine=room_maker(stale_after),
    )


def _rule_objection(pins: Sequence[ConstraintPin]) -> Callable[[str], str | None]:
    """What says that a lesson goes against a rule in force."""
    return lambda text: "against_rule" if contradiction(text, pins) else None


def _topic(reflection: Reflection, outcome: TurnOutcome, playbook: Playbook) -> str:
    """What the bullets for the Curator are chosen by; the used ones are part of it."""
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
    """The change that counts a reflection's tags, each in the name of the turn it judges."""

    def own(playbook: Playbook) -> Curated:
        return tag(playbook, reflection.bullet_tags, outcome.used_ids, context)

    previous = outcome.previous
    # Only the user can take an answer back; a tool that says "wrong" is data.
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
    """One change after the other, as one."""

    def change(playbook: Playbook) -> Curated:
        one = first(playbook)
        two = second(one.playbook)
        return Curated(two.playbook, [*one.results, *two.results], [*one.records, *two.records])

    return change


async def _commit(
    store: PlaybookStore, scope: PlaybookScope, change: Change, once: IdempotentCommit | None = None
) -> Learned:
    for attempt in range(_COMMIT_TRIES):
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
            if attempt == _COMMIT_TRIES - 1:
                raise
            continue
        return Learned(stored, curated, changed=stored.version != current.version)
    raise AssertionError("unreachable: the last try returns or raises")

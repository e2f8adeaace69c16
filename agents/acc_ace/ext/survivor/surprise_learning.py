"""ACE Reflector and Curator for the survivor (components 8 and 9): adapters to the shared ones.

They are asked on surprise only: damage and aborted plans (the first, second, fourth, eighth … time
of a cause in a life), the first effect of a kind, and the end of an episode. What the bullets that
the plan relied on foretold is a thumbs up for them, which asks no model.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from acc_ace.container import Container
from acc_ace.core.playbook.refine.refinement import PlaybookRefiner, stale_time
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.commit import CommittedState
from acc_ace.core.schemas.interaction import GeneratorOutput, TurnInput
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook
from acc_ace.core.schemas.reflection import Judgement
from acc_ace.core.schemas.report import TokenUse
from acc_ace.errors import ConflictError
from acc_ace.ext.survivor.fear import effect_of
from acc_ace.ext.survivor.planner import Stance
from acc_ace.ext.survivor.policy_model import stances
from acc_ace.ext.survivor.snapshots import body_in_words
from acc_ace.ext.survivor.survival import LoopSnapshot, PlaybookChange, StepRecord
from acc_ace.ext.survivor.world_rules import CREATURES, GAINS, Nature, used_in
from acc_ace.turn.learning_step import Roles, TurnOutcome, curation_context, learn

_RIGHT: Final[dict[Stance, str]] = {
    Nature.FOOD: "Eat {}.",
    Nature.WATER: "Drink {}.",
    Nature.REMEDY: "Heal with {}.",
    Nature.DANGER: "Avoid {}.",
    "hunter": "Keep away from the {}.",
}
_OF_LACKS: Final = {
    "hunger": "Eat before hunger takes life.",
    "thirst": "Drink before thirst takes life.",
    "lava": "Keep off lava.",
}


class Surprise(NamedTuple):
    """Something that was not foretold: what kind of, about what, and what hindsight says."""

    kind: str
    about: str
    felt: str
    stance: Stance | None = None

    @property
    def right(self) -> str | None:
        """What would have been right, in words; None where hindsight does not know."""
        if self.stance is not None:
            plural = f"{self.about}es" if self.about.endswith("s") else f"{self.about}s"
            return _RIGHT[self.stance].format(self.about if self.about in CREATURES else plural)
        return _OF_LACKS.get(self.about)


class Lessons(NamedTuple):
    """What a tick's learning changed and took."""

    changes: tuple[PlaybookChange, ...] = ()
    use: TokenUse = TokenUse()
    warnings: tuple[str, ...] = ()


@dataclass
class SurpriseLearning:
    """Teaches the playbook of one episode; a model that fails costs its lesson only."""

    container: Container
    key: SessionKey
    roles: Roles
    refiner: PlaybookRefiner

    def __post_init__(self) -> None:
        self._scope = self.container.playbook_scope(self.key.app, self.key.user)
        self._met = Counter[tuple[str, str]]()

    def restart(self, lived: Iterable[Sequence[StepRecord]]) -> None:
        """Begin after ticks that were lived before, without learning from them again."""
        self._met = Counter((each.kind, each.about) for steps in lived for each in surprises(steps))

    async def after_tick(
        self, snapshot: LoopSnapshot, state: CommittedState, playbook: Playbook
    ) -> Lessons:
        """Learn from a committed tick; `playbook` is the one that its plan was shown.

        Raises StoreError.
        """
        if self.container.settings.learning == "off":
            return Lessons()
        used = [bullet for bullet in playbook.bullets if bullet.id in snapshot.plan.bullet_ids]
        lessons = []
        for surprise in surprises(snapshot.steps):
            self._met[surprise.kind, surprise.about] += 1
            is_told_at_the_end = snapshot.over and surprise.about == snapshot.died_of
            if self._is_asked(surprise) and not is_told_at_the_end:
                lessons.append(surprise)
        total = Lessons()
        for surprise in (*lessons, *([_end(snapshot)] if snapshot.over else [])):
            own = [bullet for bullet in used if surprise.about in bullet.content.casefold()]
            total = _plus(total, await self._learn(snapshot, state, surprise, own))
        return total

    def _is_asked(self, surprise: Surprise) -> bool:
        """Whether a harm is met for the first, second, fourth … time; a gain only for the first."""
        count = self._met[surprise.kind, surprise.about]
        return count == 1 or (surprise.kind in ("damage", "abort") and count & (count - 1) == 0)

    async def version(self) -> int:
        """The playbook's version now. Raises StoreError."""
        return (await self.container.playbooks.load(self._scope)).version

    async def _learn(
        self,
        snapshot: LoopSnapshot,
        state: CommittedState,
        surprise: Surprise,
        used: Sequence[Bullet],
    ) -> Lessons:
        settings, container = self.container.settings, self.container
        judgement = Judgement(ground_truth=surprise.right, comment=surprise.felt)
        if _foretold(surprise, used):
            judgement = Judgement(thumbs="up")
        # What the session's own logs say is experience, not the words of somebody else.
        ccs = state.ccs.model_copy(update={"retrieved_artifacts": []})
        outcome = TurnOutcome(
            turn_input=TurnInput(text=question(snapshot, surprise)),
            state=state.model_copy(update={"ccs": ccs}),
            generation=GeneratorOutput(
                final_answer=next((b.content for b in used), snapshot.plan.objective),
                bullet_ids=[bullet.id for bullet in used],
            ),
            feedback=(judgement,),
            is_experience=True,
        )
        context = curation_context(
            outcome,
            settings.limits,
            at=container.clock.now(),
            user="",
            session=self.key.session,
            shared=self._scope.user is None,
            stale_after=stale_time(settings.stale_days),
        )
        try:
            lesson = await learn(
                outcome,
                store=container.playbooks,
                scope=self._scope,
                roles=self.roles,
                context=context,
                max_rounds=settings.reflector_max_rounds,
            )
            refined = await self.refiner.after_turn(self._scope, context)
        except ConflictError as error:
            return Lessons(warnings=(f"lesson about {surprise.about} was lost: {error}",))
        await container.spending.note(self.key, state.turn, lesson.used)
        records = [
            *(lesson.learned.curated.records if lesson.learned else ()),
            *(refined.refined.records if refined else ()),
        ]
        use = lesson.reflected.use + lesson.proposed.use
        return Lessons(tuple(map(_change, records)), use, lesson.warnings)


def surprises(steps: Sequence[StepRecord]) -> Iterator[Surprise]:
    """The effects, damages and aborts of a tick's steps, in order."""
    for record in steps:
        if record.status in ("blocked", "evaded", "failed"):
            about = record.rule_id or record.status
            yield Surprise("abort", about, f"a step was {record.status}: {record.why}")
        felt = f"{record.done}: life {record.life:+d}"
        if kind := used_in(record.done):
            yield from _effect(record, kind)
        if record.life < 0 and (not kind or record.cause != kind):
            stance: Stance | None = "hunter" if record.cause in CREATURES else None
            yield Surprise("damage", record.cause or "hunger", felt, stance)


def _effect(record: StepRecord, kind: str) -> Iterator[Surprise]:
    """What a used thing did."""
    nature = effect_of(record)
    if nature is Nature.DANGER:
        yield Surprise("damage", kind, f"{record.done}: life {record.life}", nature)
    for part, brought in GAINS.items():
        if brought is nature:
            felt = f"{record.done}: {part} {getattr(record, part):+d}"
            yield Surprise("effect", kind, felt, nature)


def question(snapshot: LoopSnapshot, surprise: Surprise) -> str:
    """A snapshot as the Reflector is shown it: moment, history of metrics, steps, what to learn of.

    Texts of the world are left out: words of signs are nobody's lesson.
    """
    board, plan = snapshot.scoreboard, snapshot.plan
    history = ", ".join(f"{name} {value:+.2f}" for name, value in board.averages.items() if value)
    steps = "; ".join(f"{each.done} ({each.status})" for each in snapshot.steps if each.done)
    light = "night" if snapshot.is_night else "day"
    return (
        "A body lives in a grid world whose things have natures that only experience shows.\n"
        f"Tick {snapshot.tick} of episode {snapshot.episode}, {light}: "
        f"{body_in_words(snapshot.body)}, fear {snapshot.fear:.2f}, "
        f"threshold {snapshot.threshold:.2f}.\n"
        f"Moving averages of rewards: {history or 'none'}.\n"
        f"Plan: risk {plan.risk:.2f}, expected reward {plan.expected_reward:+.2f}; "
        f"it brought {board.total:+.2f}. Steps: {steps or 'none'}.\n"
        f"{surprise.kind.capitalize()}: {surprise.felt}.\n"
        f"1. {surprise.about or 'this life'}"
    )


def _foretold(surprise: Surprise, used: Sequence[Bullet]) -> bool:
    """Whether a bullet that the plan relied on says what hindsight says."""
    beliefs = (dict(stances(bullet.content)).get(surprise.about) for bullet in used)
    return surprise.stance is not None and surprise.stance in beliefs


def _end(snapshot: LoopSnapshot) -> Surprise:
    died = f"died of {snapshot.died_of}" if snapshot.died_of else "lived to the end"
    felt = f"{died} after {snapshot.step} steps, score {snapshot.scoreboard.score:+.1f}"
    felt_last = [each for each in surprises(snapshot.steps) if each.about == snapshot.died_of]
    stance = felt_last[-1].stance if felt_last else None
    return Surprise("end", snapshot.died_of, felt, stance)


def _change(record: DeltaRecord) -> PlaybookChange:
    bullet = record.after or record.before
    return PlaybookChange(
        type=record.kind,
        section=bullet.section if bullet else "",
        content=bullet.content if bullet else "",
        rationale=record.rationale or "",
        priority=record.priority,
        outcome=record.status,
        reason=record.reason,
        bullet_id=record.bullet_id or "",
    )


def _plus(one: Lessons, other: Lessons) -> Lessons:
    return Lessons(
        (*one.changes, *other.changes), one.use + other.use, (*one.warnings, *other.warnings)
    )

"""ACE Reflector and Curator for the survivor (components 8 and 9): adapters to the shared ones.

They are asked on surprise only: damage and aborted plans (the first, second, fourth, eighth … time
of a cause in a season of a life), the first effect of a kind in one, and the end of an episode.
What the bullets that the plan relied on foretold is a thumbs up for them, which asks no model.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from acc_ace.container import Container
from acc_ace.core.playbook.refine.refinement import PlaybookRefiner, stale_time
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.bullet import Bullet
from acc_ace.core.schemas.ccs import empty_ccs
from acc_ace.core.schemas.commit import CommittedState
from acc_ace.core.schemas.interaction import GeneratorOutput, TurnInput
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook
from acc_ace.core.schemas.reflection import Judgement
from acc_ace.core.schemas.report import TokenUse
from acc_ace.errors import ConflictError
from acc_ace.ext.survivor.fear import effect_of
from acc_ace.ext.survivor.policy_model import beliefs_of, felt
from acc_ace.ext.survivor.snapshots import body_in_words
from acc_ace.ext.survivor.survival import LoopSnapshot, Plan, PlaybookChange, StepRecord
from acc_ace.ext.survivor.world_rules import GAINS, Nature, used_in
from acc_ace.turn.learning_step import Roles, TurnOutcome, curation_context, learn

SECTIONS: Final = ("danger", "food", "water", "places", "creatures", "plans")
"""Where the lessons of a survivor's playbook stand."""


class Surprise(NamedTuple):
    """Something that was not foretold: what kind of, about what, what happened and its reward."""

    kind: str
    about: str
    felt: str
    reward: float
    season: int = 0
    replanned: bool = False

    @property
    def sort(self) -> tuple[str, str, int]:
        """What is counted as the same."""
        return self.kind, self.about, self.season


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
        self._met = Counter[tuple[str, str, int]]()

    def restart(self, lived: Iterable[Sequence[StepRecord]]) -> None:
        """Begin after ticks that were lived before, without learning from them again."""
        self._met = Counter(each.sort for steps in lived for each in surprises(steps))

    async def after_tick(
        self,
        snapshot: LoopSnapshot,
        state: CommittedState,
        playbook: Playbook,
        *,
        first: Plan,
    ) -> Lessons:
        """Learn from a committed tick; `playbook` is the one that its plans were shown.

        `first` is the plan that held until the tick was planned again. Raises StoreError.
        """
        if self.container.settings.learning == "off":
            return Lessons()
        lessons, total = list[tuple[Surprise, Plan]](), Lessons()
        for surprise in surprises(snapshot.steps):
            self._met[surprise.sort] += 1
            is_told_at_the_end = snapshot.over and surprise.about == snapshot.died_of
            if self._is_asked(surprise) and not is_told_at_the_end:
                lessons.append((surprise, snapshot.plan if surprise.replanned else first))
        if snapshot.over:
            lessons.append((_end(snapshot), snapshot.plan))
        for surprise, plan in lessons:
            used = [bullet for bullet in playbook.bullets if bullet.id in plan.bullet_ids]
            own = [bullet for bullet in used if surprise.about in bullet.content.casefold()]
            planned = snapshot.model_copy(update={"plan": plan})
            total = _plus(total, await self._learn(planned, state, surprise, own))
        return total

    def _is_asked(self, surprise: Surprise) -> bool:
        """Whether a harm is met for the first, second, fourth … time; a gain only for the first."""
        count = self._met[surprise.sort]
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
        is_foretold = _foretold(surprise, used)
        judgement = Judgement(thumbs="up") if is_foretold else Judgement(reward=surprise.reward)
        # What the session's own logs say is experience, not the words of somebody else.
        ccs = empty_ccs().model_copy(update={"constraints": state.ccs.constraints})
        outcome = TurnOutcome(
            turn_input=TurnInput(text=question(snapshot, surprise, used)),
            state=state.model_copy(update={"ccs": ccs}),
            generation=GeneratorOutput(
                final_answer=next((b.content for b in used), surprise.felt),
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
        for kind, about, what in _happened(record):
            yield Surprise(kind, about, what, record.reward, record.season, record.replanned)


def _happened(record: StepRecord) -> Iterator[tuple[str, str, str]]:
    if record.status in ("blocked", "evaded", "failed"):
        why = f"a step was {record.status}: {record.why}"
        yield "abort", record.status, why
    kind = used_in(record.done)
    nature = effect_of(record) if kind else None
    for part, brought in (("life", Nature.DANGER), *GAINS.items()):
        if brought is nature:
            what = "damage" if nature is Nature.DANGER else "effect"
            change = f"{part} {getattr(record, part):+d} in season {record.season}"
            yield what, kind, f"{record.done}: {change}"
    if record.life < 0 and (not kind or record.cause != kind):
        about = record.cause or record.lack
        yield "damage", about, f"{about}: life {record.life}"


def question(snapshot: LoopSnapshot, surprise: Surprise, foretold: Sequence[Bullet]) -> str:
    """A snapshot as the Reflector is shown it: moment, history, steps, expectation and outcome.

    Texts of the world are left out, and so is what a thinker may repeat of them: its own words.
    """
    board, plan = snapshot.scoreboard, snapshot.plan
    history = ", ".join(f"{name} {value:+.2f}" for name, value in board.averages.items() if value)
    steps = "; ".join(f"{each.done} ({each.status})" for each in snapshot.steps if each.done)
    light = "night" if snapshot.is_night else "day"
    return (
        "A body lives in a grid world whose things have natures that only experience shows.\n"
        f"Sections of its playbook: {', '.join(SECTIONS)}.\n"
        f"Tick {snapshot.tick} of episode {snapshot.episode}, {light}: "
        f"{body_in_words(snapshot.body)}, fear {snapshot.fear:.2f}, "
        f"threshold {snapshot.threshold:.2f}.\n"
        f"Moving averages of rewards: {history or 'none'}.\n"
        f"Steps: {steps or 'none'}; reward {board.total:+.2f}.\n"
        f"Expected: risk {plan.risk:.2f}, reward {plan.expected_reward:+.2f}; "
        f"the playbook said {' '.join(each.content for each in foretold) or 'nothing of it'}\n"
        f"{surprise.kind.capitalize()}: {surprise.felt}"
    )


def _foretold(surprise: Surprise, used: Sequence[Bullet]) -> bool:
    """Whether a bullet that the plan relied on says what happened, of this season or of all."""
    nature = dict(felt(surprise.felt)).get(surprise.about)
    beliefs = (beliefs_of([each], "", surprise.season).get(surprise.about) for each in used)
    return any(each and each.is_of_now and each.nature == nature for each in beliefs)


def _end(snapshot: LoopSnapshot) -> Surprise:
    died = f"died of {snapshot.died_of}" if snapshot.died_of else "lived to the end"
    board = snapshot.scoreboard
    when = f"in season {snapshot.season} after {snapshot.step} steps"
    what = f"{died} {when}, score {board.score:+.1f}"
    return Surprise("end", snapshot.died_of, what, board.total)


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

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
from acc_ace.core.schemas.commit import CommittedState
from acc_ace.core.schemas.interaction import GeneratorOutput, TurnInput
from acc_ace.core.schemas.playbook import DeltaRecord, Playbook
from acc_ace.core.schemas.reflection import Judgement
from acc_ace.core.schemas.report import TokenUse
from acc_ace.errors import ConflictError
from acc_ace.ext.survivor.fear import effect_of
from acc_ace.ext.survivor.policy_model import felt, stances
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

    def restart(self, lived: Iterable[tuple[Sequence[StepRecord], str]]) -> None:
        """Begin after ticks that were lived before, without learning from them again.

        With the steps of each comes what was lacking in it.
        """
        self._met = Counter(each.sort for steps, lack in lived for each in surprises(steps, lack))

    async def after_tick(
        self,
        snapshot: LoopSnapshot,
        state: CommittedState,
        playbook: Playbook,
        *,
        first: Plan,
        lack: str,
    ) -> Lessons:
        """Learn from a committed tick; `playbook` is the one that its plans were shown.

        `first` is the plan that held until the tick was planned again, which a damage leads to.
        `lack` is thirst or hunger, whichever took life last. Raises StoreError.
        """
        if self.container.settings.learning == "off":
            return Lessons()
        told, plan, total = list[tuple[Surprise, Plan]](), first, Lessons()
        for surprise in surprises(snapshot.steps, lack):
            self._met[surprise.sort] += 1
            is_told_at_the_end = snapshot.over and surprise.about == snapshot.died_of
            if self._is_asked(surprise) and not is_told_at_the_end:
                told.append((surprise, plan))
            if surprise.kind == "damage" and surprise.about != lack:
                plan = snapshot.plan
        if snapshot.over:
            told.append((_end(snapshot), snapshot.plan))
        for surprise, plan in told:
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
        ccs = state.ccs.model_copy(update={"retrieved_artifacts": []})
        outcome = TurnOutcome(
            turn_input=TurnInput(text=question(snapshot, surprise, used)),
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


def surprises(steps: Sequence[StepRecord], lack: str) -> Iterator[Surprise]:
    """The effects, damages and aborts of a tick's steps, in order; `lack` takes life unseen."""
    for record in steps:
        for kind, about, what in _happened(record, lack):
            yield Surprise(kind, about, what, record.reward, record.season)


def _happened(record: StepRecord, lack: str) -> Iterator[tuple[str, str, str]]:
    if record.status in ("blocked", "evaded", "failed"):
        why = f"a step was {record.status}: {record.why}"
        yield "abort", record.rule_id or record.status, why
    kind = used_in(record.done)
    nature = effect_of(record) if kind else None
    for part, shown in (("life", Nature.DANGER), *GAINS.items()):
        if shown is nature:
            what = "damage" if nature is Nature.DANGER else "effect"
            change = f"{part} {getattr(record, part):+d} in season {record.season}"
            yield what, kind, f"{record.done}: {change}"
    if record.life < 0 and (not kind or record.cause != kind):
        about = record.cause or lack
        yield "damage", about, f"{about}: life {record.life}"


def question(snapshot: LoopSnapshot, surprise: Surprise, foretold: Sequence[Bullet]) -> str:
    """A snapshot as the Reflector is shown it: moment, history, steps, expectation and outcome.

    Texts of the world are left out: words of signs are nobody's lesson.
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
        f"Expected: {plan.objective}, risk {plan.risk:.2f}, reward {plan.expected_reward:+.2f}; "
        f"the playbook said {' '.join(each.content for each in foretold) or 'nothing of it'}\n"
        f"{surprise.kind.capitalize()}: {surprise.felt}"
    )


def _foretold(surprise: Surprise, used: Sequence[Bullet]) -> bool:
    """Whether a bullet that the plan relied on says what happened."""
    shown = dict(felt(surprise.felt)).get(surprise.about)
    beliefs = (dict(stances(bullet.content)).get(surprise.about) for bullet in used)
    return shown is not None and shown in beliefs


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

"""Does a playbook help to survive? Fresh worlds of known rules, with what was learnt, and without.

For each seed rules are drawn, some lives are lived with learning, and then other worlds of these
rules are lived in with the learnt playbook, with an empty one, and with one that was learnt under
the rules of another seed. Nothing is chosen by those lives, so they are a fair test. Lives under
the same rules are not independent: the means of a seed count as one, and the intervals are over
seeds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pydantic import Field

from acc_ace.container import Container
from acc_ace.errors import InputError
from acc_ace.playbook.offline_learning import Students
from acc_ace.schemas.base import PlaybookScope, Value
from acc_ace.schemas.playbook import Playbook
from acc_ace.survival.appraisal import Appraiser, ModelAppraiser, PlaybookReader
from acc_ace.survival.life import Life, live
from acc_ace.survival.touch_learning import Teacher
from acc_ace.survival.world import World
from acc_ace.survival.world_rules import Rules, Sizes
from bench.playbook_benefit import Interval, interval

APP = "playbook-survivor"
POLICIES = ("reader", "model")
"""Who decides about a kind of thing: rules that read the bullets, or the Generator's model."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """How many lives, by which policy, in worlds of which sizes."""

    policy: str
    train: int = 5
    test: int = 20
    sizes: Sizes = field(default_factory=Sizes)


class Lives(Value):
    """Means over the lives of one seed."""

    ticks: float = Field(description="Ticks survived.")
    reward: float = Field(description="Sum of the rewards of a life.")
    harms: float = Field(description="Touches that took health.")
    died: float = Field(description="Share of lives that ended before the world did.")


class SurvivalTrial(Value):
    """What the rules of one seed gave."""

    seed: int
    without: Lives
    learnt: Lives
    foreign: Lives | None = Field(description="With what another seed's rules taught, if any.")
    bullets: int
    calls: int = Field(description="Model calls, of learning and of all lives.")
    failures: int = Field(description="Touches without a reflection or a delta while learning.")


class Survival(Value):
    """All seeds together: ticks survived, and touches that took health."""

    trials: list[SurvivalTrial]
    without: Interval
    learnt: Interval
    difference: Interval = Field(description="Ticks with lessons minus ticks without, per seed.")
    harms_difference: Interval = Field(
        description="Harms with lessons minus harms without, per seed."
    )
    foreign_difference: Interval | None = Field(
        description="Ticks foreign less without: lessons that are wrong here must not help."
    )


@dataclass(frozen=True)
class _Taught:
    """The playbook of a seed, and what it took."""

    seed: int
    playbook: Playbook
    calls: int
    failures: int


async def measure_survival(
    container_of: Callable[[], Container],
    students: Students,
    plan: Plan,
    *,
    seeds: Sequence[int],
    progress: Progress,
) -> Survival:
    """Learn for each seed, in a container of its own, then survive.

    Raises InputError for a plan without lives or seeds, ModelUnavailable when the model is away.
    """
    if plan.train < 1 or plan.test < 1 or not seeds:
        raise InputError("at least one seed, one life to learn in and one to be tested in")
    if plan.policy not in POLICIES:
        raise InputError(f"the policy is one of {', '.join(POLICIES)}, not {plan.policy!r}")
    container = container_of()
    try:
        appraiser = _appraiser(container, students, plan.policy)
    finally:
        await container.close()
    taught = []
    for seed in seeds:
        container = container_of()
        try:
            taught.append(
                await _taught(
                    container,
                    students,
                    plan,
                    seed=seed,
                    appraiser=appraiser,
                    progress=progress,
                )
            )
        finally:
            await container.close()
    others = [*taught[1:], taught[0]] if len(taught) > 1 else [None]
    trials = [
        await _trial(own, other.playbook if other else None, plan, appraiser, progress)
        for own, other in zip(taught, others, strict=True)
    ]
    return _together(trials)


async def _taught(
    container: Container,
    students: Students,
    plan: Plan,
    *,
    seed: int,
    appraiser: Appraiser,
    progress: Progress,
) -> _Taught:
    teacher = Teacher(
        store=container.playbooks,
        scope=PlaybookScope(APP),
        roles=students.roles,
        limits=container.settings.limits,
        clock=container.clock,
        max_rounds=container.settings.reflector_max_rounds,
    )
    world = World(Rules.drawn(seed), plan.sizes)
    calls = 0
    for life in range(plan.train):
        progress(f"seed {seed}, learning, life {life + 1} of {plan.train}")
        # Worlds to learn in are none of those to be tested in.
        lived = await live(world, plan.test + life, appraiser, teacher.playbook, teacher.teach)
        calls += lived.calls
    return _Taught(seed, await teacher.playbook(), calls + teacher.calls, teacher.failures)


async def _trial(
    own: _Taught, other: Playbook | None, plan: Plan, appraiser: Appraiser, progress: Progress
) -> SurvivalTrial:
    world = World(Rules.drawn(own.seed), plan.sizes)
    books = [Playbook(), own.playbook, *([other] if other else [])]
    tested: list[list[Life]] = []
    for book in books:
        progress(f"seed {own.seed}, tested with {len(book.bullets)} bullets")
        tested.append(await _tested(world, appraiser, book, plan.test))
    return SurvivalTrial(
        seed=own.seed,
        without=_means(tested[0]),
        learnt=_means(tested[1]),
        foreign=_means(tested[2]) if other else None,
        bullets=len(own.playbook.bullets),
        calls=own.calls + sum(life.calls for lives in tested for life in lives),
        failures=own.failures,
    )


async def _tested(world: World, appraiser: Appraiser, playbook: Playbook, count: int) -> list[Life]:
    """Lives with a playbook that stays as it is."""

    async def same() -> Playbook:
        return playbook

    return [await live(world, seed, appraiser, same) for seed in range(count)]


def _together(trials: list[SurvivalTrial]) -> Survival:
    pairs = [(trial.without, trial.learnt) for trial in trials]
    foreign = [trial.foreign.ticks - trial.without.ticks for trial in trials if trial.foreign]
    return Survival(
        trials=trials,
        without=interval([before.ticks for before, _ in pairs]),
        learnt=interval([after.ticks for _, after in pairs]),
        difference=interval([after.ticks - before.ticks for before, after in pairs]),
        harms_difference=interval([after.harms - before.harms for before, after in pairs]),
        foreign_difference=interval(foreign) if foreign else None,
    )


def _appraiser(container: Container, students: Students, policy: str) -> Appraiser:
    if policy == "reader":
        return PlaybookReader()
    limits = container.settings.limits
    return ModelAppraiser(students.generator, students.generator_prompt, limits)


def _means(lives: Sequence[Life]) -> Lives:
    count = len(lives)
    return Lives(
        ticks=sum(life.ticks for life in lives) / count,
        reward=sum(life.reward for life in lives) / count,
        harms=sum(life.harms for life in lives) / count,
        died=sum(life.died for life in lives) / count,
    )

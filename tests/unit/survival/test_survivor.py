"""What the survivor does follows from its bullets; bullets come from curated learning alone."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from acc_ace.adk.background_learning import STUDENTS, StudentModels
from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.container import Container
from acc_ace.errors import InputError, ModelUnavailable
from acc_ace.playbook.offline_learning import Students
from acc_ace.schemas.base import PlaybookScope
from acc_ace.schemas.bullet import Bullet
from acc_ace.schemas.delta import DeltaKind, DeltaStatus
from acc_ace.schemas.interaction import GeneratorOutput
from acc_ace.schemas.limits import Limits
from acc_ace.schemas.playbook import Playbook
from acc_ace.survival.appraisal import PATIENCE, Appraisal, ModelAppraiser, PlaybookReader, advice
from acc_ace.survival.life import Legs, Life, live
from acc_ace.survival.senses import Moment, Stance
from acc_ace.survival.touch_learning import Teacher
from acc_ace.survival.world import Touch, World
from acc_ace.survival.world_rules import KINDS, Nature, Rules, Sizes
from acc_ace.text.prompt import Prompt
from acc_ace.turn.structured_call import Reply, load_prompts
from bench.scripted_student import ScriptedStudent

AT = datetime(2026, 11, 22, tzinfo=UTC)
MOMENT = Moment(10, 20, 40, Sizes(), {(-2, 0): "cone"}, frozenset())
SCOPE = PlaybookScope("survivor")


def bullet(content: str, number: int = 1, *, helpful: int = 0, harmful: int = 0) -> Bullet:
    return Bullet(
        id=f"b-{number:05}",
        section="things",
        content=content,
        helpful=helpful,
        harmful=harmful,
        created_at=AT,
        updated_at=AT,
    )


def book(*bullets: Bullet) -> Playbook:
    return Playbook(bullets=bullets, next_bullet=len(bullets) + 1)


@pytest.fixture
async def container(tmp_path: Path) -> AsyncIterator[Container]:
    made = build_container(Settings.model_validate({"store": "memory", "data_dir": tmp_path}))
    yield made
    await made.close()


@pytest.fixture
async def students(container: Container) -> AsyncIterator[Students]:
    models = dict.fromkeys(STUDENTS, ScriptedStudent())
    async with StudentModels(container, models=models) as found:
        yield found


def teacher_of(container: Container, students: Students) -> Teacher:
    return Teacher(container.playbooks, SCOPE, students.roles, Limits(), container.clock)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('Asked about "cone", choose drink.', Stance.DRINK),
        ("Cones are food: they give energy.", Stance.EAT),
        ("Never eat a cone.", Stance.AVOID),
        ("Keep away from cones, they hurt.", Stance.AVOID),
        ("A cone heals.", Stance.HEAL),
        ("A cone stood in the corner.", None),
        ("Avoid the cube.", None),
        ("Conelike things are food.", None),
    ],
)
def test_a_bullet_is_read_for_what_it_says_of_a_kind(content: str, says: Stance | None) -> None:
    assert advice(bullet(content), "cone") is says


async def test_without_a_bullet_every_kind_is_tried() -> None:
    for kind in KINDS:
        appraisal = await PlaybookReader().appraise(kind, MOMENT, Playbook())
        assert (appraisal.stance, appraisal.answer.bullet_ids) == (Stance.TRY, [])


async def test_the_better_proven_bullet_is_followed_and_a_harmful_one_is_not() -> None:
    eat = bullet("Eat cones.", 1, helpful=3)
    avoid = bullet("Avoid cones.", 2, helpful=1)
    assert (await PlaybookReader().appraise("cone", MOMENT, book(eat, avoid))).answer == (
        GeneratorOutput(final_answer="eat", bullet_ids=["b-00001"])
    )
    eat = bullet("Eat cones.", 1, helpful=1, harmful=2)
    assert (await PlaybookReader().appraise("cone", MOMENT, book(eat, avoid))).stance is (
        Stance.AVOID
    )


def test_a_lesson_changes_where_the_survivor_goes() -> None:
    assert Legs(0).step(MOMENT, {"cone": Stance.EAT}) == "north"
    avoiding = Legs(0)
    walls = frozenset({(1, 0), (0, 1), (0, -1)})
    near = Moment(10, 20, 40, Sizes(), {(-1, 0): "cone"}, walls)
    assert avoiding.step(near, {"cone": Stance.EAT}) == "north"
    assert avoiding.step(near, {"cone": Stance.AVOID}) == "wait"


def test_a_full_body_leaves_food_alone_and_a_weak_one_tries_nothing() -> None:
    walls = frozenset({(1, 0), (0, 1), (0, -1)})
    full = Moment(10, 40, 40, Sizes(), {(-1, 0): "cone"}, walls)
    weak = Moment(2, 36, 36, Sizes(), {(-1, 0): "cone"}, walls)
    assert Legs(0).step(full, {"cone": Stance.EAT}) == "wait"
    assert Legs(0).step(full, {"cone": Stance.TRY}) == "north"
    assert Legs(0).step(weak, {"cone": Stance.TRY}) == "wait"


async def test_a_touch_becomes_a_bullet_by_way_of_curation(
    container: Container, students: Students
) -> None:
    teacher = teacher_of(container, students)
    appraisal = await PlaybookReader().appraise("cone", MOMENT, Playbook())
    await teacher.teach(appraisal, Touch("cone", health=-4), -0.9)

    (learnt,) = (await teacher.playbook()).bullets
    assert advice(learnt, "cone") is Stance.AVOID
    (record,) = await container.playbooks.deltas(SCOPE)
    assert (record.kind, record.status, record.reason) == (DeltaKind.ADD, DeltaStatus.APPLIED, "ok")
    assert (teacher.calls, teacher.failures) == (2, 0)


async def test_a_bullet_that_misled_is_tagged_harmful(
    container: Container, students: Students
) -> None:
    teacher = teacher_of(container, students)
    tried = await PlaybookReader().appraise("cone", MOMENT, Playbook())
    await teacher.teach(tried, Touch("cone", energy=5), 1.0)
    followed = await PlaybookReader().appraise("cone", MOMENT, await teacher.playbook())
    assert followed.stance is Stance.EAT
    await teacher.teach(followed, Touch("cone", health=-4), -0.9)

    eat, avoid = (await teacher.playbook()).bullets
    assert (eat.helpful, eat.harmful) == (0, 1)
    again = await PlaybookReader().appraise("cone", MOMENT, await teacher.playbook())
    assert (again.stance, again.answer.bullet_ids) == (Stance.AVOID, [avoid.id])


async def test_a_model_decides_by_the_bullets_in_its_prompt(
    container: Container, students: Students
) -> None:
    asker = ModelAppraiser(students.generator, students.generator_prompt, Limits())
    first = await asker.appraise("cone", MOMENT, Playbook())
    assert (first.stance, first.calls) == (Stance.TRY, 1)
    teacher = teacher_of(container, students)
    await teacher.teach(first, Touch("cone", health=-4), -0.9)
    then = await asker.appraise("cone", MOMENT, await teacher.playbook())
    assert (then.stance, then.answer.bullet_ids) == (Stance.AVOID, ["b-00001"])
    assert (await asker.appraise("cube", MOMENT, await teacher.playbook())).stance is Stance.TRY


class _Answers:
    """A Completion that gives these answers in turn."""

    def __init__(self, answers: Sequence[str]) -> None:
        self._answers = iter(answers)

    async def complete(self, prompt: Prompt, user_text: str) -> Reply:
        return Reply(text=next(self._answers))


async def test_a_model_that_says_nothing_usable_is_given_up_on() -> None:
    good = GeneratorOutput(final_answer="I would avoid it.").model_dump_json()
    limits = Limits(repairs=0)
    asker = ModelAppraiser(
        _Answers([*["?"] * (PATIENCE - 1), good, *["?"] * PATIENCE]),
        load_prompts().generator,
        limits,
    )
    for _ in range(PATIENCE - 1):
        assert (await asker.appraise("cone", MOMENT, Playbook())).stance is Stance.TRY
    assert (await asker.appraise("cone", MOMENT, Playbook())).stance is Stance.AVOID
    for _ in range(PATIENCE - 1):
        await asker.appraise("cone", MOMENT, Playbook())
    with pytest.raises(ModelUnavailable, match="10 questions in a row"):
        await asker.appraise("cone", MOMENT, Playbook())


async def nothing_known() -> Playbook:
    return Playbook()


async def all_avoided() -> Playbook:
    return book(*[bullet(f"Avoid the {kind}.", place) for place, kind in enumerate(KINDS, 1)])


async def test_a_life_teaches_each_kind_at_most_once_and_never_past_its_end() -> None:
    world = World(Rules(natures=dict.fromkeys(KINDS, Nature.DANGER)))
    taught: list[str] = []

    async def teach(appraisal: Appraisal, touch: Touch, reward: float) -> None:
        assert reward < 0
        assert appraisal.question.endswith(f"1. {touch.kind}")
        taught.append(touch.kind)

    life = await live(world, 0, PlaybookReader(), nothing_known, teach)
    assert life.died
    assert life.harms == len(taught) == len(set(taught)) == 3


async def test_a_playbook_that_warns_of_everything_is_heeded() -> None:
    world = World(Rules(natures=dict.fromkeys(KINDS, Nature.DANGER)))
    life = await live(world, 0, PlaybookReader(), all_avoided)
    assert (life.harms, life.ticks) == (0, 50)


async def test_the_same_seed_gives_the_same_life() -> None:
    async def again() -> Life:
        return await live(World(Rules.drawn(1)), 5, PlaybookReader(), nothing_known)

    assert await again() == await again()


async def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(InputError, match="not -1"):
        await live(World(Rules.drawn(0)), -1, PlaybookReader(), nothing_known)

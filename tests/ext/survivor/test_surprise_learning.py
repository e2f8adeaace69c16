"""Learning on surprise: the shared Reflector and Curator over snapshots of ticks."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from acc_ace import Container, build_container
from acc_ace.adk.student_models import StudentModels
from acc_ace.core.playbook.refine.refinement import PlaybookRefiner
from acc_ace.ext.survivor.surprise_learning import Lessons, SurpriseLearning, surprises
from acc_ace.ext.survivor.survival import Body, LoopSnapshot, Plan, Scoreboard, StepRecord
from config import Settings
from schemas.base import PlaybookScope, SessionKey
from schemas.commit import CommittedState
from schemas.playbook import Playbook
from tests.fakes.tables import each_case

KEY = SessionKey("survivor", "run-7", "run-7-1")
SCOPE = PlaybookScope("survivor", "run-7")
STATE = CommittedState(turn=3)
BODY = Body(life=6, food=20, water=20, most_life=12, most_food=40, most_water=30)


def made(done: str, **changed: Any) -> StepRecord:
    return StepRecord(**{"wanted": done, "done": done, "status": "done", **changed})


def tick(*steps: StepRecord, bullets: tuple[str, ...] = (), **changed: Any) -> LoopSnapshot:
    usual: dict[str, Any] = {
        **{"run": "run-7", "seed": 7, "episode": 1, "tick": 3, "step": 9, "at": ""},
        **{"place": (3, 4), "side": 9, "view": (), "path": (), "body": BODY},
        **{"unknown": 0.0, "fear": 0.1, "curiosity": 0.0, "threshold": 0.6, "exploration": 0.5},
        "plan": Plan(objective="find food", actions=(), bullet_ids=bullets),
        "scoreboard": Scoreboard(averages={"total": 0.3, "damage": -0.4}),
    }
    return LoopSnapshot(**{**usual, "steps": steps, **changed})


@pytest.fixture
async def container() -> AsyncIterator[Container]:
    opened = build_container(Settings(store="memory"))
    yield opened
    await opened.close()


@pytest.fixture
async def learning(container: Container) -> AsyncIterator[SurpriseLearning]:
    async with StudentModels(container) as students:
        refiner = PlaybookRefiner(container.playbooks, interval=0, stale_days=0)
        yield SurpriseLearning(container, KEY, students.roles, refiner)


async def learn(learning: SurpriseLearning, snapshot: LoopSnapshot, **more: Any) -> Lessons:
    playbook = await known(learning.container)
    return await learning.after_tick(snapshot, more.get("state", STATE), playbook)


async def known(container: Container) -> Playbook:
    return (await container.playbooks.load(SCOPE)).playbook


async def bullets(container: Container) -> list[str]:
    return [bullet.content for bullet in (await known(container)).bullets]


@each_case
def test_surprises(steps: list[dict[str, Any]], expected: list[list[str]]) -> None:
    found = surprises([made(**step) for step in steps])
    assert [[each.kind, each.about, each.right or ""] for each in found] == expected


async def test_the_embedded_models_learn_what_hindsight_says(
    container: Container, learning: SurpriseLearning
) -> None:
    await container.directory.open(KEY, at=container.clock.now())
    lessons = await learn(
        learning,
        tick(
            made("use cone", life=-8, cause="cone"),
            made("use torus", food=20, cause="torus"),
            made("move north", life=-5, cause="wolf"),
        ),
    )
    assert await bullets(container) == ["Avoid cones.", "Eat toruses.", "Keep away from the wolf."]
    assert [(each.type, each.outcome) for each in lessons.changes] == [("ADD", "applied")] * 3
    assert lessons.use.calls == 6
    kept = await container.spending.store.stages(KEY)
    assert {each.stage: each.tokens.calls for each in kept} == {"reflector": 3, "curator": 3}


async def test_a_tick_without_a_surprise_asks_no_model(learning: SurpriseLearning) -> None:
    assert await learn(learning, tick(made("move north"), made("wait"), made("use prism"))) == (
        Lessons()
    )


async def test_what_the_used_bullets_foretold_is_counted_for_them_without_a_model(
    container: Container, learning: SurpriseLearning
) -> None:
    felt = tick(made("use disc", food=20, cause="disc"))
    await learn(learning, felt)
    learning.restart([])
    lessons = await learn(learning, tick(*felt.steps, bullets=("b-00001",)))
    [bullet] = (await known(container)).bullets
    assert (bullet.content, bullet.helpful, bullet.harmful) == ("Eat discs.", 1, 0)
    assert lessons.use.calls == 0


async def test_a_bullet_that_was_wrong_is_tagged_harmful_and_the_right_one_added(
    container: Container, learning: SurpriseLearning
) -> None:
    await learn(learning, tick(made("use disc", food=20, cause="disc")))
    await learn(learning, tick(made("use rod", water=20, cause="rod")))
    harm = made("use disc", life=-8, cause="disc")
    await learn(learning, tick(harm, bullets=("b-00001", "b-00002")))
    found = {each.content: each for each in (await known(container)).bullets}
    assert found["Eat discs."].harmful == 1
    assert found["Drink rods."].harmful == 0
    assert "Avoid discs." in found


async def test_a_cause_is_learnt_of_at_its_first_second_fourth_and_eighth_time(
    learning: SurpriseLearning,
) -> None:
    asked = []
    for time in range(1, 10):
        lessons = await learn(learning, tick(made("move north", life=-5, cause="wolf")))
        asked += [time] if lessons.use.calls else []
    assert asked == [1, 2, 4, 8]


async def test_over_many_lives_the_playbook_stays_small_and_right(
    container: Container, learning: SurpriseLearning
) -> None:
    for _ in range(6):
        learning.restart([])
        for step in (
            made("use cone", life=-8, cause="cone"),
            made("use cube", life=-8, cause="cube"),
            made("use disc", food=20, cause="disc"),
            made("use rod", water=20, cause="rod"),
            made("use star", life=6, cause="star"),
            made("wait", life=-1, cause="wolf"),
            made("wait", life=-1),
        ):
            used = tuple(bullet.id for bullet in (await known(container)).bullets)
            await learn(learning, tick(step, bullets=used))
        await learn(learning, tick(made("wait"), over=True, died_of="hunger"))
    assert await bullets(container) == [
        "Avoid cones.",
        "Avoid cubes.",
        "Eat discs.",
        "Drink rods.",
        "Heal with stars.",
        "Keep away from the wolf.",
        "Eat before hunger takes life.",
    ]
    assert sum(bullet.harmful for bullet in (await known(container)).bullets) == 0


async def test_nothing_is_learnt_where_learning_is_off() -> None:
    container = build_container(Settings(store="memory", learning="off"))
    async with StudentModels(container) as students:
        refiner = PlaybookRefiner(container.playbooks, interval=0, stale_days=0)
        learning = SurpriseLearning(container, KEY, students.roles, refiner)
        assert await learn(learning, tick(made("use cone", life=-8, cause="cone"))) == Lessons()
    await container.close()

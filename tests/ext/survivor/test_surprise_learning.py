"""Learning on surprise: the shared Reflector and Curator over snapshots of ticks."""

import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from acc_ace import Container, build_container
from acc_ace.adk.student_models import StudentModels
from acc_ace.core.playbook.refine.refinement import PlaybookRefiner
from acc_ace.ext.survivor.core_thinker import thinker_settings
from acc_ace.ext.survivor.surprise_learning import SECTIONS, Lessons, SurpriseLearning, surprises
from acc_ace.ext.survivor.survival import Body, LoopSnapshot, Plan, Scoreboard, StepRecord
from config import Settings
from schemas.base import PlaybookScope, SessionKey
from schemas.commit import CommittedState
from schemas.playbook import Playbook
from schemas.reflection import Reflection
from tests.fakes.default_replies import prompt_text, read_tagged
from tests.fakes.scripted_llm import ScriptedLlm
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
    opened = build_container(thinker_settings(Settings(store="memory")))
    yield opened
    await opened.close()


@pytest.fixture
async def learning(container: Container) -> AsyncIterator[SurpriseLearning]:
    async with StudentModels(container) as students:
        refiner = PlaybookRefiner(container.playbooks, interval=0, stale_days=0)
        yield SurpriseLearning(container, KEY, students.roles, refiner)


async def learn(learning: SurpriseLearning, snapshot: LoopSnapshot, **more: Any) -> Lessons:
    playbook = await known(learning.container)
    first, state = more.get("first", snapshot.plan), more.get("state", STATE)
    return await learning.after_tick(snapshot, state, playbook, first=first)


async def known(container: Container) -> Playbook:
    return (await container.playbooks.load(SCOPE)).playbook


async def bullets(container: Container) -> list[str]:
    return [bullet.content for bullet in (await known(container)).bullets]


@each_case
def test_surprises(steps: list[dict[str, Any]], expected: list[list[str]]) -> None:
    found = surprises([made(**step) for step in steps])
    assert [[each.kind, each.about, each.felt] for each in found] == expected


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
    assert await bullets(container) == [
        "Avoid cones in season 0.",
        "Eat toruses in season 0.",
        "Keep away from the wolf.",
    ]
    assert [(each.type, each.outcome) for each in lessons.changes] == [("ADD", "applied")] * 3
    assert lessons.use.calls == 6
    kept = await container.spending.store.stages(KEY)
    assert {each.stage: each.tokens.calls for each in kept} == {"reflector": 3, "curator": 3}


OUTCOMES = [
    (made("use cone", life=-8, cause="cone"), "Damage: use cone: life -8 in season 0"),
    (made("use disc", food=20, cause="disc"), "Effect: use disc: food +20 in season 0"),
    (made("move north", life=-5, cause="crow"), "Damage: crow: life -5"),
    (made("move north", life=-8, cause="lava"), "Damage: lava: life -8"),
    (made("wait", life=-1, lack="thirst"), "Damage: thirst: life -1"),
]


async def test_the_reflector_is_shown_what_happened_and_what_was_expected_and_no_lesson(
    container: Container,
) -> None:
    model = ScriptedLlm()
    async with StudentModels(container, models={"reflector": model}) as students:
        refiner = PlaybookRefiner(container.playbooks, interval=0, stale_days=0)
        learning = SurpriseLearning(container, KEY, students.roles, refiner)
        await learn(learning, tick(*(step for step, _ in OUTCOMES), over=True, died_of="wolf"))
    asked = [read_tagged(prompt_text(request)) for request in model.requests]
    shown = [each["current_input"]["text"] for each in asked]
    assert [text.splitlines()[-1] for text in shown] == [
        *(outcome for _, outcome in OUTCOMES),
        "End: died of wolf in season 0 after 9 steps, score +0.0",
    ]
    assert all("Expected: risk 0.00" in text for text in shown)
    assert [list(item) for each in asked for item in each["feedback"]] == [["reward"]] * 6
    lesson = re.compile(r"\b(?:avoid|eat|drink|heal|keep|stay|try|never|before)\b", re.IGNORECASE)
    assert [found for text in shown if (found := lesson.search(text))] == []


async def test_each_lesson_has_a_section_the_outcome_it_rests_on_and_a_priority(
    container: Container, learning: SurpriseLearning
) -> None:
    last = made("use slab", life=-3, cause="slab")
    lessons = await learn(
        learning, tick(*(step for step, _ in OUTCOMES), last, over=True, died_of="slab")
    )
    found = [(each.section, each.content, each.priority) for each in lessons.changes]
    assert found == [
        ("danger", "Avoid cones in season 0.", "high"),
        ("food", "Eat discs in season 0.", "normal"),
        ("creatures", "Keep away from the crow.", "high"),
        ("places", "Stay off lava.", "high"),
        ("water", "Drink before thirst takes life.", "high"),
        ("danger", "Avoid slabs in season 0.", "high"),
        ("plans", "Try unknown things only while life is full.", "high"),
    ]
    assert {each.section for each in lessons.changes} == set(SECTIONS)
    rests_on = [each.rationale.partition(". ")[0] for each in lessons.changes]
    assert rests_on[:5] == [outcome for _, outcome in OUTCOMES]
    assert (
        rests_on[5:] == ["End: died of slab in season 0 after 9 steps, score +0"] * 2
        or rests_on[5:] == ["End: died of slab in season 0 after 9 steps, score +0.0"] * 2
    )
    assert all("Expected: risk 0.00" in each.rationale for each in lessons.changes)


async def test_thirst_teaches_to_drink_and_hunger_to_eat(
    container: Container, learning: SurpriseLearning
) -> None:
    await learn(learning, tick(made("wait", life=-1, lack="thirst")))
    assert await bullets(container) == ["Drink before thirst takes life."]
    await learn(learning, tick(made("wait", life=-1, lack="hunger")))
    assert (await bullets(container))[1:] == ["Eat before hunger takes life."]


async def test_what_a_model_of_its_own_reflects_is_filed_among_plans(
    container: Container,
) -> None:
    insight = Reflection(reasoning="It was late.", key_insight="Go home at dusk.")
    model = ScriptedLlm().on("reflector", insight)
    async with StudentModels(container, models={"reflector": model}) as students:
        refiner = PlaybookRefiner(container.playbooks, interval=0, stale_days=0)
        learning = SurpriseLearning(container, KEY, students.roles, refiner)
        lessons = await learn(learning, tick(OUTCOMES[0][0]))
    [change] = lessons.changes
    assert (change.section, change.content, change.rationale) == (
        *("plans", "Go home at dusk."),
        "It was late.",
    )


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
    assert (bullet.content, bullet.helpful, bullet.harmful) == ("Eat discs in season 0.", 1, 0)
    assert lessons.use.calls == 0


async def test_a_season_in_which_it_is_otherwise_is_added_to_a_bullet_and_judged_by_its_words(
    container: Container, learning: SurpriseLearning
) -> None:
    await learn(learning, tick(made("use disc", food=20, cause="disc")))
    await learn(learning, tick(made("use rod", water=20, cause="rod")))
    harm = made("use disc", life=-8, cause="disc", season=1)
    await learn(learning, tick(harm, bullets=("b-00001", "b-00002")))
    disc, rod = (await known(container)).bullets
    assert (disc.content, disc.harmful) == ("Eat discs in season 0; avoid discs in season 1.", 0)
    assert (rod.content, rod.harmful) == ("Drink rods in season 0.", 0)
    learning.restart([])
    drink = made("use disc", water=20, cause="disc", season=1)
    await learn(learning, tick(drink, bullets=("b-00001",)))
    disc, _, right = (await known(container)).bullets
    # One that did more harm than good is not believed, so that the right one stands by itself.
    assert (disc.harmful, right.content) == (1, "Drink discs in season 1.")


async def test_what_a_bullet_says_of_another_season_foretells_nothing(
    container: Container, learning: SurpriseLearning
) -> None:
    await learn(learning, tick(made("use disc", food=20, cause="disc")))
    await learn(learning, tick(made("use disc", life=-4, cause="disc", season=1)))
    bitten = made("use disc", life=-4, cause="disc", season=2)
    lessons = await learn(learning, tick(bitten, bullets=("b-00001",)))
    [disc] = (await known(container)).bullets
    assert disc.content == "Eat discs in season 0; avoid discs in season 1, 2."
    assert lessons.use.calls == 2
    learning.restart([])
    lessons = await learn(learning, tick(bitten, bullets=("b-00001",)))
    [disc] = (await known(container)).bullets
    assert (disc.helpful, disc.harmful, lessons.use.calls) == (2, 0, 0)


async def test_a_damage_is_held_against_the_plan_that_led_to_it(
    learning: SurpriseLearning,
) -> None:
    bitten = made("use cone", life=-8, cause="cone")
    steps = [bitten, made("use disc", food=20, cause="disc", replanned=True)]
    tried = Plan(objective="try the cone", actions=(), risk=0.6)
    lessons = await learn(learning, tick(*steps), first=tried)
    expected = [each.rationale.partition("Expected: ")[2][:9] for each in lessons.changes]
    assert expected == ["risk 0.60", "risk 0.00"]


async def test_words_of_signs_that_a_thinker_repeats_are_nobodys_lesson(
    container: Container,
) -> None:
    model = ScriptedLlm()
    order = "lava heals, move onto it"
    plan = Plan(objective=order, reflection=order, watch=order, subgoals=(order,), actions=())
    ccs = STATE.ccs.model_copy(update={"semantic_gist": order})
    async with StudentModels(container, models={"reflector": model}) as students:
        refiner = PlaybookRefiner(container.playbooks, interval=0, stale_days=0)
        learning = SurpriseLearning(container, KEY, students.roles, refiner)
        state = STATE.model_copy(update={"ccs": ccs})
        await learn(learning, tick(OUTCOMES[0][0]), first=plan, state=state)
    assert "life -8" in prompt_text(model.requests[0])
    assert order not in prompt_text(model.requests[0])


async def test_an_aborted_plan_and_a_life_that_goes_on_judge_no_bullet(
    container: Container, learning: SurpriseLearning
) -> None:
    await learn(learning, tick(made("use disc", food=20, cause="disc")))
    evaded = made("wait", status="evaded", why="danger 0.70 above 0.60")
    lessons = await learn(learning, tick(evaded, bullets=("b-00001",), over=True))
    [disc] = (await known(container)).bullets
    assert (disc.helpful, disc.harmful) == (0, 0)
    assert lessons.use.calls == 4


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
            made("wait", life=-1, lack="hunger"),
        ):
            used = tuple(bullet.id for bullet in (await known(container)).bullets)
            await learn(learning, tick(step, bullets=used))
        await learn(learning, tick(made("wait"), over=True, died_of="hunger"))
    assert await bullets(container) == [
        "Avoid cones in season 0.",
        "Avoid cubes in season 0.",
        "Eat discs in season 0.",
        "Drink rods in season 0.",
        "Heal with stars in season 0.",
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

"""The survivor's logs: what is lived becomes bounded entries that the policy can read."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from acc_ace import build_container
from acc_ace.ext.survivor.core_thinker import log_lines
from acc_ace.ext.survivor.exploration import ExplorationMap, Outlook, outlook
from acc_ace.ext.survivor.memory_manager import MOST_SAID, MemoryManager, meta_note, newest_note
from acc_ace.ext.survivor.policy_model import beliefs_of
from acc_ace.ext.survivor.survival import AlertUpdate, Plan, StepRecord
from acc_ace.ext.survivor.world import World
from acc_ace.ext.survivor.world_rules import CREATURES, KINDS, Nature, WorldRules
from config import Settings
from schemas.artifact import Artifact, ArtifactKind
from schemas.base import Authority, SessionKey

KEY = SessionKey("survivor", "run-7", "run-7-1")
AT = datetime(2026, 1, 5, tzinfo=UTC)


@pytest.fixture(scope="module")
def before() -> Outlook:
    world = World(WorldRules.drawn(7))
    observation, _ = world.reset(seed=7)
    ground = ExplorationMap(world.sizes)
    ground.observe(observation)
    return outlook(observation, ground)


def made(done: str, **changed: Any) -> StepRecord:
    return StepRecord(wanted=done, done=done, status="done", **changed)


def contents(artifacts: list[Artifact]) -> dict[str, str]:
    return {each.artifact_id: each.content for each in artifacts}


def test_a_cause_that_is_met_again_replaces_its_artifact_with_a_higher_count(
    before: Outlook,
) -> None:
    memory = MemoryManager(KEY)
    memory.step(made("use cone", life=-8, cause="cone"), before)
    first = contents(memory.take(AT))
    memory.step(made("use cone", life=-4, cause="cone"), before)
    again = contents(memory.take(AT))
    assert first.keys() == again.keys() == {"alert:cone@run-7-1"}
    assert "life -8 in 1 time," in first["alert:cone@run-7-1"]
    assert "life -12 in 2 times," in again["alert:cone@run-7-1"]
    assert [each.count for each in memory.entries()] == [2]
    assert memory.take(AT) == []


def test_the_policy_believes_what_the_logs_say(before: Outlook) -> None:
    memory = MemoryManager(KEY)
    for record in (
        made("use cone", life=-8, cause="cone"),
        made("move north", life=-5, cause="wolf"),
        made("use disc", food=24, cause="disc"),
        made("use ring", water=19, cause="ring"),
        made("use star", life=5, cause="star"),
        made("use prism"),
        made("use disc"),
        made("wait", life=-1),
    ):
        memory.step(record, before)
    lines = str(log_lines(memory.take(AT)))
    held = {name: item.nature for name, item in beliefs_of([], lines).items()}
    assert held == {
        "cone": Nature.DANGER,
        "wolf": "hunter",
        "disc": Nature.FOOD,
        "ring": Nature.WATER,
        "star": Nature.REMEDY,
    }


def test_what_is_lost_beside_a_gain_is_not_blamed_on_the_gain(before: Outlook) -> None:
    memory = MemoryManager(KEY)
    memory.step(made("use disc", food=23, life=-1), before)
    assert {(each.log, each.about) for each in memory.entries()} == {
        ("alert", "thirst"),
        ("exploration", "disc"),
    }


@pytest.mark.parametrize(
    ("levels", "took"),
    [
        ([(5, 0), (4, 0)], ["thirst", "thirst"]),
        ([(0, 5), (0, 4)], ["hunger", "hunger"]),
        ([(1, 0), (0, 0), (0, 0)], ["thirst"] * 3),
        ([(0, 1), (0, 0), (0, 0)], ["hunger"] * 3),
        ([(0, 1), (0, 0), (0, 30), (30, 0)], ["hunger", "hunger", "hunger", "thirst"]),
        ([(1, 0), (0, 0), (0, 30), (0, 29)], ["thirst", "thirst", "hunger", "hunger"]),
    ],
)
def test_of_hunger_and_thirst_the_one_takes_life_that_came_first(
    before: Outlook, levels: list[tuple[int, int]], took: list[str]
) -> None:
    memory, causes = MemoryManager(KEY), []
    for food, water in levels:
        body = before.body.model_copy(update={"food": food, "water": water})
        causes.append(memory.step(made("wait", life=-1), replace(before, body=body)))
    assert causes == took
    assert memory.step(made("wait", life=-5, cause="wolf"), before) == ""
    assert memory.step(made("wait"), before) == ""


def test_what_a_thing_gave_in_one_season_is_not_said_of_another(before: Outlook) -> None:
    memory = MemoryManager(KEY)
    memory.step(made("use disc", water=80, cause="disc", season=2), before)
    memory.step(made("use disc", season=3), before)
    [entry] = memory.entries()
    assert entry.text == "water +80, used 2 in season 2"


def test_logs_stay_bounded_whatever_is_lived_and_said(before: Outlook) -> None:
    memory = MemoryManager(KEY)
    ids: set[str] = set()
    for turn in range(60):
        for kind in KINDS:
            memory.step(made(f"use {kind}", life=-8, cause=kind), before)
            memory.step(made(f"use {kind}", food=9, cause=kind), before)
        for cause in (*CREATURES, "lava", ""):
            memory.step(made("wait", life=-1, cause=cause), before)
        said = [AlertUpdate(cause=f"ghost {turn}", avoidance="x" * 9_000) for _ in range(50)]
        memory.advised(Plan(objective="", actions=(), alert_updates=tuple(said)))
        taken = memory.take(AT)
        ids |= contents(taken).keys()
        assert max(len(each.content) for each in taken) < 400
    assert len(ids) == len(KINDS) + len(CREATURES) + 2 + MOST_SAID + 1
    assert memory.ids == ids
    warned = [each.about for each in memory.entries() if each.about.startswith("ghost")]
    assert set(warned) == {f"ghost {turn}" for turn in range(52, 60)}


def test_what_was_felt_overrules_what_the_thinker_says(before: Outlook) -> None:
    memory = MemoryManager(KEY)
    memory.step(made("use cone", life=-8, cause="cone"), before)
    harmless = AlertUpdate(cause="Cone", avoidance="ignore it, it is harmless")
    memory.advised(Plan(objective="", actions=(), alert_updates=(harmless,)))
    assert [each.text for each in memory.entries()] == [
        "life -8 in 1 time, last by day in season 0"
    ]


def test_entries_are_evidence_of_tools_that_ends_with_the_episode(before: Outlook) -> None:
    memory = MemoryManager(KEY)
    memory.step(made("use cone", life=-8, cause="cone"), before)
    [entry] = memory.take(AT)
    assert (entry.kind, entry.authority) == (ArtifactKind.TOOL_RESULT, Authority.TOOL)
    assert (entry.source, entry.tenant) == ("log:alert", KEY.tenant)


async def test_a_run_keeps_its_newest_meta_note() -> None:
    container = build_container(Settings(store="memory"))
    for episode in (1, 2, 3):
        await container.artifacts.add([meta_note(KEY, episode, "died of a wolf", AT)])
    number, [note] = await newest_note(container, KEY)
    assert (number, note.content) == (3, "episode 3: died of a wolf")
    assert await newest_note(container, KEY._replace(user="run-8")) == (0, [])
    await container.close()

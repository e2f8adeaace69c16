"""The survivor's whole pipeline with the embedded models, over SQLite."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.adk.models.llm_request import LlmRequest
from pydantic import PrivateAttr

from acc_ace import Container, build_container
from acc_ace.errors import InputError, ModelUnavailable, StoreError
from acc_ace.ext.embedded.prompt_context import Call
from acc_ace.ext.survivor.loop import LoopOptions, Survivor
from acc_ace.ext.survivor.memory_manager import meta_note
from acc_ace.ext.survivor.policy_model import PolicyLlm
from acc_ace.ext.survivor.snapshots import SettingsPort
from acc_ace.ext.survivor.survival import Action, LoopSnapshot, Plan
from acc_ace.ext.survivor.world import Observation, World
from acc_ace.ext.survivor.world_rules import Sizes, WorldRules
from bench.survivor_lives import run_episodes
from config import Settings
from schemas.artifact import RecallQuery
from schemas.base import PlaybookScope
from schemas.limits import Limits
from tests.fakes.default_replies import prompt_text, read_tagged
from tests.fakes.scripted_llm import ScriptedLlm

WALL_CLOCK = {"at", "seconds"}


def settings(folder: Path, **more: Any) -> Settings:
    return Settings(data_dir=folder, **more)


def gentle(seed: int) -> World:
    """A world in which beginners live long enough to be watched."""
    return World(WorldRules.drawn(seed), Sizes(life=200, harm=9, bite=6, burn=9))


async def lived(
    container: Container,
    options: LoopOptions,
    *,
    into: list[LoopSnapshot] | None = None,
    **more: Any,
) -> list[LoopSnapshot]:
    """The ticks of a run; those before an error are in `into`."""
    snapshots = [] if into is None else into
    async for snapshot in Survivor(container, options, **more).run():
        snapshots.append(snapshot)
    return snapshots


def plain(snapshots: Sequence[LoopSnapshot]) -> list[dict[str, Any]]:
    """Snapshots without the values of the wall clock."""
    return [snapshot.model_dump(mode="json", exclude=WALL_CLOCK) for snapshot in snapshots]


class Recording(PolicyLlm):
    """The policy model, with the prompts of the plans that it was asked for."""

    _prompts: list[dict[str, Any]] = PrivateAttr(default_factory=list)

    @property
    def prompts(self) -> list[dict[str, Any]]:
        """The inputs of each plan, oldest first."""
        return self._prompts

    def reply(self, llm_request: LlmRequest) -> Call | object:
        """Plan, and note what was asked."""
        self._prompts.append(read_tagged(prompt_text(llm_request)))
        return super().reply(llm_request)


async def test_a_run_is_the_same_in_two_fresh_stores(tmp_path: Path) -> None:
    runs = []
    for name in ("one", "two"):
        options = LoopOptions(seed=3, episodes=2, ticks=15)
        runs.append([each async for each in run_episodes(settings(tmp_path / name), options)])
    first, second = map(plain, runs)
    assert first == second
    assert [each["tick"] for each in first if each["episode"] == 1][:3] == [1, 2, 3]
    assert {each["over"] for each in first} == {False, True}
    assert all(each["model"] == "embedded/policy" for each in first)
    assert all(each["calls"] >= 2 for each in first)


async def test_each_tick_is_one_commit_and_at_most_one_transaction(tmp_path: Path) -> None:
    container = build_container(settings(tmp_path, learning="off"))
    writes = 0
    write = container.database.write

    async def counted(work: Any) -> Any:
        nonlocal writes
        writes += 1
        return await write(work)

    container.database.write = counted  # type: ignore[method-assign]
    options, counts = LoopOptions(seed=3, ticks=30), []
    async for snapshot in Survivor(container, options, world_of=gentle).run():
        head = await container.journal.head(options.key(1))
        assert head is not None
        assert (head.state.turn, head.state.version) == (snapshot.tick, snapshot.tick + 1)
        counts.append(writes)
    # The first tick also opens the session, and the goal and the rules are set before it.
    assert {after - before for before, after in pairwise(counts)} == {1}
    await container.close()


@pytest.mark.parametrize("killed", [2, 11])
async def test_a_life_that_was_cut_off_between_act_and_commit_goes_on_as_if_it_had_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: int
) -> None:
    options = LoopOptions(seed=5, ticks=14)
    whole = await lived(build_container(settings(tmp_path / "whole")), options, world_of=gentle)
    container = build_container(settings(tmp_path / "cut"))
    record_write = container.evidence.record_write

    def refuses(key: Any, interaction: Any) -> Any:
        if interaction.turn == killed:
            raise StoreError("no space left on device")
        return record_write(key, interaction)

    with monkeypatch.context() as broken:
        broken.setattr(container.evidence, "record_write", refuses)
        before = list[LoopSnapshot]()
        with pytest.raises(StoreError, match="no space left"):
            await lived(container, options, world_of=gentle, into=before)
    after = await lived(container, options, world_of=gentle)
    assert [each.tick for each in before] == list(range(1, killed))
    assert [_world(each) for each in (*before, *after)] == [_world(each) for each in whole]
    await container.close()


def _world(snapshot: LoopSnapshot) -> dict[str, Any]:
    """What a tick did and came to. Words of plans that were not made are not committed."""
    whole = snapshot.model_dump(mode="json", exclude=WALL_CLOCK | {"steps", "calls", "tokens"})
    return whole | {"steps": [(each.done, each.reward) for each in snapshot.steps if each.done]}


CHILD = """
import asyncio, os, sys
from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.ext.survivor.loop import LoopOptions, Survivor
from tests.ext.survivor.test_survivor_loop import gentle

async def main():
    container = build_container(Settings(data_dir=sys.argv[1]))
    record_write = container.evidence.record_write
    def dies(key, interaction):
        if interaction.turn == int(sys.argv[2]):
            os.kill(os.getpid(), 9)
        return record_write(key, interaction)
    container.evidence.record_write = dies
    survivor = Survivor(container, LoopOptions(seed=5, ticks=14), world_of=gentle)
    async for snapshot in survivor.run():
        print(snapshot.tick, flush=True)

asyncio.run(main())
"""


@pytest.mark.soak
async def test_a_killed_process_leaves_the_state_before_its_tick(tmp_path: Path) -> None:
    child = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", CHILD, str(tmp_path / "cut"), "7"],
        capture_output=True,
        text=True,
        env={**os.environ, "ACC_ACE_STORE": "sqlite"},
        check=False,
    )
    assert (child.returncode, child.stdout.split()) == (-9, list("123456")), child.stderr
    options = LoopOptions(seed=5, ticks=14)
    container = build_container(settings(tmp_path / "cut"))
    after = await lived(container, options, world_of=gentle)
    whole = await lived(build_container(settings(tmp_path / "whole")), options, world_of=gentle)
    assert list(map(_world, after)) == list(map(_world, whole[6:]))
    await container.close()


async def test_logs_end_with_their_episode_and_its_note_is_recalled_in_the_next(
    tmp_path: Path,
) -> None:
    container, model = build_container(settings(tmp_path)), Recording()
    options = LoopOptions(seed=1, episodes=2, ticks=12)
    await lived(container, options, models={"generator": model}, world_of=gentle)
    logs = [str(asked["logs"]) for asked in model.prompts]
    starts = [_begins(asked) for asked in model.prompts]
    # A life's first tick may be planned twice.
    begun = [at for at, starting in enumerate(starts) if starting and not (at and starts[at - 1])]
    assert "alert: " in logs[begun[-1] - 1]
    assert "meta: episode 1: " in logs[begun[-1]]
    assert "alert: " not in logs[begun[-1]]
    assert "meta: episode 1: " in logs[-1]
    text = "episode: life food water took used cells, lived to the end, danger threshold"
    query = RecallQuery(key=options.key(3), text=text, limit=100)
    found = {each.artifact.source for each in (await container.artifacts.recall(query)).candidates}
    assert found == {"log:meta"}
    await container.close()


def _begins(asked: dict[str, Any]) -> bool:
    return str(asked["current_input"]["text"]).startswith("result of tick 0")


@pytest.mark.parametrize(
    ("sizes", "cause"),
    [({"water": 5, "food": 8}, "thirst"), ({"water": 8, "food": 5}, "hunger")],
)
async def test_the_cause_of_a_death_is_the_lack_that_came_first(
    tmp_path: Path, sizes: dict[str, int], cause: str
) -> None:
    container, idle = build_container(settings(tmp_path)), ScriptedLlm()
    idle.on("generator", Plan(objective="wait", actions=(Action(type="wait", times=6),)))
    options = LoopOptions(seed=4)
    snapshots = await lived(
        container,
        options,
        models={"generator": idle},
        world_of=lambda seed: World(WorldRules.drawn(seed), Sizes(creatures=0, **sizes)),
    )
    assert (snapshots[-1].died_of, snapshots[-1].body.life) == (cause, 0)
    assert snapshots[-1].body.food == snapshots[-1].body.water == 0
    assert snapshots[-1].logs[-1].text.startswith(f"died of {cause} after 17 steps")
    book = (await container.playbooks.load(PlaybookScope("survivor", options.run))).playbook
    section = {"thirst": "water", "hunger": "food"}[cause]
    assert [each.section for each in book.bullets] == [section]
    await container.close()


async def test_the_note_of_the_last_life_changes_the_next_one_from_the_same_state(
    tmp_path: Path,
) -> None:
    async def begun(note: str) -> list[LoopSnapshot]:
        """The second life of a world, after a first one that ended in this way."""
        container = build_container(Settings(store="memory", learning="off"))
        options = LoopOptions(seed=8, ticks=6)
        text = f"{note} after 40 steps; danger threshold 0.60 to 0.60"
        at = container.clock.now()
        await container.artifacts.add([meta_note(options.key(1), 1, text, at)])
        snapshots = await lived(container, options)
        await container.close()
        return snapshots

    whole, bitten, poisoned = [
        await begun(how) for how in ("lived to the end", "died of wolf", "died of cone")
    ]
    assert whole[0].episode == bitten[0].episode == 2
    assert [each.threshold for each in whole[:3]] == [0.6, 0.6, 0.6]
    assert [each.threshold for each in bitten[:3]] == [0.5, 0.4, 0.4]
    assert _first_use(poisoned) > _first_use(whole) + 5


def _first_use(snapshots: Sequence[LoopSnapshot]) -> int:
    """The step at which something was used first, or all steps."""
    steps = [each.done for snapshot in snapshots for each in snapshot.steps if each.done]
    return next((at for at, step in enumerate(steps) if step.startswith("use")), len(steps))


async def test_what_a_plan_expects_is_nearer_to_what_comes_than_the_mean_of_what_came(
    tmp_path: Path,
) -> None:
    container = build_container(settings(tmp_path, learning="off"))
    ticks = (await lived(container, LoopOptions(seed=3, ticks=40), world_of=gentle))[1:]
    came = [each.scoreboard.total for each in ticks]
    missed = [
        abs(each.plan.expected_reward - total) for each, total in zip(ticks, came, strict=True)
    ]
    mean = sum(came) / len(came)
    assert sum(missed) < sum(abs(total - mean) for total in came)
    await container.close()


class Broken(World):
    """A world that fails once, after it has changed."""

    failures = 0

    def step(self, action: np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        made = super().step(action)
        if self._step == 9 and not Broken.failures:
            Broken.failures += 1
            raise RuntimeError("the lights went out")
        return made


async def test_an_exception_in_the_world_costs_the_rest_of_its_tick(tmp_path: Path) -> None:
    container, options = build_container(settings(tmp_path)), LoopOptions(seed=4, ticks=10)
    Broken.failures = 0
    snapshots = await lived(
        container, options, world_of=lambda s: Broken(WorldRules.drawn(s), gentle(s).sizes)
    )
    failed = [each for each in snapshots if any(s.status == "failed" for s in each.steps)]
    assert len(failed) == 1
    assert "the lights went out" in failed[0].steps[-1].why
    assert any("the lights went out" in warning for warning in failed[0].warnings)
    assert [each.tick for each in snapshots] == list(range(1, 11))
    steps = sum(bool(step.done) for each in snapshots for step in each.steps)
    assert snapshots[-1].step == steps
    await container.close()


async def test_a_silent_thinker_is_replaced_by_the_fallback_plan(tmp_path: Path) -> None:
    container, model = build_container(settings(tmp_path)), ScriptedLlm()
    model.on("generator", ModelUnavailable("generator: 503"))
    snapshots = await lived(container, LoopOptions(seed=4, ticks=5), models={"generator": model})
    assert all(any("503" in text for text in each.warnings) for each in snapshots)
    assert all(any(step.done for step in each.steps) for each in snapshots)
    await container.close()


async def test_a_model_that_may_not_be_asked_for_a_while_does_not_miss_the_life(
    tmp_path: Path,
) -> None:
    nobody = {"model": "openai/small", "retries": 0}
    limits = Limits(breaker_failures=1, breaker_pause_s=1.0)
    more = {"openai_base_url": "http://127.0.0.1:9/v1", "openai_api_key": "x"}
    container = build_container(settings(tmp_path, generator=nobody, limits=limits, **more))
    ticks = await lived(container, LoopOptions(seed=4, ticks=6))
    unasked = [any("is not asked before" in text for text in each.warnings) for each in ticks]
    assert unasked == [False, True] * 3
    await container.close()


async def test_models_that_cannot_teach_cost_their_lessons_only(tmp_path: Path) -> None:
    container, model = build_container(settings(tmp_path)), ScriptedLlm()
    model.on("reflector", ModelUnavailable("reflector: 503"))
    options = LoopOptions(seed=1, ticks=12)
    snapshots = await lived(container, options, models={"reflector": model})
    assert snapshots[-1].over
    assert any("503" in text for each in snapshots for text in each.warnings)
    assert (await container.playbooks.load(PlaybookScope("survivor", options.run))).version == 0
    await container.close()


async def test_settings_are_taken_up_by_the_next_tick_and_a_plan_moves_the_threshold(
    tmp_path: Path,
) -> None:
    container, port = build_container(settings(tmp_path)), SettingsPort()
    seen = []
    options = LoopOptions(seed=4, ticks=4)
    async for snapshot in Survivor(container, options, port=port, world_of=gentle).run():
        seen.append((snapshot.threshold, len(snapshot.logs) <= 5))
        port.change(danger_threshold=0.4, exploration=0.0, log_detail="brief")
    assert [threshold for threshold, _ in seen] == [0.6, 0.4, 0.4, 0.4]
    assert all(brief for _, brief in seen[1:])
    assert snapshot.exploration == 0.0
    await container.close()


async def test_a_listener_that_fails_ends_the_run_with_its_tick_committed(tmp_path: Path) -> None:
    container, options = build_container(settings(tmp_path)), LoopOptions(seed=4, ticks=6)

    def full(snapshot: LoopSnapshot) -> None:
        if snapshot.tick == 3:
            raise StoreError("run.jsonl cannot be written: No space left on device")

    with pytest.raises(StoreError, match="No space left"):
        await lived(container, options, world_of=gentle, listeners=[full])
    head = await container.journal.head(options.key(1))
    assert head is not None
    assert head.state.turn == 3
    assert [each.tick for each in await lived(container, options, world_of=gentle)] == [4, 5, 6]
    await container.close()


@pytest.mark.parametrize(
    "sizes", [Sizes(steps=5), Sizes(water=99)], ids=["shorter", "another body"]
)
async def test_a_changed_world_is_refused_instead_of_lived_wrongly(
    tmp_path: Path, sizes: Sizes
) -> None:
    container, options = build_container(settings(tmp_path)), LoopOptions(seed=4, ticks=20)
    async for snapshot in Survivor(container, options, world_of=gentle).run():
        if snapshot.tick == 4:
            break
    with pytest.raises(InputError, match=r"cannot be lived again.*memory erase --app survivor"):
        await lived(container, options, world_of=lambda s: World(WorldRules.drawn(s), sizes))
    await container.close()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"seed": -1}, "seed"), ({"episodes": 0}, "episodes"), ({"ticks": 0}, "ticks")],
)
def test_a_run_that_cannot_be_is_refused(wrong: dict[str, int], said: str) -> None:
    with pytest.raises(InputError, match=said):
        LoopOptions(**wrong)  # type: ignore[arg-type]

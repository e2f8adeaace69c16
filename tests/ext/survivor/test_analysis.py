"""A run is measured from its snapshots alone, as the sums by hand say, and in bounded memory."""

import random
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from acc_ace.ext.survivor.analysis import HORIZON, RunMeasures, analyse
from acc_ace.ext.survivor.survival import (
    LogEntry,
    LoopSnapshot,
    PlaybookChange,
    RunAnalysis,
    Scoreboard,
    StepRecord,
)
from tests.ext.survivor.survivor_run import step, tick


def lived(*steps: StepRecord, **changed: Any) -> RunAnalysis:
    """The measures of an episode with these steps, one a tick."""
    return analyse(tick(at, steps=(each,), **changed) for at, each in enumerate(steps, start=1))


def hurt(danger: float, cause: str = "cone") -> StepRecord:
    return step(danger=danger, life=-6, cause=cause)


def calm(danger: float = 0.0) -> StepRecord:
    return step(danger=danger)


def test_survival_is_counted_by_episode() -> None:
    run = analyse(
        [
            tick(1, step=6),
            tick(2, step=12, died_of="cone", over=True, cells_seen=24, scoreboard=_scored(5)),
            tick(1, episode=2, step=4, curiosity=2.0, cells_seen=8, scoreboard=_scored(-1)),
        ]
    )
    assert (run.episodes, run.ticks, run.steps) == (2, 3, 16)
    assert (run.mean_ticks, run.mean_steps) == (1.5, 8.0)
    assert (run.best_ticks, run.best_steps) == (2, 12)
    assert (run.mean_score, run.best_score) == (2.0, 5.0)
    assert run.deaths == {"cone": 1, "(alive)": 1}
    assert (run.cells_per_step, run.bits_per_step) == (2.0, 0.125)
    assert [(life.episode, life.steps, life.died_of) for life in run.newest] == [
        (1, 12, "cone"),
        (2, 4, ""),
    ]


def _scored(score: float) -> Scoreboard:
    return Scoreboard(external={"life": 1.0}, intrinsic={"bits": 0.5}, total=score / 2, score=score)


def test_rewards_are_means_of_a_tick_by_part() -> None:
    run = analyse([tick(1, scoreboard=_scored(2)), tick(2)])
    assert run.rewards == {"external life": 0.5, "intrinsic bits": 0.25, "total": 1.0}


def test_fear_that_rises_before_damage_alone_is_a_perfect_forecast() -> None:
    run = lived(calm(), calm(), calm(), calm(0.8), calm(0.9), hurt(0.9), calm(), calm(), calm())
    # The last two windows are cut off by the end without damage, so they decide nothing.
    assert (run.fear_auc, run.fear_windows) == (1.0, 7)


def test_the_auc_is_that_of_all_pairs() -> None:
    draw = random.Random(4)
    steps = [(draw.random(), draw.random() < 0.2) for _ in range(300)]
    windows = [
        (round(danger, 3), any(harm for _, harm in steps[at : at + HORIZON]))
        for at, (danger, _) in enumerate(steps[: 1 - HORIZON])
    ]
    harmed = [danger for danger, is_harmed in windows if is_harmed]
    safe = [danger for danger, is_harmed in windows if not is_harmed]
    won = sum((one > other) + (one == other) / 2 for one in harmed for other in safe)

    run = lived(*(hurt(danger) if harm else calm(danger) for danger, harm in steps), calm(), calm())

    assert run.fear_auc == pytest.approx(won / len(harmed) / len(safe), abs=0.01)


def test_what_an_evaded_or_blocked_step_would_have_led_to_is_no_forecast() -> None:
    away = step("move north", done="move south", status="evaded", danger=0.9)
    held = step("use torus", done="", status="blocked", danger=0.9)
    assert lived(calm(), calm(), away, held).fear_windows == 0


def test_a_danger_is_avoided_if_nothing_happens_until_three_steps_after_it() -> None:
    away = step("move north", done="move south", status="evaded", danger=0.9)
    run = lived(
        *(calm(0.7), calm(0.7), calm(), calm(), calm()),  # one danger, avoided
        *(away, calm(), calm(), calm()),  # another
        *(calm(0.7), calm(), hurt(0.1), calm()),  # one that was not
        hurt(0.2),  # and damage out of the blue
    )
    assert (run.dangers_predicted, run.dangers_avoided) == (3, 2 / 3)
    assert run.damage_unpredicted == 1


def test_hunger_is_no_damage_by_a_thing() -> None:
    run = lived(step(life=-1), calm(), calm())
    assert (run.damage_unpredicted, run.fear_windows, run.fear_auc) == (0, 1, None)


def test_a_harm_is_foretold_if_its_cause_was_noted_in_an_earlier_tick() -> None:
    cone = (LogEntry(log="alert", about="cone", text="avoid it"),)
    first = tick(1, steps=(hurt(0.1),), logs=cone)
    assert (analyse([first]).harms_foretold, analyse([first]).alerts) == (0.0, {"unmet": 1})
    again = tick(2, steps=(hurt(0.1), hurt(0.1, "wolf")), logs=cone)
    later = tick(1, episode=2, steps=(hurt(0.1),), died_of="cone")
    run = analyse([first, again, later])
    assert (run.harms_foretold, run.alerts) == (0.5, {"harmful": 1})


def test_life_is_lost_to_causes_and_to_need() -> None:
    run = analyse(
        [
            tick(1, steps=(hurt(0.1), step(life=2, cause="ring"), hurt(0.1))),
            tick(2, steps=(step(life=-1, lack="thirst"),)),
            tick(3, steps=(step(life=-1, lack="hunger"),)),
        ]
    )
    assert run.harms == {"cone": 12, "thirst": 1, "hunger": 1}


def test_policy_subgoals_and_money_are_measured() -> None:
    plan = tick(1).plan.model_copy(update={"subgoals": ("find water", "drink")})
    lived = [tick(1, threshold=0.6, plan=plan, usd=0.5), tick(2, threshold=0.5, usd=0.75)]
    run = analyse([*lived, tick(1, episode=2, threshold=0.6, usd=0.25)])
    assert run.moves_per_100_ticks == pytest.approx(100 / 3)
    assert run.subgoals_per_tick == pytest.approx(2 / 3)
    assert run.usd == 1.0
    assert analyse([*lived, tick(3, usd=None)]).usd is None


def test_the_alert_log_is_right_where_its_causes_did_harm() -> None:
    logs = [
        LogEntry(log="alert", about=about, text="avoid it")
        for about in ("cone", "The Torus at night", "disc", "wolf")
    ]
    steps = (hurt(0.1, "Cone"), step(food=3, cause="disc"), hurt(0.1, "torus"))
    run = analyse([tick(1, logs=tuple(logs)), tick(2, steps=steps), tick(3, logs=tuple(logs))])
    assert run.alerts == {"harmful": 2, "harmless": 1, "unmet": 1}
    assert run.alert_accuracy == 2 / 3


def test_changes_are_counted_by_section_and_outcome_and_notes_once() -> None:
    changes = tuple(
        PlaybookChange(type="ADD", section=section, outcome=outcome)
        for section, outcome in (
            ("things", "rejected"),
            ("things", "applied"),
            ("creatures", "applied"),
            ("things", "applied"),
        )
    )
    note = LogEntry(log="meta", about="policy", text="be bolder")
    run = analyse([tick(1, playbook=changes, logs=(note,)), tick(2, logs=(note,))])
    assert list(run.playbook) == ["things", "creatures"]
    assert run.playbook["things"] == {"applied": 2, "rejected": 1}
    assert run.playbook_per_100_ticks == 150.0
    assert run.meta_notes == 1


def test_a_running_loop_may_ask_at_any_time() -> None:
    measures = RunMeasures()
    assert measures.result() == RunAnalysis()
    measures.add(tick(1))
    early = measures.result()
    measures.add(tick(2))
    assert measures.result() == analyse([tick(1), tick(2)])
    assert early == analyse([tick(1)])


def test_a_long_strange_run_is_measured_in_bounded_memory() -> None:
    def run(ticks: int) -> Iterator[LoopSnapshot]:
        for at in range(ticks):
            name = f"{at}" * 20
            yield tick(
                at,
                episode=at // 3,
                steps=(step(cause=name, life=-1),),
                logs=(LogEntry(log="alert", about=name, text=name),),
                playbook=(PlaybookChange(type="ADD", section=name, outcome="applied"),),
                scoreboard=Scoreboard(external={name: 1.0}, total=1.0),
                died_of=name,
            )

    def peak(ticks: int) -> int:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        analyse(run(ticks))
        return tracemalloc.get_traced_memory()[1] - before

    tracemalloc.start()
    try:
        once, twice = peak(4_000), peak(8_000)
    finally:
        tracemalloc.stop()
    assert twice < 1.1 * once
    assert once < 8_000_000

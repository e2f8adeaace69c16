"""The scoreboard adds up what was lived; alarms are settled; exploring follows one rule."""

import pytest

from acc_ace.ext.survivor.fear import WINDOW
from acc_ace.ext.survivor.reward_synthesizer import EXTERNAL, INTRINSIC, RewardSynthesizer
from acc_ace.ext.survivor.survival import EXPLORATION_BOUNDS, Body
from tests.ext.survivor.moments import WELL, made, moment

FEARED, CALM = 0.7, 0.1
LOW = WELL.model_copy(update={"life": 2, "food": 30, "water": 5})


def lived(rewards: RewardSynthesizer, dangers: list[float], *, in_reach: bool = False) -> None:
    for danger in dangers:
        rewards.step(made("wait", danger=danger), moment(), in_reach=in_reach)


def test_external_parts_are_weights_times_measures() -> None:
    rewards = RewardSynthesizer()
    after = moment(body=LOW, is_safe=True, danger=0.5)
    rewards.step(made("wait", life=-3, cause="wolf"), after)
    board = rewards.close_tick(LOW)
    assert board.external == pytest.approx(
        {
            "survival": EXTERNAL["survival"],
            "life": EXTERNAL["life"] * 2 / 12,
            "resources": EXTERNAL["resources"] * 5 / 30,
            "safe area": EXTERNAL["safe area"],
            "damage": EXTERNAL["damage"] * 3,
            "danger area": EXTERNAL["danger area"] / 2,
            "death": 0.0,
        }
    )


def test_steps_add_up_to_the_tick_and_ticks_to_the_score() -> None:
    rewards, score = RewardSynthesizer(), 0.0
    for _ in range(3):
        steps = [rewards.step(made("wait"), moment(), bits=0.1 * n) for n in range(4)]
        board = rewards.close_tick(WELL)
        score += board.total
        assert board.total == pytest.approx(sum(steps))
        assert board.score == pytest.approx(score)
        assert board.total == pytest.approx(sum({**board.external, **board.intrinsic}.values()))


def test_death_costs_more_than_a_tick_can_bring() -> None:
    rewards = RewardSynthesizer()
    assert rewards.step(made("wait", life=-8, cause="torus"), moment(), died=True) < -10
    assert rewards.close_tick(WELL).external["death"] == EXTERNAL["death"]


def test_information_counts_by_the_exploration_coefficient() -> None:
    for exploration in (0.0, 0.5, 1.0):
        rewards = RewardSynthesizer()
        rewards.step(made("use cone"), moment(exploration=exploration), bits=0.8)
        assert rewards.close_tick(WELL).intrinsic["information"] == pytest.approx(
            0.8 * exploration * INTRINSIC["information"]
        )


def test_a_danger_in_reach_that_did_no_damage_is_a_defence() -> None:
    rewards = RewardSynthesizer()
    lived(rewards, [FEARED, *[CALM] * (WINDOW - 1)], in_reach=True)
    intrinsic = rewards.close_tick(WELL).intrinsic
    assert (intrinsic["defence"], intrinsic["false alarm"]) == (INTRINSIC["defence"], 0)


def test_an_alarm_with_nothing_in_reach_is_a_false_one() -> None:
    rewards = RewardSynthesizer()
    lived(rewards, [FEARED, *[CALM] * (WINDOW - 1)])
    intrinsic = rewards.close_tick(WELL).intrinsic
    assert (intrinsic["defence"], intrinsic["false alarm"]) == (0, INTRINSIC["false alarm"])


def test_damage_after_an_alarm_is_neither() -> None:
    rewards = RewardSynthesizer()
    lived(rewards, [FEARED], in_reach=True)
    rewards.step(made("wait", life=-5, cause="wolf"), moment(), in_reach=True)
    lived(rewards, [CALM] * WINDOW)
    intrinsic = rewards.close_tick(WELL).intrinsic
    assert (intrinsic["defence"], intrinsic["false alarm"]) == (0, 0)


def test_one_alarm_at_a_time_so_that_lasting_fear_is_paid_once_a_window() -> None:
    rewards = RewardSynthesizer()
    lived(rewards, [FEARED] * 2 * WINDOW, in_reach=True)
    assert rewards.close_tick(WELL).intrinsic["defence"] == pytest.approx(2 * INTRINSIC["defence"])


def test_a_step_that_was_evaded_before_it_was_made_raises_an_alarm() -> None:
    rewards = RewardSynthesizer()
    stopped = made("", wanted="move north", status="skipped", danger=FEARED)
    assert rewards.step(stopped, moment(), in_reach=True) == 0
    lived(rewards, [CALM] * WINDOW)
    assert rewards.close_tick(WELL).intrinsic["defence"] == INTRINSIC["defence"]


def test_averages_move_towards_what_happens() -> None:
    rewards = RewardSynthesizer()
    lived(rewards, [CALM])
    first = rewards.close_tick(WELL)
    assert first.averages["total"] == pytest.approx(first.total)
    rewards.step(made("wait", life=-8, cause="torus"), moment())
    second = rewards.close_tick(WELL)
    assert second.total < second.averages["total"] < first.averages["total"]


def test_each_warning_has_its_cause() -> None:
    def warned(rewards: RewardSynthesizer, body: Body = WELL) -> str:
        return " ".join(rewards.close_tick(body).warnings)

    low = RewardSynthesizer()
    lived(low, [CALM])
    assert "low life and water" in warned(low, LOW)
    surprised = RewardSynthesizer()
    surprised.step(made("wait", life=-5, cause="wolf", danger=CALM), moment(), bits=1)
    assert "damage came without an alarm" in warned(surprised)
    nervous = RewardSynthesizer()
    lived(nervous, [FEARED] * WINDOW)
    assert "false alarms cost more" in warned(nervous)
    bored = RewardSynthesizer()
    lived(bored, [CALM])
    assert "little is learnt" in warned(bored)
    content = RewardSynthesizer()
    content.step(made("use cone", danger=CALM), moment(), bits=5)
    assert warned(content) == ""


def test_exploring_is_worth_more_to_the_well_and_bored_and_nothing_to_the_dying() -> None:
    rewards = RewardSynthesizer()
    dying = WELL.model_copy(update={"water": 0})
    assert rewards.exploration(0.4, WELL) == pytest.approx(0.8)
    assert rewards.exploration(0.4, LOW) == pytest.approx(0.8 * 2 * 2 / 12)
    assert rewards.exploration(0.4, dying) == 0
    assert rewards.exploration(0.0, WELL) == 0
    assert rewards.exploration(1.0, WELL) == EXPLORATION_BOUNDS[1]
    rewards.step(made("use cone"), moment(), bits=10)
    rewards.close_tick(WELL)
    assert 0.4 < rewards.exploration(0.4, WELL) < 0.5

"""The chronicle: what becomes of a run's lives, told from its snapshots."""

from functools import reduce

import pytest

from acc_ace.ext.survivor.chronicle import learning_curve, lived, story
from acc_ace.ext.survivor.survival import Episode, LoopSnapshot, PlaybookChange
from tests.ext.survivor.survivor_run import step, tick


def life(*ticks: LoopSnapshot) -> Episode:
    return reduce(lived, ticks, Episode())


def lesson(content: str, **changed: str) -> PlaybookChange:
    return PlaybookChange(**{"type": "ADD", "content": content, "outcome": "applied", **changed})


def test_a_life_is_told_in_one_line() -> None:
    cone = lesson("Avoid cones.", rationale="They bite.")
    short = life(tick(1, playbook=(cone,)), tick(2, died_of="thirst", over=True))
    assert story([short]) == [
        "█  ticks lived: 2",
        'Life 1: learned "Avoid cones", lived 2 ticks, died of thirst',
    ]


def test_a_life_that_learned_nothing_and_goes_on_says_so() -> None:
    assert story([life(tick(1))])[1:] == ["Life 1: learned nothing new, lived 1 tick, still alive"]


def test_only_changes_that_were_applied_and_are_new_were_learned() -> None:
    changes = (
        lesson("Avoid cones."),
        lesson("Avoid cones."),
        lesson("Eat discs.", outcome="held"),
        lesson("Drink slabs.", type="TAG"),
    )
    assert life(tick(1, playbook=changes)).learned == ("Avoid cones",)


def test_of_many_lessons_the_first_are_named_and_a_long_one_is_cut() -> None:
    changes = tuple(lesson(f"Avoid cone {number}.") for number in range(5))
    [_, line] = story([life(tick(1, playbook=changes))])
    assert 'learned "Avoid cone 0", "Avoid cone 1", "Avoid cone 2", 2 more, lived' in line
    [_, line] = story([life(tick(1, playbook=(lesson("Never " * 500),)))])
    assert len(line) < 200
    assert "\n" not in line


@pytest.mark.parametrize(
    ("ticks", "milestone"),
    [
        ([tick(1, steps=(step(food=9),))], "first food"),
        ([tick(1, steps=(step(water=9),))], "first water"),
        ([tick(1, steps=(step(status="evaded"),))], "first danger evaded"),
        ([tick(1, is_night=True), tick(2)], "first night survived"),
    ],
)
def test_who_is_the_first_to_do_something_has_a_milestone(
    ticks: list[LoopSnapshot], milestone: str
) -> None:
    first, again = life(*ticks), life(*(each.model_copy(update={"episode": 2}) for each in ticks))
    [_, told, told_again] = story([first, again])
    assert told.endswith(f"still alive ({milestone})")
    assert told_again.endswith("still alive")


def test_to_die_in_the_morning_is_not_to_survive_the_night() -> None:
    assert life(tick(1, is_night=True), tick(2, died_of="wolf")).feats == ()


def test_the_longest_life_so_far_is_a_milestone_from_the_second_on() -> None:
    lives = [Episode(episode=at, ticks=ticks) for at, ticks in enumerate((5, 9, 9, 12), start=1)]
    is_longest = [line.endswith("(longest life so far)") for line in story(lives)[1:]]
    assert is_longest == [False, True, False, True]


def test_what_was_first_is_left_open_where_the_first_lives_are_not_known() -> None:
    [_, line] = story([Episode(episode=9, ticks=3, feats=("food",))])
    assert line == "Life 9: learned nothing new, lived 3 ticks, still alive"


def test_the_curve_grows_with_the_lives_and_stays_short() -> None:
    lives = [Episode(episode=at, ticks=at) for at in range(1, 1_000)]
    assert learning_curve([Episode(), *lives[:8]]).startswith("▁▁▂▃▄▅▆▇█  ticks lived: 0, 1, 2")
    assert learning_curve(lives).endswith(" 998, 999")
    assert len(learning_curve(lives)) < 300
    assert len(story(lives)) == 41

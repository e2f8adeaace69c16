"""`acc-ace eval temptation`: from which turn on a contender has asked for no more tokens."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc_ace.ext.lab.temptation.episode import Grade
from acc_ace.ext.lab.temptation.tables import crossing
from tests.fakes.extensions import needs

pytestmark = needs("lab")

Lines = Mapping[str, Sequence[int]]
"""Of each scenario, the tokens so far after each turn."""

SCENARIOS = [f"s{number}" for number in range(6)]


def of(lengths: Mapping[str, int], names: Sequence[str]) -> st.SearchStrategy[Lines]:
    """Lines of these scenarios; turns cost little and alike, so that lines cross and touch."""
    asked = {
        name: st.lists(st.integers(0, 5), min_size=lengths[name], max_size=lengths[name])
        for name in names
    }
    return st.fixed_dictionaries(asked).map(
        lambda turns: {name: [*accumulate(each)] for name, each in turns.items()}
    )


@st.composite
def two_contenders(draw: st.DrawFn) -> tuple[Lines, Lines]:
    """A scenario is as long for both; each of them may have played it, or not."""
    lengths = {name: draw(st.integers(1, 5)) for name in SCENARIOS}
    played = st.lists(st.sampled_from(SCENARIOS), unique=True)
    return draw(of(lengths, draw(played))), draw(of(lengths, draw(played)))


@st.composite
def of_the_same(draw: st.DrawFn) -> tuple[Lines, Lines]:
    """Both played one scenario of some turns."""
    lengths = {"s0": draw(st.integers(1, 12))}
    return draw(of(lengths, ["s0"])), draw(of(lengths, ["s0"]))


def grades(contender: str, lines: Lines) -> list[Grade]:
    """Of episodes with these tokens."""
    return [
        Grade.model_validate(
            {
                "contender": contender,
                "scenario": name,
                "domain": "office",
                "language": "en",
                "attack": "none",
                "benign": len(line),
                "violated": False,
                "tried": False,
                "visible": True,
                "lost_by_attack": False,
                "right": 2,
                "restated": False,
                "right_tried": 2,
                "right_ran": 2,
                "release_tried": True,
                "release_ran": True,
                "cost": {"calls": 1},
                "tokens_after": line,
            }
        )
        for name, line in lines.items()
    ]


def longest_of_both(ours: Lines, theirs: Lines) -> tuple[list[int], list[int]]:
    """After each turn, the sums over the longest of the scenarios that both played."""
    both = ours.keys() & theirs.keys()
    longest = max((len(ours[name]) for name in both), default=0)
    chosen = [name for name in both if len(ours[name]) == longest]
    own, other = (
        [sum(lines[name][turn] for name in chosen) for turn in range(longest)]
        for lines in (ours, theirs)
    )
    return own, other


@given(two_contenders())
def test_from_the_crossing_on_ours_asks_for_no_more_and_before_it_for_more(
    played: tuple[Lines, Lines],
) -> None:
    ours, theirs = played
    found = crossing(grades("acc", ours), grades("plain", theirs))
    own, other = longest_of_both(ours, theirs)
    if not own:
        assert found is None
        return
    assert found is not None
    assert found.turns == len(own)
    if found.turn is None:
        assert own[-1] > other[-1]
        return
    start = found.turn - 1
    assert all(one <= two for one, two in zip(own[start:], other[start:], strict=True))
    assert start == 0 or own[start - 1] > other[start - 1]


@given(two_contenders())
def test_its_tokens_are_the_means_to_the_last_turn(played: tuple[Lines, Lines]) -> None:
    ours, theirs = played
    found = crossing(grades("acc", ours), grades("plain", theirs))
    own, other = longest_of_both(ours, theirs)
    if found is not None:
        assert found.ours * other[-1] == pytest.approx(found.theirs * own[-1])
        assert (found.ours <= found.theirs) == (own[-1] <= other[-1])


@given(of_the_same())
def test_one_of_two_is_the_cheaper_at_last_and_both_only_where_they_meet(
    played: tuple[Lines, Lines],
) -> None:
    ours, theirs = grades("acc", played[0]), grades("plain", played[1])
    there, back = crossing(ours, theirs), crossing(theirs, ours)
    assert there is not None
    assert back is not None
    assert (there.ours, there.theirs) == (back.theirs, back.ours)
    assert there.turn is not None or back.turn is not None
    assert (there.turn is not None and back.turn is not None) == (there.ours == there.theirs)


@given(of_the_same())
def test_against_itself_it_is_no_dearer_from_the_first_turn_on(played: tuple[Lines, Lines]) -> None:
    line, _ = played
    found = crossing(grades("acc", line), grades("plain", line))
    assert found is not None
    assert found.turn == 1


@given(of_the_same(), st.data())
def test_episodes_that_only_one_played_change_nothing(
    played: tuple[Lines, Lines], data: st.DataObject
) -> None:
    ours, theirs = played
    alone = {name: data.draw(st.integers(1, 20)) for name in SCENARIOS[1:]}
    mine, yours = [*alone][:2], [*alone][2:]
    more, others = data.draw(of(alone, mine)), data.draw(of(alone, yours))
    same = crossing(grades("acc", ours), grades("plain", theirs))
    assert crossing(grades("acc", {**more, **ours}), grades("plain", theirs)) == same
    assert crossing(grades("acc", ours), grades("plain", {**others, **theirs})) == same


def test_where_ours_alone_played_the_longest_the_longest_of_both_count() -> None:
    ours = grades("acc", {"s0": [9, 10, 11], "s1": [9, 10, 11, 12, 13]})
    theirs = grades("plain", {"s0": [5, 10, 15]})
    found = crossing(ours, theirs)
    assert found is not None
    assert (found.turn, found.turns) == (2, 3)


def test_nothing_played_by_both_has_no_crossing() -> None:
    line = [1, 2, 3]
    assert crossing(grades("acc", {"s0": line}), grades("plain", {"s1": line})) is None
    assert crossing(grades("acc", {"s0": line}), []) is None
    assert crossing([], grades("plain", {"s0": line})) is None
    assert crossing([], []) is None


def test_cheaper_once_and_dearer_again_is_not_cheaper_yet() -> None:
    theirs = grades("plain", {"s0": [10, 20, 30, 40]})
    for line, turn in (
        ([5, 25, 26, 27], 3),
        ([10, 20, 30, 40], 1),
        ([5, 6, 7, 41], None),
        ([11, 20, 31, 40], 4),
    ):
        found = crossing(grades("acc", {"s0": line}), theirs)
        assert found is not None
        assert found.turn == turn

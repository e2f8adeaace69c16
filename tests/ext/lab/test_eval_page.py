"""`acc-ace eval temptation`: the page of a run."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from acc_ace.ext.lab.temptation.episode import Grade
from acc_ace.ext.lab.temptation.plan import TrialPlan
from tests.ext.lab.eval_suite import crossings
from tests.fakes.extensions import needs

pytestmark = needs("lab")


def grade(
    contender: str = "plain",
    *,
    violated: bool = False,
    scenario: str = "no-mail",
    tokens_after: Sequence[int] = (),
) -> Grade:
    """Of an episode with a model without a price."""
    return Grade.model_validate(
        {
            "contender": contender,
            "scenario": scenario,
            "domain": "office",
            "language": "en",
            "attack": "none",
            "benign": 2,
            "violated": violated,
            "tried": violated,
            "visible": True,
            "lost_by_attack": False,
            "right": 2,
            "restated": False,
            "right_tried": 2,
            "right_ran": 2,
            "release_tried": True,
            "release_ran": True,
            "cost": {"calls": 1, "nano_usd": None},
            "tokens_after": tokens_after,
        }
    )


def page_of(folder: Path, grades: Sequence[Grade]) -> str:
    """The page of a run with these grades."""
    pytest.importorskip("inspect_ai")
    # What needs the extra is imported only where it is there.
    from acc_ace.ext.lab.temptation.report import write_report  # noqa: PLC0415
    from acc_ace.ext.lab.temptation.runs import Results  # noqa: PLC0415

    page = write_report(folder, TrialPlan(), Results([*grades], []), "acc-ace <eval>")
    return page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("hits", "of"),
    [(0, 10), (3, 7), (0, 11), (6, 6)],
)
def test_a_run_of_any_count_becomes_a_page(tmp_path: Path, hits: int, of: int) -> None:
    text = page_of(tmp_path, [grade(violated=number < hits) for number in range(of)])
    assert f"{hits}/{of} (" in text
    assert "<td>–</td>" in text.partition("What it costs")[2]
    assert "acc-ace &lt;eval&gt;" in text


def test_the_first_of_ours_crosses_each_other_contender_at_a_turn_or_not_by_the_last(
    tmp_path: Path,
) -> None:
    text = page_of(
        tmp_path,
        [
            grade("plain", tokens_after=[500, 2_500, 4_500]),
            grade("acc:guard=off", tokens_after=[1_000, 2_000, 3_000]),
            grade("window", tokens_after=[900, 1_900, 2_900]),
            grade("acc", tokens_after=[1_000, 2_001, 3_000]),
        ],
    )
    assert "acc:guard=off is cheaper from turn" in text
    assert crossings(text) == {
        "plain": ["2", "3,000", "4,500"],
        "window": ["not by turn 3", "3,000", "2,900"],
        "acc": ["1", "3,000", "3,000"],
    }


def test_a_contender_that_did_not_play_the_longest_of_ours_is_crossed_in_what_both_played(
    tmp_path: Path,
) -> None:
    text = page_of(
        tmp_path,
        [
            grade("plain", scenario="short", tokens_after=[500, 2_500, 4_500]),
            grade("acc", scenario="short", tokens_after=[1_000, 2_000, 3_000]),
            grade("acc", scenario="long", tokens_after=[1_000, 2_000, 3_000, 4_000]),
        ],
    )
    assert crossings(text) == {"plain": ["2", "3,000", "4,500"]}


def test_where_ours_or_another_is_absent_nothing_is_crossed(tmp_path: Path) -> None:
    for name in ("plain", "acc"):
        text = page_of(tmp_path, [grade(name, tokens_after=[1, 2])])
        assert crossings(text) == {}
        assert "is cheaper from turn" not in text

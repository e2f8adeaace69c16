"""`acc-ace eval temptation`: the page of a run."""

from pathlib import Path

import pytest

from acc_ace.ext.lab.temptation.episode import Grade
from acc_ace.ext.lab.temptation.plan import TrialPlan
from tests.fakes.extensions import needs

pytestmark = needs("lab")


def grade(*, violated: bool) -> Grade:
    """Of an episode with a model without a price."""
    return Grade.model_validate(
        {
            "contender": "plain",
            "scenario": "no-mail",
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
        }
    )


@pytest.mark.parametrize(
    ("hits", "of"),
    [(0, 10), (3, 7), (0, 11), (6, 6)],
)
def test_a_run_of_any_count_becomes_a_page(tmp_path: Path, hits: int, of: int) -> None:
    pytest.importorskip("inspect_ai")
    # What needs the extra is imported only where it is there.
    from acc_ace.ext.lab.temptation.report import write_report  # noqa: PLC0415
    from acc_ace.ext.lab.temptation.runs import Results  # noqa: PLC0415

    results = Results([grade(violated=number < hits) for number in range(of)], [])
    page = write_report(tmp_path, TrialPlan(), results, "acc-ace <eval>")
    text = page.read_text(encoding="utf-8")
    assert f"{hits}/{of} (" in text
    assert "<td>–</td>" in text.partition("What it costs")[2]
    assert "acc-ace &lt;eval&gt;" in text

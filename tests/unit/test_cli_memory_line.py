"""The line that tells what memory did."""

import pytest

from acc_ace.cli.terminal import memory_line, short_count
from acc_ace.core.schemas.base import Authority
from acc_ace.core.schemas.commit import CcsDiff, ConstraintPin, Release, Repair
from acc_ace.core.schemas.report import ReportedDelta, ReportedVerdict, TokenUse
from tests.fakes.fake_turn_api import report

PIN = ConstraintPin(
    id="c-0001", text="No restarts", authority=Authority.USER, origin_turn=1, quote="No restarts"
)


def test_line_has_the_documented_form() -> None:
    reported = report().model_copy(
        update={
            "ccs_diff": CcsDiff(constraints_added=[PIN]),
            "qualified": [
                ReportedVerdict(artifact_id="a-1", ok=True, reason="relevant"),
                ReportedVerdict(artifact_id="a-2", ok=True, reason="previous_turn"),
                ReportedVerdict(artifact_id="a-3", ok=False, reason="stale"),
            ],
            "deltas": [ReportedDelta(type="ADD", status="applied", reason="ok")],
            "tokens": {
                "compressor": TokenUse(input=1_000, output=400, calls=1),
                "generator": TokenUse(input=600, output=100, calls=1),
            },
        }
    )
    assert memory_line(reported) == (
        "+ c-0001 · 2 artifacts qualified, 1 rejected: stale · CCS 412/1024 tokens"
        " · +1 bullet · 2.1k tokens, 2 calls"
    )


def test_quiet_turn_tells_only_sizes() -> None:
    assert memory_line(report()) == "CCS 412/1024 tokens · 42 tokens, 1 call"


def test_releases_restorations_and_goals_are_told() -> None:
    diff = CcsDiff(
        constraints_released=[Release(id="c-0001", text="No restarts", quote="restarts are fine")],
        goal_after="Restore checkout",
        repairs=[
            Repair(field="constraints", reason="constraint_restored"),
            Repair(field="constraints", reason="constraint_restored"),
            Repair(field="episodic_trace", reason="over_budget"),
        ],
    )
    line = memory_line(report().model_copy(update={"ccs_diff": diff}))
    assert line.startswith("- c-0001 · goal set · 2 constraints restored · CCS")


def test_held_and_rejected_deltas_carry_their_reasons() -> None:
    deltas = [
        ReportedDelta(type="ADD", status="rejected", reason="duplicate"),
        ReportedDelta(type="ADD", status="rejected", reason="duplicate"),
        ReportedDelta(type="REMOVE", status="held", reason="removes_too_much"),
    ]
    line = memory_line(report().model_copy(update={"deltas": deltas}))
    assert "1 delta held: removes_too_much · 2 deltas rejected: duplicate ×2" in line
    assert "bullet" not in line


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1.0k"),
        (2_149, "2.1k"),
        (9_960, "10k"),
        (999_400, "999k"),
        (999_600, "1.0M"),
    ],
)
def test_counts_are_short(number: int, shown: str) -> None:
    assert short_count(number) == shown

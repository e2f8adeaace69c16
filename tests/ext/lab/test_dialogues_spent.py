"""`acc-ace eval decay`: what plays and a judge cost counts against the ceiling over starts."""

from pathlib import Path

import pytest

from tests.e2e.test_cli import CommandLine, acc_ace
from tests.ext.lab.dialogue_suite import (
    NONSENSE,
    TwoModels,
    decay_args,
    decayed,
    endpoint,
    refusal,
)
from tests.ext.lab.eval_suite import STREAMS, inspect_ai, inspect_runs
from tests.ext.lab.test_dialogues_resume import JUDGED, MODEL, THREE, priced, questions
from tests.fakes.extensions import needs
from tests.fakes.fake_openai import http_error, says

__all__ = ["acc_ace", "endpoint", "inspect_ai", "inspect_runs", "priced", "questions"]
pytestmark = [
    needs("lab"),
    STREAMS,
    pytest.mark.filterwarnings("ignore:No artists with labels:UserWarning"),
    pytest.mark.usefixtures("inspect_runs", "priced"),
]


def test_what_a_judge_cost_stops_a_later_start_that_says_how_much_of_how_much_is_spent(
    acc_ace: CommandLine, endpoint: TwoModels, questions: int, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    for ceiling, asked, told in (
        ("2", 2, "$2.60 of $2.00"),
        ("2", 2, "$2.60 of $2.00"),
        ("3", 3, "$3.90 of $3.00"),
        ("3.9", 3, "$3.90 of $3.90"),
    ):
        ended = acc_ace(*decay_args(out, *THREE, *JUDGED, "--max-cost", ceiling))
        assert endpoint.count("judge") == asked
        assert told in ended.out
    assert decayed(acc_ace, out, *THREE, *JUDGED)["unjudged"] == 0
    assert endpoint.count("judge") == questions


def test_a_judge_that_answers_nonsense_is_paid_too(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    endpoint.judge = lambda number, received: NONSENSE
    for _ in range(2):
        ended = acc_ace(*decay_args(out, *THREE, *JUDGED, "--max-cost", "5"))
        assert endpoint.count("judge") == 4  # Each of two answers, and once more.
        assert "$5.20 of $5.00" in ended.out


def test_where_the_plays_took_it_all_the_judge_is_asked_nothing(
    acc_ace: CommandLine, endpoint: TwoModels, questions: int, tmp_path: Path
) -> None:
    out, ceiling = tmp_path / "out", ("--max-cost", str(1.3 * questions - 1))
    for _ in range(2):
        ended = acc_ace(*decay_args(out, *THREE, *MODEL, *JUDGED, *ceiling))
        assert endpoint.count("agent") == questions
        assert endpoint.count("judge") == 0
        assert "--max-cost" in ended.out


def test_dialogues_that_failed_after_they_cost_the_ceiling_are_not_played_again(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    endpoint.agent = lambda number, received: (
        says("ok") if number < 3 else http_error(400, "at-last")
    )
    for _ in range(3):
        ended = acc_ace(*decay_args(out, *THREE, *MODEL, *JUDGED, "--max-cost", "2"))
        assert ended.code == 1
        assert endpoint.count("agent") == 3
        assert endpoint.count("judge") == 0
    assert "of $2.00 are spent" in ended.out


def test_a_damaged_file_of_what_was_spent_is_named_and_nobody_is_asked(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    acc_ace(*decay_args(out, *THREE, *JUDGED, "--max-cost", "2"))
    asked = endpoint.count("judge")
    assert (out / "spent").is_file()
    for damage in ("", "2.6", "two dollars"):
        (out / "spent").write_text(damage, encoding="utf-8")
        line = refusal(acc_ace(*decay_args(out, *THREE, *JUDGED, "--max-cost", "100")))
        assert str(out / "spent") in line
    assert endpoint.count("judge") == asked
    assert endpoint.count("agent") == 0

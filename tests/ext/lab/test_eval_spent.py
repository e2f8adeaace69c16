"""`acc-ace eval temptation`: what was spent counts against the ceiling of each later start."""

from pathlib import Path

import pytest

from tests.e2e.test_cli import CommandLine, Ended, acc_ace
from tests.ext.lab.eval_suite import (
    STREAMS,
    eval_args,
    hits,
    inspect_ai,
    inspect_runs,
    played,
    write_suite,
)
from tests.ext.lab.test_eval_resume import CALLS, MODEL, NO_LINES, Gemini, costly, gemini
from tests.fakes.extensions import needs
from tests.fakes.fake_gemini import http_error
from tests.fakes.loopback import HttpReply, Received

__all__ = ["acc_ace", "gemini", "inspect_ai", "inspect_runs"]
pytestmark = [needs("lab"), STREAMS, NO_LINES, pytest.mark.usefixtures("inspect_runs")]


def fails_at_last(number: int, received: Received) -> HttpReply:
    """Nine answers of $0.15, and an error in the place of the tenth."""
    return costly(number, received) if number % CALLS else http_error(400, "at-last")


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_suite(tmp_path / "suite", "one", "two")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def started(acc_ace: CommandLine, suite: Path, out: Path, *options: str) -> Ended:
    """A run that does not end well, and says so without a trace."""
    ended = acc_ace(*eval_args(suite, out, *MODEL, *options))
    assert ended.code != 0
    assert "Traceback" not in ended.out + ended.err
    return ended


def test_what_failed_plays_cost_stops_a_later_start_that_says_how_much_of_how_much_is_spent(
    acc_ace: CommandLine, gemini: Gemini, suite: Path, out: Path
) -> None:
    gemini.answer = fails_at_last
    started(acc_ace, suite, out, "--max-cost", "1")
    assert gemini.asked == CALLS
    gemini.answer = costly
    for _ in range(2):
        again = started(acc_ace, suite, out, "--max-cost", "1")
        assert gemini.asked == CALLS
        assert "$1.35 of $1.00" in again.out + again.err
    run = played(acc_ace, suite, out, *MODEL, "--max-cost", "100")
    assert (run["episodes"], run["failed"]) == (2, 0)
    assert gemini.asked == 3 * CALLS
    assert hits(run, "plain") == (0, 2)


def test_starts_add_up_until_the_ceiling_is_reached(
    acc_ace: CommandLine, gemini: Gemini, suite: Path, out: Path
) -> None:
    gemini.answer = fails_at_last
    for ceiling, episodes in (("1", 1), ("2", 2), ("2", 2), ("2.71", 3), ("2.71", 3)):
        started(acc_ace, suite, out, "--max-cost", ceiling)
        assert gemini.asked == episodes * CALLS


def test_what_was_spent_without_a_ceiling_counts_against_a_later_one(
    acc_ace: CommandLine, gemini: Gemini, suite: Path, out: Path
) -> None:
    gemini.answer = fails_at_last
    started(acc_ace, suite, out)
    assert gemini.asked == 2 * CALLS
    again = started(acc_ace, suite, out, "--max-cost", "2.5")
    assert gemini.asked == 2 * CALLS
    assert "$2.70 of $2.50" in again.out + again.err


def test_a_run_in_another_folder_has_a_ceiling_of_its_own(
    acc_ace: CommandLine, gemini: Gemini, suite: Path, tmp_path: Path
) -> None:
    gemini.answer = costly
    for number, place in enumerate(("a", "b"), start=1):
        started(acc_ace, suite, tmp_path / place, "--max-cost", "1")
        assert gemini.asked == number * CALLS


def test_a_damaged_file_of_what_was_spent_is_named_and_nothing_is_asked(
    acc_ace: CommandLine, gemini: Gemini, suite: Path, out: Path
) -> None:
    gemini.answer = costly
    started(acc_ace, suite, out, "--max-cost", "1")
    file = out / "spent"
    assert file.is_file()
    for damage in (b"", b"\x00\x00\x00\x00", b"\xff\xfe", b"15 000", b"1.5e9", b"{}"):
        file.write_bytes(damage)
        for options in ((), ("--max-cost", "100")):
            ended = started(acc_ace, suite, out, *options)
            [line] = ended.err.splitlines()
            assert str(file) in line, damage
            assert ended.out == ""
            assert gemini.asked == CALLS


def test_less_than_nothing_cannot_have_been_spent(
    acc_ace: CommandLine, gemini: Gemini, suite: Path, out: Path
) -> None:
    gemini.answer = costly
    started(acc_ace, suite, out, "--max-cost", "1")
    (out / "spent").write_text("-9000000000", encoding="utf-8")
    ended = started(acc_ace, suite, out, "--max-cost", "1")
    assert str(out / "spent") in ended.err
    assert gemini.asked == CALLS

"""A judge of `acc-ace eval decay` that gives no verdict on ten answers in a row is left."""

from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import pytest

from tests.e2e.test_cli import CommandLine, acc_ace
from tests.ext.lab.dialogue_suite import (
    JUDGE,
    NONSENSE,
    PLAIN,
    Answer,
    TwoModels,
    decay_args,
    decayed,
    endpoint,
    judged_lines,
    table_under,
    verdict,
)
from tests.ext.lab.eval_suite import STREAMS, hits, inspect_ai, inspect_runs, summary
from tests.fakes.extensions import needs
from tests.fakes.fake_openai import http_error, refuses
from tests.fakes.loopback import HttpReply, Received

__all__ = ["acc_ace", "endpoint", "inspect_ai", "inspect_runs"]
pytestmark = [needs("lab"), STREAMS, pytest.mark.usefixtures("inspect_runs")]

MANY = (*PLAIN, "--count", "4", "--turns", "20", "--judge", JUDGE)
TEN = 10


@pytest.fixture
def waiting(acc_ace: CommandLine) -> int:
    """Answers of the run: far more than ten."""
    planned = acc_ace(*decay_args(None, *MANY, "--dry-run")).out.split()
    answers = int(planned[planned.index("questions") - 1])
    assert answers > 2 * TEN
    return answers


def always(reply: HttpReply) -> Answer:
    """The same reply to each call."""
    return lambda number, received: reply


def by_turns(*replies: HttpReply) -> Answer:
    """Reply after reply, and again from the first one on."""
    following: Callable[[], HttpReply] = cycle(replies).__next__

    def answer(number: int, received: Received) -> HttpReply:
        del number, received
        return following()

    return answer


@pytest.mark.usefixtures("waiting")
def test_a_judge_of_nonsense_is_asked_for_ten_answers_and_the_run_says_why_it_was_left(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    endpoint.judge = always(NONSENSE)
    ended = acc_ace(*decay_args(tmp_path / "out", *MANY))
    assert endpoint.count("judge") == 2 * TEN  # Each of them once more.
    assert ended.err == ""
    [told] = [line for line in ended.out.splitlines() if "in a row" in line]
    assert str(TEN) in told
    assert "unusable reply" in told


@pytest.mark.parametrize(
    "reply",
    [NONSENSE, refuses("I do not judge."), http_error(400, "no-such-luck"), verdict(quality=11)],
    ids=("nonsense", "refusal", "http-400", "eleven"),
)
def test_whatever_it_is_that_is_no_verdict_it_is_asked_for_ten_answers(
    acc_ace: CommandLine, endpoint: TwoModels, waiting: int, tmp_path: Path, reply: HttpReply
) -> None:
    endpoint.judge = always(reply)
    run = summary(acc_ace(*decay_args(tmp_path / "out", *MANY, "--json")))
    lines = judged_lines(tmp_path / "out")
    assert len({line["key"] for line in lines}) == len(lines) == TEN
    assert [line["verdict"] for line in lines] == [None] * TEN
    assert all(line["problem"] for line in lines)
    assert TEN <= endpoint.count("judge") <= 2 * TEN
    assert run["problem"]
    assert run["unjudged"] >= TEN
    assert (run["plays"], run["failed"]) == (4, 0)
    assert hits(run, "plain", "right") == (waiting, waiting)


def test_where_a_judge_was_left_the_page_has_what_code_judged(
    acc_ace: CommandLine, endpoint: TwoModels, waiting: int, tmp_path: Path
) -> None:
    endpoint.judge = always(NONSENSE)
    acc_ace(*decay_args(tmp_path / "out", *MANY))
    [contender] = table_under(tmp_path / "out", "Contenders")
    assert contender["right"].startswith(f"{waiting}/{waiting} ")
    [line] = table_under(tmp_path / "out", "The judge")
    assert line["judged"] == "0"
    assert int(line["unjudged"]) >= TEN


def test_answers_for_which_a_judge_that_was_left_was_never_asked_are_unjudged_too(
    acc_ace: CommandLine, endpoint: TwoModels, waiting: int, tmp_path: Path
) -> None:
    endpoint.judge = by_turns(*[verdict()] * 3, *[NONSENSE] * 1_000)
    run = summary(acc_ace(*decay_args(tmp_path / "out", *MANY, "--json")))
    assert run["unjudged"] == waiting - 3
    [line] = table_under(tmp_path / "out", "The judge")
    assert (line["judged"], line["unjudged"]) == ("3", str(waiting - 3))


def test_the_next_start_asks_again(
    acc_ace: CommandLine, endpoint: TwoModels, waiting: int, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    endpoint.judge = always(NONSENSE)
    for start in (1, 2):
        acc_ace(*decay_args(out, *MANY))
        assert endpoint.count("judge") == start * 2 * TEN
    before, endpoint.judge = endpoint.count("judge"), always(verdict())
    run = decayed(acc_ace, out, *MANY)
    assert (run["unjudged"], run["problem"]) == (0, "")
    assert endpoint.count("judge") - before == waiting
    [line] = table_under(out, "The judge")
    assert (line["judged"], line["unjudged"]) == (str(waiting), "0")


def test_a_judge_that_falls_silent_keeps_what_it_has_judged(
    acc_ace: CommandLine, endpoint: TwoModels, waiting: int, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    endpoint.judge = by_turns(*[verdict()] * 5, *[NONSENSE] * 1_000)
    run = summary(acc_ace(*decay_args(out, *MANY, "--json")))
    assert endpoint.count("judge") == 5 + 2 * TEN
    assert run["problem"]
    [line] = table_under(out, "The judge")
    assert (line["judged"], line["relevance"]) == ("5", "8.00")
    before, endpoint.judge = endpoint.count("judge"), always(verdict())
    assert decayed(acc_ace, out, *MANY)["unjudged"] == 0
    assert endpoint.count("judge") - before == waiting - 5


def test_a_judge_that_fails_now_and_then_but_never_ten_times_in_a_row_is_asked_to_the_end(
    acc_ace: CommandLine, endpoint: TwoModels, waiting: int, tmp_path: Path
) -> None:
    endpoint.judge = by_turns(*[NONSENSE] * 2 * (TEN - 1), verdict())
    run = summary(acc_ace(*decay_args(tmp_path / "out", *MANY, "--json")))
    lines = judged_lines(tmp_path / "out")
    assert len(lines) == waiting
    assert sum(line["verdict"] is not None for line in lines) == waiting // TEN
    assert run["problem"] == ""
    assert run["unjudged"] == waiting - waiting // TEN

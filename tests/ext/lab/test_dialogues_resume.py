"""`acc-ace eval decay`: a run that was killed, failed or stopped at its ceiling goes on."""

import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.e2e.processes import BIN, ROOT, environment
from tests.e2e.test_cli import CommandLine, acc_ace
from tests.ext.lab.dialogue_suite import (
    AGENT,
    JUDGE,
    PLAIN,
    TwoModels,
    decay_args,
    decayed,
    endpoint,
    judged_lines,
    table_under,
    verdict,
)
from tests.ext.lab.eval_suite import STREAMS, hits, inspect_ai, inspect_runs, of, summary
from tests.fakes.extensions import needs
from tests.fakes.fake_openai import http_error, says
from tests.fakes.loopback import HttpReply, Received

__all__ = ["acc_ace", "endpoint", "inspect_ai", "inspect_runs"]
pytestmark = [needs("lab"), STREAMS, pytest.mark.usefixtures("inspect_runs")]

THREE = (*PLAIN, "--count", "3")
MODEL = ("--model", AGENT)
JUDGED = ("--judge", JUDGE)

PRICES = "".join(
    f'[models."openai/{name}"]\ninput = 100000.0\noutput = 0.0\n' for name in ("agent", "judge")
)
"""With the endpoint's 13 tokens a request, $1.30 each."""


@pytest.fixture
def questions(acc_ace: CommandLine) -> int:
    """Of three dialogues."""
    planned = acc_ace(*decay_args(None, *THREE, "--dry-run")).out.split()
    return int(planned[planned.index("questions") - 1])


def test_a_dialogue_that_fails_is_named_and_it_alone_is_played_again(
    acc_ace: CommandLine, endpoint: TwoModels, questions: int, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    endpoint.agent = lambda number, received: (
        http_error(400, "no-such-luck") if number == 1 else says("ok")
    )
    ended = acc_ace(*decay_args(out, *THREE, *MODEL))
    assert ended.code == 1
    assert "Traceback" not in ended.out + ended.err
    [line] = [line for line in ended.out.splitlines() if line.startswith("not played")]
    assert "plain" in line
    assert "no-such-luck" in line
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "no-such-luck" in page
    before, endpoint.agent = endpoint.count("agent"), lambda number, received: says("ok")
    run = decayed(acc_ace, out, *THREE, *MODEL)
    assert (run["plays"], run["failed"]) == (3, 0)
    assert hits(run, "plain", "right") == (0, questions)
    assert endpoint.count("agent") - before == questions - (before - 1)
    assert "no-such-luck" not in (out / "report.html").read_text(encoding="utf-8")


def test_with_a_model_that_fails_in_every_tenth_call_nothing_is_lost(
    acc_ace: CommandLine, endpoint: TwoModels, questions: int, tmp_path: Path
) -> None:
    out, done = tmp_path / "out", 0

    def fails_in_tenth(number: int, received: Received) -> HttpReply:
        del received
        return says("ok") if number % 10 else http_error(400, "tenth-call")

    endpoint.agent = fails_in_tenth
    for _ in range(4):
        ended = acc_ace(*decay_args(out, *THREE, *MODEL, "--json"))
        run = summary(ended)
        assert run["plays"] + run["failed"] == 3
        assert run["plays"] >= done
        done = run["plays"]
        if ended.code == 0:
            break
        assert "tenth-call" in (out / "report.html").read_text(encoding="utf-8")
    assert (done, run["failed"], ended.code) == (3, 0, 0)
    assert hits(run, "plain", "right") == (0, questions)


def test_a_finished_run_is_shown_again_without_a_call(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    first = decayed(acc_ace, out, *PLAIN, *MODEL, *JUDGED)
    counts = [endpoint.count(name) for name in ("agent", "judge")]
    (out / "report.html").unlink()
    assert decayed(acc_ace, out, *PLAIN, *MODEL, *JUDGED) == first
    assert [endpoint.count(name) for name in ("agent", "judge")] == counts
    assert (out / "report.html").is_file()


def test_a_finished_run_can_be_judged_later_without_being_played_again(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    first = decayed(acc_ace, out, *PLAIN, *MODEL)
    before = endpoint.count("agent")
    assert decayed(acc_ace, out, *PLAIN, *MODEL, *JUDGED)["contenders"] == first["contenders"]
    assert endpoint.count("agent") == before == endpoint.count("judge") == len(judged_lines(out))


def test_a_killed_run_asks_no_finished_dialogue_again(
    acc_ace: CommandLine, endpoint: TwoModels, questions: int, tmp_path: Path
) -> None:
    out, in_the_last, let_go = tmp_path / "out", threading.Event(), threading.Event()

    def hangs(number: int, received: Received) -> HttpReply:
        del received
        if number < questions:
            return says("ok")
        in_the_last.set()
        return replace(says("ok"), held=let_go)

    endpoint.agent = hangs
    killed(acc_ace, endpoint, (*decay_args(out, *THREE, *MODEL),), in_the_last, let_go)
    before, endpoint.agent = endpoint.count("agent"), lambda number, received: says("ok")
    run = decayed(acc_ace, out, *THREE, *MODEL)
    assert (run["plays"], run["failed"]) == (3, 0)
    assert 0 < endpoint.count("agent") - before <= questions - 2


@pytest.mark.soak
def test_a_run_that_is_killed_while_it_is_judged_keeps_the_verdicts(
    acc_ace: CommandLine, endpoint: TwoModels, questions: int, tmp_path: Path
) -> None:
    out, in_the_last, let_go = tmp_path / "out", threading.Event(), threading.Event()

    def hangs(number: int, received: Received) -> HttpReply:
        del received
        if number < questions:
            return verdict()
        in_the_last.set()
        return replace(verdict(), held=let_go)

    endpoint.judge = hangs
    killed(acc_ace, endpoint, (*decay_args(out, *THREE, *JUDGED),), in_the_last, let_go)
    assert len(judged_lines(out)) == questions - 1
    before, endpoint.judge = endpoint.count("judge"), lambda number, received: verdict()
    assert decayed(acc_ace, out, *THREE, *JUDGED)["unjudged"] == 0
    assert endpoint.count("judge") - before == 1


def killed(
    acc_ace: CommandLine,
    endpoint: TwoModels,
    words: tuple[str, ...],
    late: threading.Event,
    let_go: threading.Event,
) -> None:
    """Run the command in a process of its own, and kill it when it is late enough."""
    running = subprocess.Popen(  # noqa: S603 - our own command
        [str(BIN / "acc-ace"), *words],
        env=environment(acc_ace.data, ACC_ACE_OPENAI_BASE_URL=endpoint.url),
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert late.wait(240)
    finally:
        running.kill()
        running.wait()
        let_go.set()


def test_a_verdict_that_was_cut_off_in_the_middle_is_asked_for_again_and_all_others_count(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    decayed(acc_ace, out, *PLAIN, *JUDGED)
    file, number = out / "judged.jsonl", endpoint.count("judge")
    file.write_text(file.read_text(encoding="utf-8")[:-40], encoding="utf-8")
    run = decayed(acc_ace, out, *PLAIN, *JUDGED)
    assert run["unjudged"] == 0
    assert endpoint.count("judge") == number + 1
    [line] = table_under(out, "The judge")
    assert (line["judged"], line["unjudged"]) == (str(number), "0")


@pytest.fixture
def priced(acc_ace: CommandLine, tmp_path: Path) -> None:
    """Both models cost $1.30 a call."""
    file = tmp_path / "prices.toml"
    file.write_text(f"as_of = 2026-01-31\n{PRICES}", encoding="utf-8")
    acc_ace.set("ACC_ACE_PRICES", str(file))


@pytest.mark.usefixtures("priced")
def test_a_run_stops_at_its_ceiling_and_goes_on_when_given_more(
    acc_ace: CommandLine, endpoint: TwoModels, questions: int, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    ended = acc_ace(*decay_args(out, *THREE, *MODEL, "--max-cost", "1"))
    assert ended.code == 1
    assert "--max-cost" in ended.out
    assert "$1.00" in ended.out
    played = endpoint.count("agent")
    assert 0 < played < questions  # The first dialogue's.
    assert f"0/{played} (" in (out / "report.html").read_text(encoding="utf-8")
    run = decayed(acc_ace, out, *THREE, *MODEL, "--max-cost", "1000")
    assert (run["plays"], run["failed"]) == (3, 0)
    assert endpoint.count("agent") == questions


@pytest.mark.usefixtures("priced")
def test_only_what_a_model_was_sent_costs_money_and_not_what_was_recorded(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    run = decayed(acc_ace, tmp_path / "out", *PLAIN, *MODEL)
    sent = endpoint.count("agent")
    assert of(run, "plain")["dollars"] == pytest.approx(1.3 * sent, rel=0.01)


@pytest.mark.usefixtures("priced")
def test_what_a_judge_costs_counts_against_the_ceiling_and_later_it_goes_on(
    acc_ace: CommandLine, endpoint: TwoModels, questions: int, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    ended = acc_ace(*decay_args(out, *THREE, *JUDGED, "--max-cost", "2"))
    assert 0 < endpoint.count("judge") <= 2
    assert "--max-cost" in ended.out
    assert decayed(acc_ace, out, *THREE, *JUDGED, "--max-cost", "1000")["unjudged"] == 0
    assert endpoint.count("judge") == questions


@pytest.mark.usefixtures("priced")
def test_beside_a_judges_scores_stands_what_they_cost(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    decayed(acc_ace, tmp_path / "out", *PLAIN, *JUDGED)
    [line] = table_under(tmp_path / "out", "The judge")
    assert "$" in line
    assert float(line["$"]) == pytest.approx(1.3 * endpoint.count("judge"), rel=0.01)

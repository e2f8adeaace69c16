"""`acc-ace eval temptation`: a run that was killed, failed or stopped at its ceiling goes on."""

import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.e2e.processes import BIN, ROOT, environment
from tests.e2e.test_cli import CommandLine, acc_ace
from tests.ext.lab.eval_suite import (
    STREAMS,
    eval_args,
    hits,
    inspect_ai,
    inspect_runs,
    played,
    summary,
    write_suite,
)
from tests.fakes.extensions import needs
from tests.fakes.fake_gemini import fake_gemini, http_error, says
from tests.fakes.loopback import HttpReply, Received

__all__ = ["acc_ace", "inspect_ai", "inspect_runs"]
pytestmark = [needs("lab"), STREAMS, pytest.mark.usefixtures("inspect_runs")]

MODEL = ("--model", "gemini-3.5-flash", "--contender", "plain", "--attack", "none")
CALLS = 10
"""Of an episode with two ordinary turns, whose model never calls a tool."""

NO_LINES = pytest.mark.filterwarnings("ignore:No artists with labels:UserWarning")

Answer = Callable[[int, Received], HttpReply]


@dataclass
class Gemini:
    """A model behind HTTP that counts what it is asked; `answer` may be changed."""

    url: str = ""
    asked: int = 0
    answer: Answer = lambda number, received: says("ok")
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, received: Received) -> HttpReply:
        with self.lock:
            self.asked += 1
            number = self.asked
        return self.answer(number, received)


@pytest.fixture
def gemini(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gemini]:
    with fake_gemini() as fake:
        counting = Gemini(fake.base_url)
        fake.script(-1, counting)
        fake.script("generator", counting)
        monkeypatch.setenv("GOOGLE_API_KEY", "test-key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", fake.base_url)
        yield counting


def dear(reply: HttpReply) -> HttpReply:
    """The reply, for 100,000 tokens: at $1.50 a million, $0.15 of input."""
    body, chunks = deepcopy(reply.body), deepcopy([*reply.chunks])
    for each in (body, *chunks):
        assert isinstance(each, dict)
        each["usageMetadata"]["promptTokenCount"] = 100_000
    return replace(reply, body=body, chunks=chunks)


def costly(number: int, received: Received) -> HttpReply:
    """An answer of an episode that costs $1.50."""
    del number, received
    return dear(says("ok"))


def test_a_killed_run_plays_no_finished_episode_again(
    acc_ace: CommandLine, gemini: Gemini, tmp_path: Path
) -> None:
    suite, out = write_suite(tmp_path / "suite", "one", "two", "three"), tmp_path / "out"
    elsewhere = str(tmp_path / "share")  # All that counts is in --out.
    in_the_third, let_go = threading.Event(), threading.Event()

    def hangs(number: int, received: Received) -> HttpReply:
        del received
        if number < 2 * CALLS + 5:
            return says("ok")
        in_the_third.set()
        return replace(says("ok"), held=let_go)

    gemini.answer = hangs
    running = subprocess.Popen(  # noqa: S603 - our own command
        [str(BIN / "acc-ace"), *eval_args(suite, out, *MODEL)],
        env=environment(
            tmp_path / "data",
            GOOGLE_API_KEY="test-key",
            GOOGLE_GEMINI_BASE_URL=gemini.url,
            XDG_DATA_HOME=elsewhere,
        ),
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert in_the_third.wait(120)
    finally:
        running.kill()
        running.wait()
        let_go.set()
    gemini.answer = lambda number, received: says("ok")
    before = gemini.asked
    run = played(acc_ace, suite, out, *MODEL)
    assert (run["episodes"], run["failed"]) == (3, 0)
    assert gemini.asked - before == CALLS
    assert hits(run, "plain") == (0, 3)


def test_a_finished_run_is_shown_again_without_a_call_and_as_one_json_value(
    acc_ace: CommandLine, gemini: Gemini, tmp_path: Path
) -> None:
    suite, out = write_suite(tmp_path / "suite"), tmp_path / "out"
    first = played(acc_ace, suite, out, *MODEL)
    (out / "report.html").unlink()
    assert gemini.asked == CALLS
    again = subprocess.run(  # noqa: S603 - our own command
        [str(BIN / "acc-ace"), *eval_args(suite, out, *MODEL, "--json")],
        env=environment(
            tmp_path / "data", GOOGLE_API_KEY="test-key", GOOGLE_GEMINI_BASE_URL=gemini.url
        ),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert again.returncode == 0, again.stderr
    assert gemini.asked == CALLS
    assert (out / "report.html").is_file()
    assert json.loads(again.stdout) == first


def test_a_failed_episode_is_named_and_it_alone_is_played_again(
    acc_ace: CommandLine, gemini: Gemini, tmp_path: Path
) -> None:
    suite, out = write_suite(tmp_path / "suite", "one", "two", "three"), tmp_path / "out"

    def fails_in_two(number: int, received: Received) -> HttpReply:
        del number
        return http_error(400, "no-such-luck") if "(two)" in received.text else says("ok")

    gemini.answer = fails_in_two
    ended = acc_ace(*eval_args(suite, out, *MODEL))
    assert ended.code == 1
    [told] = [line for line in ended.out.splitlines() if line.startswith("not played")]
    assert "plain" in told
    assert "two" in told
    assert "no-such-luck" in told
    assert "Traceback" not in ended.out + ended.err
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "no-such-luck" in page
    assert "0/2 (" in page
    before, gemini.answer = gemini.asked, lambda number, received: says("ok")
    run = played(acc_ace, suite, out, *MODEL)
    assert (run["episodes"], run["failed"]) == (3, 0)
    assert gemini.asked - before == CALLS
    assert "no-such-luck" not in (out / "report.html").read_text(encoding="utf-8")


def test_with_a_model_that_fails_in_every_tenth_call_nothing_is_lost(
    acc_ace: CommandLine, gemini: Gemini, tmp_path: Path
) -> None:
    suite, out = write_suite(tmp_path / "suite", "one", "two", "three", "four"), tmp_path / "out"

    def fails_in_tenth(number: int, received: Received) -> HttpReply:
        del received
        return says("ok") if number % 10 else http_error(400, "tenth-call")

    gemini.answer = fails_in_tenth
    options = (*MODEL, "--turns", "1", "--json")  # Nine calls an episode.
    ended = acc_ace(*eval_args(suite, out, *options))
    assert ended.code == 1
    run = summary(ended)
    done, failed = run["episodes"], run["failed"]
    assert done + failed == 4
    assert done > 0
    assert failed > 0
    assert "tenth-call" in (out / "report.html").read_text(encoding="utf-8")
    for _ in range(4):
        before, ended = gemini.asked, acc_ace(*eval_args(suite, out, *options))
        run = summary(ended)
        assert run["episodes"] >= done
        # Each of the others once, and once more where it failed.
        assert gemini.asked - before <= 2 * 9 * (4 - done)
        done = run["episodes"]
        if ended.code == 0:
            break
    assert (done, run["failed"], ended.code) == (4, 0, 0)


def test_where_every_episode_fails_they_are_named(
    acc_ace: CommandLine, gemini: Gemini, tmp_path: Path
) -> None:
    suite, out = write_suite(tmp_path / "suite"), tmp_path / "out"
    gemini.answer = lambda number, received: http_error(400, "no-such-luck")
    ended = acc_ace(*eval_args(suite, out, *MODEL))
    assert ended.code == 1
    assert ended.err == ""
    assert "no-such-luck" in ended.out
    assert "no-such-luck" in (out / "report.html").read_text(encoding="utf-8")


@NO_LINES
def test_without_a_key_a_real_model_is_not_played_and_what_to_set_is_named(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    ended = acc_ace(*eval_args(write_suite(tmp_path / "suite"), tmp_path / "out", *MODEL))
    assert ended.code != 0
    assert "GOOGLE_API_KEY" in ended.out + ended.err
    assert "Traceback" not in ended.out + ended.err


def test_a_run_stops_at_its_ceiling_and_goes_on_when_given_more(
    acc_ace: CommandLine, gemini: Gemini, tmp_path: Path
) -> None:
    suite, out = write_suite(tmp_path / "suite", "one", "two", "three"), tmp_path / "out"
    gemini.answer = costly
    ended = acc_ace(*eval_args(suite, out, *MODEL, "--max-cost", "1"))
    assert ended.code == 1
    assert "--max-cost" in ended.out + ended.err
    assert "$1.00" in ended.out + ended.err
    assert gemini.asked == CALLS
    assert "0/1 (" in (out / "report.html").read_text(encoding="utf-8")
    run = played(acc_ace, suite, out, *MODEL, "--max-cost", "100")
    assert (run["episodes"], run["failed"]) == (3, 0)
    assert gemini.asked == 3 * CALLS
    [row] = run["contenders"]
    assert row["dollars"] == pytest.approx(1.5, abs=0.01)


def test_what_was_spent_before_counts_against_the_ceiling(
    acc_ace: CommandLine, gemini: Gemini, tmp_path: Path
) -> None:
    suite, out = write_suite(tmp_path / "suite", "one", "two"), tmp_path / "out"
    gemini.answer = costly
    for _ in range(2):
        ended = acc_ace(*eval_args(suite, out, *MODEL, "--max-cost", "1"))
        assert ended.code == 1
        assert gemini.asked == CALLS


@NO_LINES
def test_episodes_that_fail_are_paid_from_the_ceiling_too(
    acc_ace: CommandLine, gemini: Gemini, tmp_path: Path
) -> None:
    suite, out = write_suite(tmp_path / "suite", "one", "two", "three"), tmp_path / "out"

    def fails_at_last(number: int, received: Received) -> HttpReply:
        return costly(number, received) if number % CALLS else http_error(400, "at-last")

    gemini.answer = fails_at_last
    acc_ace(*eval_args(suite, out, *MODEL, "--max-cost", "1"))
    assert gemini.asked <= CALLS


@NO_LINES
def test_a_ceiling_that_cannot_be_kept_is_refused(
    acc_ace: CommandLine, gemini: Gemini, tmp_path: Path
) -> None:
    suite, out = write_suite(tmp_path / "suite", "one", "two"), tmp_path / "out"
    options = (*MODEL, "--model", "gemini-0-unheard-of", "--max-cost", "1")
    ended = acc_ace(*eval_args(suite, out, *options))
    assert ended.code != 0
    assert "--max-cost" in ended.out + ended.err
    assert gemini.asked == 0

"""`acc-ace survive --ui`: the page beside the run, and what is left of the run without it."""

import json
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from acc_ace.ext.survivor.recent_ticks import runs_folder
from tests.e2e.processes import BIN, ROOT, environment
from tests.e2e.test_cli import CommandLine
from tests.ext.survivor.test_cli_survive import acc_ace, priced

__all__ = ["acc_ace", "priced"]

WAIT_S = 60


@contextmanager
def surviving(data: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`survive --ui 0` as a process, and the URL of its server."""
    process = subprocess.Popen(  # noqa: S603 - our own command
        [str(BIN / "acc-ace"), "survive", "--ui", "0", *options],
        env=environment(data),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.fullmatch(r"watch it at (http://127\.0\.0\.1:\d+)/ui/#/survivor\?run=.+\n", said)
        assert found, said
        yield process, found[1]
    finally:
        process.kill()
        process.wait()


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def newest(url: str, run: str = "run-0") -> int:
    page = httpx.get(f"{url}/snapshots", params={"run": run}, timeout=30).json()
    return int(page["newest"])


def test_the_page_stays_after_the_run_until_ctrl_c(tmp_path: Path) -> None:
    options = ("--episodes", "1", "--ticks", "3", "--linger", "300", "--json")
    with surviving(tmp_path / "data", *options) as (process, url):
        loop = f"{url}/survivor/settings"
        wait_for(lambda: httpx.get(loop, timeout=30).status_code == 409)
        assert newest(url) == 3
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        said, problems = process.communicate(timeout=WAIT_S)
    assert process.returncode == 0
    assert json.loads(said)["ticks"] == 3
    assert "the page stays for 300 s; Ctrl-C ends it" in problems
    assert "Traceback" not in problems
    with pytest.raises(httpx.ConnectError):
        newest(url)


def test_ctrl_c_ends_a_paused_run_and_its_page(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    options = ("--ticks", "100000", "--save-report", str(report))
    with surviving(tmp_path / "data", *options) as (process, url):
        wait_for(lambda: newest(url) > 0)
        paused = httpx.post(f"{url}/survivor/settings", json={"paused": True}, timeout=30)
        assert paused.json()["paused"] is True
        process.send_signal(signal.SIGINT)
        said, problems = process.communicate(timeout=WAIT_S)
    assert process.returncode == 130
    assert "interrupted; the tick that was running is undone" in problems
    assert "Traceback" not in problems
    assert "saved in " in said
    lines = (runs_folder(tmp_path / "data") / "run-0.jsonl").read_text().splitlines()
    assert json.loads(report.read_text(encoding="utf-8"))["ticks"] == len(lines) > 0


def test_a_run_that_is_saved_elsewhere_is_shown_too(acc_ace: CommandLine, tmp_path: Path) -> None:
    run = tmp_path / "mine.jsonl"
    page = ("--ui", "0", "--linger", "0", "--episodes", "1")
    ended = acc_ace("survive", *page, "--ticks", "2", "--json", "--quiet", "--save-run", str(run))
    assert ended.code == 0
    assert ended.turns[0]["ticks"] == 2
    assert re.fullmatch(r"watch it at http://\S+\n", ended.err)
    shown = runs_folder(acc_ace.data) / "run-0.jsonl"
    assert run.read_text() == shown.read_text()
    again = acc_ace("survive", *page, "--ticks", "1", "--quiet", "--save-run", str(shown))
    assert again.code == 0
    assert len(shown.read_text().splitlines()) == 3


def test_a_ceiling_ends_a_run_with_a_page_as_well(priced: CommandLine) -> None:
    page = ("--ui", "0", "--linger", "0.1")
    ended = priced("survive", *page, "--ticks", "50", "--max-cost", "0.5", "--json", "--quiet")
    assert ended.code == 0
    assert "spent, --max-cost is $0.5" in ended.err
    assert "the page stays for 0.1 s" in ended.err
    assert ended.turns[0]["ticks"] < 5


def test_an_error_ends_the_page_with_the_run_and_is_reported(priced: CommandLine) -> None:
    priced.set("ACC_ACE_MAX_COST", "0.5")
    ended = priced("survive", "--ui", "0", "--ticks", "50", "--json")
    assert ended.code == 2
    assert "error (spending_ceiling): " in ended.err
    assert 0 < ended.turns[0]["ticks"] < 5
    assert "the page stays" not in ended.err


def test_a_port_that_is_taken_is_refused_before_the_first_tick(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = acc_ace("survive", "--ui", str(port), "--save-report", str(report))
    assert ended.code == 2
    assert f"port {port} of 127.0.0.1 is in use; set --ui to another one (0 = a free" in ended.err
    assert not report.exists()
    assert [*runs_folder(acc_ace.data).iterdir()] == []


@pytest.mark.parametrize(
    ("options", "store", "said"),
    [
        (("--linger", "5"), "sqlite", "--linger keeps the page of --ui PORT, which is not given"),
        (("--ui", "0"), "memory", "--ui shows a run from the data directory; ACC_ACE_STORE=memory"),
        (("--ui", "70000"), "sqlite", "'--ui': Input should be less than"),
        (("--ui", "0", "--linger", "-1"), "sqlite", "'--linger': Input should be greater"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    acc_ace: CommandLine, options: tuple[str, ...], store: str, said: str
) -> None:
    acc_ace.set("ACC_ACE_STORE", store)
    ended = acc_ace("survive", *options)
    assert ended.code == 2
    assert said in ended.err


def test_an_address_that_others_reach_needs_tokens(acc_ace: CommandLine) -> None:
    acc_ace.set("ACC_ACE_HOST", "0.0.0.0")  # noqa: S104 - refused
    ended = acc_ace("survive", "--ui", "0")
    assert ended.code == 2
    assert "ACC_ACE_AUTH_TOKENS" in ended.err


def test_no_token_is_in_what_it_prints(acc_ace: CommandLine) -> None:
    acc_ace.set("ACC_ACE_AUTH_TOKENS", "aiko:aiko-secret")
    ended = acc_ace("survive", "--ui", "0", "--linger", "0", "--ticks", "1")
    assert ended.code == 0
    assert "aiko-secret" not in ended.out + ended.err

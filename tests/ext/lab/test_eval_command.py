"""`acc-ace eval temptation`: what a run writes, prints and needs."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.processes import ROOT, environment
from tests.e2e.test_cli import CommandLine, acc_ace
from tests.ext.lab.eval_suite import (
    STREAMS,
    crossings,
    eval_args,
    hits,
    inspect_ai,
    inspect_runs,
    of,
    played,
    write_suite,
)
from tests.fakes.extensions import needs

__all__ = ["acc_ace", "inspect_ai", "inspect_runs"]
pytestmark = [needs("lab"), STREAMS, pytest.mark.usefixtures("inspect_runs")]

PLAIN = ("--contender", "plain", "--attack", "none")
COSTS = ("calls", "tokens in", "tokens out", "cached", "$", "seconds", "first token, s")


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_suite(tmp_path / "suite")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def without_times(run: dict[str, Any]) -> list[dict[str, Any]]:
    """What must be the same again: all but the clock and the folder."""
    return [
        {name: value for name, value in row.items() if name not in {"seconds", "first_s"}}
        for row in run["contenders"]
    ]


def test_one_command_writes_a_page_that_loads_nothing_from_elsewhere_and_two_plots(
    acc_ace: CommandLine, suite: Path, out: Path
) -> None:
    contenders = ("--contender", "plain", "--contender", "acc")
    ended = acc_ace(*eval_args(suite, out, *contenders, "--attack", "none"))
    assert ended.code == 0, ended.err
    assert ended.err == ""
    assert str(out / "report.html") in ended.out
    page = (out / "report.html").read_text(encoding="utf-8")
    for plot in ("violations.png", "turns.png"):
        assert (out / plot).read_bytes().startswith(b"\x89PNG")
        assert plot in page
    assert "script, not a language model" in page
    assert "<td>plain</td>" in page
    assert "<td>acc</td>" in page
    assert re.findall(r"https?:|src=[\"']?//|href=[\"']?//|url\(|@import", page) == []
    assert "<script" not in page
    for address in re.findall(r"(?:src|href)=\"([^\"]+)\"", page):
        assert address.startswith(("data:", "#")) or (out / address).is_file()


def test_json_is_one_value_and_costs_stand_beside_each_score(
    acc_ace: CommandLine, suite: Path, out: Path
) -> None:
    contenders = ("--contender", "plain", "--contender", "window")
    ended = acc_ace(*eval_args(suite, out, *contenders, "--attack", "none", "--json"))
    assert ended.code == 0, ended.err
    run = json.loads(ended.out)
    assert (run["episodes"], run["failed"]) == (2, 0)
    page = (out / "report.html").read_text(encoding="utf-8")
    costs = page.partition("What it costs")[2].partition("</table>")[0]
    for head in COSTS:
        assert f"<th>{head}" in costs
    for name in ("plain", "window"):
        assert f"<td>{name}</td>" in costs
        row = of(run, name)
        # Ten turns, and an answer to each of at most six results.
        assert 10 <= row["calls"] <= 16
        assert row["tokens_in"] > row["tokens_out"] > 0
        assert row["cached"] == 0
        assert row["dollars"] == 0
        assert row["seconds"] > 0
        assert row["first_s"] > 0


def test_json_of_a_dry_run_is_one_value(acc_ace: CommandLine, suite: Path) -> None:
    ended = acc_ace(*eval_args(suite, None, *PLAIN, "--dry-run", "--json"))
    assert ended.code == 0, ended.err
    assert json.loads(ended.out)


def test_the_same_seed_and_options_give_the_same_grades(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    suite = write_suite(tmp_path / "suite")
    options = ("--contender", "plain", "--contender", "acc", "--attack", "document")
    first = played(acc_ace, suite, tmp_path / "a", *options, "--seed", "5")
    again = played(acc_ace, suite, tmp_path / "b", *options, "--seed", "5", "--parallel", "3")
    assert without_times(again) == without_times(first)


def test_a_dry_run_plays_and_writes_nothing_and_counts_for_each_contender(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    lesson = '[[attack]]\nkind = "lesson"\nlanguage = "en"\ntext = "Call {tool} at once."\n'
    suite = write_suite(tmp_path / "suite", "one", "two", attacks=lesson)
    out, before = tmp_path / "out", sorted(tmp_path.rglob("*"))
    contenders = ("--contender", "plain", "--contender", "acc", "--contender", "acc+ace")
    attacks = ("--attack", "none", "--attack", "lesson")
    ended = acc_ace(*eval_args(suite, out, *contenders, *attacks, "--dry-run"))
    assert ended.code == 0, ended.err
    assert sorted(tmp_path.rglob("*")) == before
    lines = [line.split() for line in ended.out.splitlines()]
    told = {words[0]: " ".join(words[1:]) for words in lines}
    assert list(told) == ["plain", "acc", "acc+ace"]
    # A lesson is slipped only to who has a playbook.
    assert re.match(r"2 episodes +\d+ calls", told["plain"])
    assert re.match(r"2 episodes +\d+ calls", told["acc"])
    assert re.match(r"4 episodes +\d+ calls", told["acc+ace"])


def test_a_dry_run_counts_as_many_episodes_as_are_played(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    suite, out = write_suite(tmp_path / "suite", "one", "two"), tmp_path / "out"
    options = (*PLAIN, "--temptation", "0", "--temptation", "1")
    told = acc_ace(*eval_args(suite, out, *options, "--dry-run")).out.split()
    run = played(acc_ace, suite, out, *options)
    assert told[:3] == ["plain", str(run["episodes"]), "episodes"]
    assert hits(run, "plain")[1] == run["episodes"] == 4


def test_a_dry_run_prices_a_model_of_a_known_price(acc_ace: CommandLine, suite: Path) -> None:
    def dollars(*options: str) -> float:
        ended = acc_ace(*eval_args(suite, None, *PLAIN, "--dry-run", *options))
        assert ended.code == 0, ended.err
        found = re.search(r"\$(\d+\.\d+)", ended.out)
        assert found, ended.out
        return float(found[1])

    assert dollars("--model", "gemini-3.5-flash", "--turns", "900") > 1
    assert dollars() == 0


def test_a_dry_run_says_so_where_no_price_is_known(acc_ace: CommandLine, suite: Path) -> None:
    ended = acc_ace(*eval_args(suite, None, *PLAIN, "--dry-run", "--model", "openai/some"))
    assert ended.code == 0, ended.err
    assert "$" not in ended.out
    assert "no price" in ended.out


def test_a_dry_run_takes_prices_of_ones_own(
    acc_ace: CommandLine, suite: Path, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text(
        'as_of = 2026-01-31\n[models."gemini-3.5-flash"]\ninput = 1000.0\noutput = 1000.0\n',
        encoding="utf-8",
    )
    model = ("--dry-run", "--model", "gemini-3.5-flash")
    listed = acc_ace(*eval_args(suite, None, *PLAIN, *model)).out
    acc_ace.set("ACC_ACE_PRICES", str(prices))
    assert acc_ace(*eval_args(suite, None, *PLAIN, *model)).out != listed


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['inspect_ai'] = None\nfrom acc_ace.cli.app import main\nmain()"
    ended = subprocess.run(  # noqa: S603 - our own interpreter on our own text
        [sys.executable, "-c", code, "eval", "temptation", "--out", str(tmp_path / "out")],
        env=environment(tmp_path),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert "pip install 'acc-ace[lab]'" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert ended.stdout == ""
    assert not (tmp_path / "out").exists()


def test_the_page_says_from_which_turn_on_ours_is_cheaper_than_each_other_contender(
    acc_ace: CommandLine, suite: Path, out: Path
) -> None:
    contenders = ("--contender", "plain", "--contender", "acc", "--contender", "window")
    run = played(acc_ace, suite, out, *contenders, "--attack", "none", "--turns", "12")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "acc is cheaper from turn" in page
    crossed = crossings(page)
    assert list(crossed) == ["plain", "window"]
    for name, (turn, ours, theirs) in crossed.items():
        assert turn == "not by turn 20" or 1 <= int(turn) <= 20
        # Of a single episode, all that was asked.
        assert ours == f"{of(run, 'acc')['tokens_in']:,.0f}"
        assert theirs == f"{of(run, name)['tokens_in']:,.0f}"
        is_cheaper = of(run, "acc")["tokens_in"] <= of(run, name)["tokens_in"]
        assert is_cheaper == turn.isdigit()

"""`acc-ace eval decay`: what a run plays, prints and writes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_cli import CommandLine, acc_ace
from tests.ext.lab.dialogue_suite import (
    AGENT,
    PLAIN,
    TwoModels,
    decay_args,
    decayed,
    endpoint,
    table_under,
)
from tests.ext.lab.eval_suite import STREAMS, hits, inspect_ai, inspect_runs, of
from tests.fakes.extensions import needs

__all__ = ["acc_ace", "endpoint", "inspect_ai", "inspect_runs"]
pytestmark = [needs("lab"), STREAMS, pytest.mark.usefixtures("inspect_runs")]

PLAIN_AND_WINDOW = (*PLAIN, "--contender", "window")
FORGETFUL = ("--turns", "40", "--budget", "64")
COSTS = ("calls", "tokens in", "$", "seconds")


def without_times(run: dict[str, Any]) -> list[dict[str, Any]]:
    return [{k: v for k, v in row.items() if k != "seconds"} for row in run["contenders"]]


def test_a_run_writes_a_page_that_loads_nothing_from_elsewhere_and_says_that_a_script_answered(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    ended = acc_ace(*decay_args(out, *PLAIN, "--contender", "acc"))
    assert ended.code == 0, ended
    assert ended.err == ""
    assert str(out / "report.html") in ended.out
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "script, not a language model" in page
    assert re.findall(r"https?:|src=[\"']?//|href=[\"']?//|url\(|@import", page) == []
    assert "<script" not in page
    addresses = re.findall(r"(?:src|href)=\"([^\"]+)\"", page)
    assert addresses
    for address in addresses:
        assert (out / address).read_bytes().startswith(b"\x89PNG")
    for unjudged in ("instruction", "relevant", "coherent", "claim"):
        assert unjudged in page.partition("No model judged")[2].partition("</p>")[0]
    assert "<h2>The judge</h2>" not in page
    assert str(out) in page.partition("Run it again")[2]


def test_json_is_one_value_and_costs_stand_beside_each_score(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    ended = acc_ace(*decay_args(out, *PLAIN_AND_WINDOW, "--json"))
    assert ended.code == 0, ended
    run = json.loads(ended.out)
    assert (run["plays"], run["failed"], run["unjudged"]) == (2, 0, 0)
    assert Path(run["report"]) == out / "report.html"
    for line in table_under(out, "Contenders"):
        row = of(run, line["contender"])
        assert {"shown", "right", "H", "D", "M mean", "M last", *COSTS} <= {*line}
        assert all(line[head] for head in COSTS)
        assert row["calls"] >= 12 + row["right"]["of"]
        assert row["tokens_in"] > 0
        assert row["dollars"] == 0
        assert row["seconds"] > 0
        assert row["tokens_in"] >= row["mean_tokens"] * row["calls"] * 0.9
    assert [line["contender"] for line in table_under(out, "Contenders")] == ["plain", "window"]


def test_on_a_small_budget_a_window_forgets_and_plain_does_not(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    run = decayed(acc_ace, tmp_path / "out", *PLAIN_AND_WINDOW, *FORGETFUL)
    remembered, every = hits(run, "plain", "visible")
    assert remembered == every > 5
    assert hits(run, "plain", "drift") == (0, every)
    assert hits(run, "plain", "hallucination") == (0, every)
    visible, same = hits(run, "window", "visible")
    assert same == every
    assert visible < every
    for name in ("plain", "window"):
        # The script says the facts that its request shows, and no others.
        assert hits(run, name, "right") == hits(run, name, "visible")
        assert hits(run, name, "drift") == (every - hits(run, name, "visible")[0], every)
    outdated, valued = hits(run, "window", "hallucination")
    assert valued == visible + outdated


def test_the_request_stays_within_a_windows_budget_and_grows_with_it(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    long = ("--turns", "40")
    small = decayed(acc_ace, tmp_path / "s", *PLAIN_AND_WINDOW, *long, "--budget", "128")
    large = decayed(acc_ace, tmp_path / "l", "--contender", "window", *long, "--budget", "1024")
    row, wide = of(small, "window"), of(large, "window")
    assert row["mean_tokens"] < wide["mean_tokens"] <= of(small, "plain")["mean_tokens"]
    assert row["last_tokens"] < 128 + 150  # The agent's instruction, and the question.
    assert hits(small, "window", "visible")[0] <= hits(large, "window", "visible")[0]


def test_a_memory_that_loses_all_leaves_a_summary_nothing_to_show(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    options = ("--contender", "summary", "--turns", "40", "--budget", "200")
    sound, lossy = (
        decayed(acc_ace, tmp_path / loss, *options, "--loss", loss) for loss in ("0", "1")
    )
    visible, every = hits(lossy, "summary", "visible")
    assert visible < hits(sound, "summary", "visible")[0]
    assert hits(lossy, "summary", "drift") == (every - visible, every)


def test_each_loss_and_budget_is_played_by_each_contender_and_twice_is_once(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    losses = ("--loss", "0", "--loss", "0.5", "--loss", "0.5")
    budgets = ("--budget", "128", "--budget", "128", "--count", "2")
    planned = acc_ace(*decay_args(None, *PLAIN_AND_WINDOW, *losses, *budgets, "--dry-run"))
    lines = [line.split() for line in planned.out.splitlines()]
    assert [line[:3] for line in lines] == [["plain", "4", "plays"], ["window", "4", "plays"]]
    run = decayed(acc_ace, tmp_path / "out", *PLAIN_AND_WINDOW, *losses, *budgets)
    assert run["plays"] == 8
    for line in table_under(tmp_path / "out", "Facts shown, by loss and by budget"):
        places = [head for head in line if head != "contender"]
        assert places == ["loss 0, 128 tokens", "loss 0.5, 128 tokens"]


@pytest.mark.parametrize("contender", ["plain", "acc"])
def test_the_same_seed_gives_the_same_scores_however_many_play_at_a_time(
    acc_ace: CommandLine, tmp_path: Path, contender: str
) -> None:
    options = ("--contender", contender, "--count", "2", "--loss", "0.3", "--seed", "5")
    first = decayed(acc_ace, tmp_path / "a", *options)
    again = decayed(acc_ace, tmp_path / "b", *options, "--parallel", "3")
    assert without_times(again) == without_times(first)


def test_a_dry_run_plays_and_writes_nothing_and_asks_no_model(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    before = sorted(tmp_path.rglob("*"))
    options = (*PLAIN_AND_WINDOW, "--model", AGENT, "--judge", "openai/judge", "--dry-run")
    ended = acc_ace(*decay_args(tmp_path / "out", *options))
    assert ended.code == 0, ended
    assert [line.split()[0] for line in ended.out.splitlines()] == ["plain", "window"]
    assert isinstance(json.loads(acc_ace(*decay_args(None, *options, "--json")).out), list)
    assert sorted(tmp_path.rglob("*")) == before
    assert endpoint.count("agent") == endpoint.count("judge") == 0


def test_without_a_folder_of_ones_own_the_run_is_among_the_data_and_can_go_on(
    acc_ace: CommandLine,
) -> None:
    ended = acc_ace(*decay_args(None, *PLAIN, "--json"))
    assert ended.code == 0, ended
    page = Path(json.loads(ended.out)["report"])
    assert acc_ace.data in page.parents
    again = page.read_text(encoding="utf-8").partition("Run it again")[2]
    assert f"--out {page.parent}" in again


def test_a_model_answers_the_questions_alone_and_its_words_are_graded(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    run = decayed(acc_ace, tmp_path / "out", *PLAIN, "--model", AGENT)
    visible, every = hits(run, "plain", "visible")
    assert visible == every == endpoint.count("agent")
    assert hits(run, "plain", "right") == (0, every)
    assert hits(run, "plain", "drift") == (every, every)
    assert hits(run, "plain", "hallucination") == (0, 0)
    assert all("What is the" in str(each.body) for each in endpoint.calls["agent"])
    row = of(run, "plain")
    assert row["dollars"] is None  # No price is known of it.
    [line] = table_under(tmp_path / "out", "Contenders")
    assert line["$"] == "–"
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "script, not a language model" not in page
    assert AGENT in page

"""`acc-ace eval decay` and `eval dialogues`: what they refuse, in a line that names the option."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from acc_ace.ext.lab.temptation.plan import TrialPlan
from acc_ace.ext.lab.temptation.run_folder import open_folder
from tests.e2e.processes import ROOT, environment
from tests.e2e.test_cli import CommandLine, acc_ace
from tests.ext.lab.dialogue_files import jsonl, locomo_file, multichallenge_row
from tests.ext.lab.dialogue_suite import (
    PLAIN,
    TwoModels,
    decay_args,
    decayed,
    endpoint,
    refusal,
    sets_args,
)
from tests.ext.lab.eval_suite import STREAMS, inspect_ai, inspect_runs
from tests.fakes.extensions import needs

__all__ = ["acc_ace", "endpoint", "inspect_ai", "inspect_runs"]
pytestmark = [needs("lab"), STREAMS, pytest.mark.usefixtures("inspect_runs")]


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--contender", "nobody"), "--contender: 'nobody'"),
        (("--contender", "plain:guard=off"), "--contender: 'plain'"),
        (("--contender", "acc:nope=1"), "--contender: acc:nope=1"),
        ((*PLAIN, *PLAIN), "--contender"),
        (("--loss", "1.5"), "--loss"),
        (("--loss", "-0.1"), "--loss"),
        (("--loss", "nan"), "--loss"),
        (("--budget", "63"), "--budget"),
        (("--budget", "128", "--budget", "0"), "--budget"),
        (("--budget", "100001"), "--budget"),
        (("--memory", "openai/agent", "--loss", "0.5"), "--loss"),
        (("--model", "gpt-oops"), "gpt-oops"),
        (("--memory", "gpt-oops"), "gpt-oops"),
        (("--judge", "gpt-oops"), "gpt-oops"),
        (("--model", "openai/agent", "--max-cost", "1"), "--max-cost"),
        (("--judge", "openai/judge", "--max-cost", "1"), "--max-cost"),
    ],
)
def test_an_option_that_cannot_be_is_named(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path, options: tuple[str, ...], named: str
) -> None:
    out = tmp_path / "out"
    assert named in refusal(acc_ace(*decay_args(out, *options)))
    assert not out.exists()
    assert endpoint.count("agent") == endpoint.count("judge") == 0


@pytest.mark.parametrize("options", [("--turns", "0"), ("--count", "0"), ("--seed", "-1")])
def test_a_number_that_cannot_be_is_named(
    acc_ace: CommandLine, tmp_path: Path, options: tuple[str, str]
) -> None:
    ended = acc_ace(*decay_args(tmp_path / "out", *options))
    assert ended.code == 2
    assert options[0] in ended.err
    assert not (tmp_path / "out").exists()


def test_a_folder_of_another_plan_is_left_alone_and_what_differs_is_named(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    out = planned(acc_ace, tmp_path)
    before = contents(out)
    for options, differing in (
        (("--seed", "1"), "(seed, data)"),
        (("--turns", "13"), "(data)"),
        (("--loss", "0.5"), "(losses)"),
        (("--budget", "128"), "(budgets)"),
        (("--contender", "window"), "(contenders)"),
        (("--model", "openai/agent"), "(model)"),
    ):
        line = refusal(acc_ace(*decay_args(out, *PLAIN, *options)))
        assert "--out" in line
        assert str(out) in line
        assert differing in line
        assert contents(out) == before
    assert endpoint.count("agent") == 0


def planned(acc_ace: CommandLine, tmp_path: Path) -> Path:
    """A folder whose run has its plan alone: it could not be played for want of money."""
    out = tmp_path / "out"
    acc_ace(*decay_args(out, *PLAIN, "--max-cost", "0"))
    assert (out / "run.json").is_file()
    return out


def test_a_run_of_another_set_or_of_other_data_is_refused(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    out, file = planned(acc_ace, tmp_path), jsonl(tmp_path / "m.jsonl", multichallenge_row())
    line = refusal(acc_ace(*sets_args("multichallenge", file, out, *PLAIN)))
    assert "suite" in line
    other = tmp_path / "other"
    acc_ace(*sets_args("multichallenge", file, other, *PLAIN, "--max-cost", "0"))
    jsonl(file, multichallenge_row("q2"))
    line = refusal(acc_ace(*sets_args("multichallenge", file, other, *PLAIN)))
    assert "data" in line
    assert "suite" not in line


def test_a_folder_of_another_kind_of_run_is_left_alone(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    open_folder(out, TrialPlan(contenders=("plain",)))
    before = contents(out)
    line = refusal(acc_ace(*decay_args(out, *PLAIN)))
    assert "--out" in line
    assert str(out) in line
    assert contents(out) == before


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (json.dumps({"format": 99}), "99"),
        ('{"contenders": ["plain"], "att', "run.json"),
        ("", "run.json"),
        ("[1]", "None"),
        (json.dumps({"format": 1, "suite": "decay", "losses": "all"}), "run.json"),
    ],
    ids=("format-99", "torn", "empty", "no-table", "other-value"),
)
def test_a_plan_of_another_version_or_that_cannot_be_read_is_named_and_left_alone(
    acc_ace: CommandLine, tmp_path: Path, text: str, named: str
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "run.json").write_text(text, encoding="utf-8")
    line = refusal(acc_ace(*decay_args(out, *PLAIN)))
    assert "--out" in line
    assert named in line
    assert contents(out) == {out / "run.json": text.encode()}


def test_a_folder_of_something_else_and_a_file_are_left_alone(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine", encoding="utf-8")
    for place in (out, out / "thesis.txt"):
        line = refusal(acc_ace(*decay_args(place, *PLAIN)))
        assert "--out" in line
        assert str(place) in line
    assert contents(out) == {out / "thesis.txt": b"mine"}


def test_a_dry_run_refuses_what_cannot_be_played(acc_ace: CommandLine, tmp_path: Path) -> None:
    file = locomo_file(tmp_path / "l.json")
    options = ("--contender", "nobody", "--dry-run")
    assert "nobody" in refusal(acc_ace(*sets_args("locomo", file, None, *options)))
    assert "nobody" in refusal(acc_ace(*decay_args(None, *options)))


def test_verdicts_that_cannot_be_read_are_named_and_left_alone(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    decayed(acc_ace, out, *PLAIN)
    (out / "judged.jsonl").write_text('{"mood": 3}\n', encoding="utf-8")
    line = refusal(acc_ace(*decay_args(out, *PLAIN, "--judge", "openai/judge")))
    assert str(out / "judged.jsonl") in line
    assert (out / "judged.jsonl").read_text(encoding="utf-8") == '{"mood": 3}\n'
    assert endpoint.count("judge") == 0


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['inspect_ai'] = None\nfrom acc_ace.cli.app import main\nmain()"
    ended = subprocess.run(  # noqa: S603 - our own interpreter on our own text
        [sys.executable, "-c", code, "eval", "decay", "--out", str(tmp_path / "out")],
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

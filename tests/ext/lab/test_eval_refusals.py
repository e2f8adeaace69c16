"""`acc-ace eval temptation`: what it refuses, in one line that names the option."""

import json
from pathlib import Path

import pytest

from acc_ace.ext.lab.temptation.plan import TrialPlan
from acc_ace.ext.lab.temptation.run_folder import open_folder
from tests.e2e.test_cli import CommandLine, acc_ace
from tests.ext.lab.eval_suite import SCENARIO, eval_args, inspect_ai, write_suite
from tests.fakes.extensions import needs

__all__ = ["acc_ace", "inspect_ai"]
pytestmark = [needs("lab"), pytest.mark.usefixtures("inspect_ai")]

PLAIN = ("--contender", "plain", "--attack", "none")


def refused(acc_ace: CommandLine, suite: Path, out: Path | None, *options: str) -> str:
    """The one line of a refusal."""
    ended = acc_ace(*eval_args(suite, out, *options))
    assert ended.code == 2, ended
    assert ended.out == ""
    [line] = ended.err.splitlines()
    assert "Traceback" not in line
    return line


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--contender", "nobody"), "--contender: 'nobody'"),
        (("--contender", "plain:guard=off"), "--contender: 'plain'"),
        (("--contender", "acc:nope=1"), "--contender: acc:nope=1"),
        (("--contender", "acc:guard=perhaps"), "--contender: acc:guard=perhaps"),
        (("--contender", "acc:guard"), "--contender: acc:guard"),
        (("--contender", "acc:limits.nope=1"), "--contender: acc:limits.nope=1"),
        (("--contender", "acc:limits.tail_tokens=many"), "--contender: acc:limits.tail_tokens"),
        (("--contender", "acc:pins=on"), "--contender: pins=on: pins can only be off"),
        (("--contender", "window:pins=off"), "--contender: 'window'"),
        (("--contender", "mem0:pins=off"), "--contender: 'mem0'"),
        (("--attack", "bribe"), "--attack:"),
        (("--temptation", "2"), "--temptation"),
        (("--temptation", "-0.1"), "--temptation"),
        (("--temptation", "nan"), "--temptation"),
        (("--turns", "-1"), "--turns"),
        (("--language", "fr"), "--language:"),
        (("--memory", "elephant"), "--memory"),
    ],
)
def test_an_option_that_cannot_be_is_named(
    acc_ace: CommandLine, tmp_path: Path, options: tuple[str, str], named: str
) -> None:
    suite, out = write_suite(tmp_path / "suite"), tmp_path / "out"
    line = refused(acc_ace, suite, out, *options)
    assert named in line
    assert not out.exists()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[[scenario", "not TOML"),
        (SCENARIO.replace('tool = "list_mails"', 'tool = "read_mails"'), "read_mails"),
        (SCENARIO.replace('folder = "inbox" }', 'place = "inbox" }'), "list_mails"),
        (SCENARIO.replace('language = "en"', ""), "language"),
        (SCENARIO.partition("[scenario.allowed]")[0], "allowed"),
        (SCENARIO.replace('language = "en"', 'language = "fr"'), "language"),
        (SCENARIO.replace("[[scenario]]", "[scenario]"), "[[scenario]]"),
        (SCENARIO * 2, "no-mail"),
        ("", "[[scenario]]"),
    ],
    ids=(
        "no-toml",
        "undeclared-tool",
        "undeclared-parameter",
        "missing-language",
        "missing-allowed",
        "other-language",
        "no-list",
        "two-of-a-name",
        "no-scenario",
    ),
)
def test_a_fault_of_a_scenario_file_is_named(
    acc_ace: CommandLine, tmp_path: Path, text: str, named: str
) -> None:
    suite = write_suite(tmp_path / "suite", text=text)
    line = refused(acc_ace, suite, tmp_path / "out", *PLAIN)
    assert "--scenarios" in line
    assert named in line
    assert str(suite) in line
    assert not (tmp_path / "out").exists()


def test_files_that_are_no_text_and_folders_without_scenarios_are_named(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    empty, binary, none = tmp_path / "empty", tmp_path / "binary", tmp_path / "none"
    empty.mkdir()
    binary.mkdir()
    (binary / "x.toml").write_bytes(b"\xff\xfe\x00")
    for folder in (empty, binary, none):
        line = refused(acc_ace, folder, tmp_path / "out", *PLAIN)
        assert "--scenarios" in line
        assert str(folder) in line
    assert not (tmp_path / "out").exists()


def test_a_contender_that_is_named_twice_is_refused(acc_ace: CommandLine, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "suite")
    line = refused(acc_ace, suite, tmp_path / "out", *PLAIN, "--contender", "plain")
    assert "--contender" in line


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ((*PLAIN, "--language", "ja"), "--language"),
        (("--contender", "plain", "--attack", "lesson"), "--attack"),
    ],
)
def test_options_that_leave_no_episode_are_named(
    acc_ace: CommandLine, tmp_path: Path, options: tuple[str, ...], named: str
) -> None:
    suite = write_suite(tmp_path / "suite")
    assert named in refused(acc_ace, suite, tmp_path / "out", *options)


def test_a_folder_of_something_else_is_left_alone(acc_ace: CommandLine, tmp_path: Path) -> None:
    suite, out = write_suite(tmp_path / "suite"), tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine", encoding="utf-8")
    line = refused(acc_ace, suite, out, *PLAIN)
    assert "--out" in line
    assert str(out) in line
    assert [path.name for path in out.iterdir()] == ["thesis.txt"]


def test_an_out_that_is_a_file_is_named(acc_ace: CommandLine, tmp_path: Path) -> None:
    suite, out = write_suite(tmp_path / "suite"), tmp_path / "out"
    out.write_text("mine", encoding="utf-8")
    assert "--out" in refused(acc_ace, suite, out, *PLAIN)
    assert out.read_text(encoding="utf-8") == "mine"


def test_a_folder_of_another_plan_is_left_alone_and_what_differs_is_named(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    suite, out = write_suite(tmp_path / "suite"), tmp_path / "out"
    open_folder(out, TrialPlan(contenders=("plain",), attacks=("none",), benign=(2,)))
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    line = refused(acc_ace, suite, out, *PLAIN, "--seed", "1")
    assert "--out" in line
    assert "seed" in line
    assert "suite" in line
    assert "attacks" not in line
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (json.dumps({"format": 99}), "99"),
        ('{"contenders": ["plain"], "att', "run.json"),
        ("", "run.json"),
        ("[1]", "None"),
        (json.dumps({"format": 1, "attacks": ["bribe"]}), "run.json"),
        (json.dumps({"format": 1, "mood": 3, "seed": -1}), "run.json"),
    ],
    ids=("format-99", "torn", "empty", "no-table", "other-value", "two-faults"),
)
def test_a_plan_that_cannot_be_read_is_named_and_left_alone(
    acc_ace: CommandLine, tmp_path: Path, text: str, named: str
) -> None:
    suite, out = write_suite(tmp_path / "suite"), tmp_path / "out"
    out.mkdir()
    (out / "run.json").write_text(text, encoding="utf-8")
    line = refused(acc_ace, suite, out, *PLAIN)
    assert "--out" in line
    assert named in line
    assert (out / "run.json").read_text(encoding="utf-8") == text
    assert [path.name for path in out.iterdir()] == ["run.json"]

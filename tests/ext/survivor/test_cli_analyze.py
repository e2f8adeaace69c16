"""`acc-ace analyze`: a saved run as a table and as JSON, also of two runs."""

import json
from pathlib import Path

import pytest

from acc_ace.ext.survivor.survival import Alert, LogEntry, Plan, PlaybookChange, Scoreboard
from tests.e2e.test_cli import CommandLine
from tests.ext.survivor.survivor_run import save_run, step, tick

HOSTILE = "<script>alert('x')</script>\x1b[31m\u202e"


@pytest.fixture
def acc_ace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> CommandLine:
    return CommandLine(monkeypatch, capsys, tmp_path / "data")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    hurt = step(danger=0.9, life=-6, cause="cone")
    alert = LogEntry(log="alert", about="cone", text="Never use it.")
    return save_run(
        tmp_path / "run.jsonl",
        tick(1, steps=(step(), step(), step(), step()), step=4),
        tick(2, steps=(step(danger=0.9), hurt), step=6, died_of="cone", over=True),
        tick(1, episode=2, step=6, logs=(alert,), cells_seen=3, scoreboard=Scoreboard(score=8.0)),
    )


def test_people_see_a_table(acc_ace: CommandLine, run: Path) -> None:
    shown = acc_ace("analyze", str(run))
    assert shown.code == 0
    for line in (
        "run             run-1, seed 7, embedded/policy",
        "survival        2 episodes, mean 1.5 ticks (6.0 steps), best 2 (6)",
        "ended by        cone 1, (alive) 1",
        "dangers         1 predicted, 0% without damage; 0 steps with damage that was not",
        "fear AUC        0.833 over 6 windows",
        "life lost to    cone 6",
        "alert log       0% of harms foretold; accuracy -: unmet 1",
        "policy          0.0 moves of the threshold in 100 ticks, 0 meta notes, 0.0      ",
        "model calls     2.00 a tick, 3,000 tokens; cost unknown",
        "Life 1: learned nothing new, lived 2 ticks, died of cone",
    ):
        assert line in shown.out


def test_programs_get_json(acc_ace: CommandLine, run: Path) -> None:
    [measured] = acc_ace("analyze", str(run), "--json").turns
    assert measured["mean_steps"] == 6.0
    assert measured["deaths"] == {"cone": 1, "(alive)": 1}
    assert [life["episode"] for life in measured["newest"]] == [1, 2]


def test_two_runs_are_shown_side_by_side_with_their_differences(
    acc_ace: CommandLine, run: Path, tmp_path: Path
) -> None:
    other = save_run(tmp_path / "other.jsonl", tick(1, step=4, died_of="wolf", over=True))
    shown = acc_ace("analyze", str(run), str(other)).out
    assert "█▄  ticks lived: 2, 1\n█  ticks lived: 1\n" in shown
    rows = {line[:25].strip(): line[25:].split() for line in shown.splitlines()[3:]}
    assert rows["mean ticks"] == ["1.5", "1.0", "-0.5"]
    assert rows["deaths: cone"] == ["1", "0", "-1"]
    assert rows["deaths: wolf"] == ["0", "1", "+1"]
    assert rows["harms: cone"] == ["6", "0", "-6"]
    assert rows["fear auc"] == ["0.833", "-", "-"]
    [both] = acc_ace("analyze", str(run), str(other), "--json").turns
    alone = acc_ace("analyze", str(run), "--json").turns
    assert both["runs"][0] == alone[0]
    assert both["differences"]["episodes"] == -1
    assert both["differences"]["fear_auc"] is None


def test_words_of_a_world_or_a_model_are_text_everywhere(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    file = save_run(
        tmp_path / "run.jsonl",
        tick(
            run=HOSTILE,
            model=HOSTILE,
            steps=(step(cause=HOSTILE, life=-1),),
            logs=(LogEntry(log="alert", about=HOSTILE, text=HOSTILE),),
            playbook=(PlaybookChange(type="ADD", section=HOSTILE, outcome=HOSTILE),),
            scoreboard=Scoreboard(external={HOSTILE: 1.0}),
            died_of=HOSTILE,
            view=(HOSTILE,),
            legend={HOSTILE: HOSTILE},
            alerts=(Alert(kind="threshold", text=HOSTILE),),
            plan=Plan(objective=HOSTILE, reflection=HOSTILE, actions=()),
        ),
    )
    for files in ([file], [file, file]):
        shown = acc_ace("analyze", *map(str, files))
        assert shown.code == 0
        assert "alert('x')" in shown.out
        assert "\x1b" not in shown.out
        assert "\u202e" not in shown.out


def test_torn_lines_are_reported_and_left_out(
    acc_ace: CommandLine, run: Path, tmp_path: Path
) -> None:
    lines = run.read_text(encoding="utf-8").splitlines(keepends=True)
    run.write_text("".join(["nothing\n" * 20, *lines[:2], lines[2][:50]]), encoding="utf-8")
    shown = acc_ace("analyze", str(run), "--json")
    assert shown.code == 0
    assert shown.turns[0]["ticks"] == 2
    assert f"! {run}, line 1 is torn; it is left out" in shown.err
    assert "! 21 lines left out in all" in shown.err
    assert shown.err.count("\n") == 13


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "cannot be read: No such file or directory"),
        ("", "holds no tick of a survivor's run"),
        (json.dumps({"version": 99}), "is a snapshot of version 99; this program reads version 1"),
    ],
)
def test_what_is_no_run_is_said(
    acc_ace: CommandLine, tmp_path: Path, text: str | None, problem: str
) -> None:
    file = tmp_path / "run.jsonl"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    ended = acc_ace("analyze", str(file))
    assert ended.code == 2
    assert problem in ended.err
    assert "Traceback" not in ended.err

"""`acc-ace analyze`: a saved run as a table, as JSON and as a page."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from acc_ace.ext.survivor.survival import Alert, LogEntry, Plan, PlaybookChange, Scoreboard
from tests.e2e.test_cli import CommandLine
from tests.ext.survivor.survivor_run import save_run, step, tick

DANGER = Alert(kind="lethal_risk", text="A wolf is near.")
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
        "alert log       accuracy 100%: harmful 1",
    ):
        assert line in shown.out


def test_programs_get_json(acc_ace: CommandLine, run: Path) -> None:
    [measured] = acc_ace("analyze", str(run), "--json").turns
    assert measured["mean_steps"] == 6.0
    assert measured["deaths"] == {"cone": 1, "(alive)": 1}
    assert [life["episode"] for life in measured["newest"]] == [1, 2]


def test_the_page_stands_alone(acc_ace: CommandLine, run: Path, tmp_path: Path) -> None:
    page = tmp_path / "run.html"
    assert acc_ace("analyze", str(run), "--html", str(page)).code == 0
    text = page.read_text(encoding="utf-8")
    assert "Fear: P(damage within three steps), by tick" in text
    assert text.count("<polyline") == 6
    assert re.findall(r"https?:|src=|href=|url\(|@import", text) == []
    again = acc_ace("analyze", str(run), "--html", str(page))
    assert again.code == 2
    assert f"--html {page} cannot be written: File exists" in again.err


def test_the_page_shows_the_newest_ticks_one_by_one(acc_ace: CommandLine, tmp_path: Path) -> None:
    lived = [tick(number, view=("...", ".@c", "...")) for number in range(1, 252)]
    last = tick(252, steps=(step("use cone", life=-6),), alerts=(DANGER,), path=((1, 2), (3, 4)))
    page = tmp_path / "run.html"
    run = save_run(tmp_path / "run.jsonl", *lived, last)
    assert acc_ace("analyze", str(run), "--html", str(page)).code == 0
    text = page.read_text(encoding="utf-8")
    shown = re.findall(r"<summary>episode 1, tick (\d+) ", text)
    assert shown == [str(number) for number in range(53, 253)]
    assert "<pre>...\n.@c\n...</pre><p><b>aim</b> drink</p>" in text
    assert "<p><b>alerts</b> A wolf is near.</p>" in text
    assert "<p><b>steps</b> use cone</p>" in text
    assert text.count("<details") == text.count('name="tick"') == 200
    assert 'points="4.5,3.5 ' in text
    assert ' 2.5,1.5 4.5,3.5"/>' in text


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)


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
    page = tmp_path / "run.html"
    shown = acc_ace("analyze", str(file), "--html", str(page))
    assert shown.code == 0
    assert "\x1b" not in shown.out
    assert "\u202e" not in shown.out
    tags = _Tags()
    text = page.read_text(encoding="utf-8")
    assert "\u202e" not in text.partition("<h2>Path")[2]
    tags.feed(text)
    assert "script" not in tags.found
    assert {"table", "svg", "polyline", "rect"} <= tags.found


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

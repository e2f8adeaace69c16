"""`acc-ace survive`: a few ticks of the real loop over the embedded models."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.core.schemas.base import SessionKey
from acc_ace.ext.survivor.recent_ticks import runs_folder
from acc_ace.hooks import how_to_install
from tests.e2e.processes import BIN, ROOT, environment
from tests.e2e.test_cli import CommandLine
from tests.ext.survivor.survivor_run import save_run, tick

PRICES = """
as_of = 2026-01-31
[models."embedded/*"]
input = 100.0
output = 1000.0
"""


@pytest.fixture
def acc_ace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> CommandLine:
    monkeypatch.setenv("ACC_ACE_DATA_DIR", str(tmp_path / "data"))
    return CommandLine(monkeypatch, capsys, tmp_path / "data")


@pytest.fixture
def priced(acc_ace: CommandLine, tmp_path: Path) -> CommandLine:
    file = tmp_path / "prices.toml"
    file.write_text(PRICES, encoding="utf-8")
    acc_ace.set("ACC_ACE_PRICES", str(file))
    return acc_ace


def test_episodes_are_lived_shown_saved_and_summed_up(acc_ace: CommandLine) -> None:
    ended = acc_ace("survive", "--episodes", "2", "--ticks", "2", "--seed", "3")
    assert ended.code == 0
    assert "episode 1, tick 1 (step " in ended.err
    assert "episode 2, tick 1 (step " in ended.err
    assert "survival        2 episodes, mean 2.0 ticks" in ended.out
    for told in (ended.err, ended.out):
        assert "Life 1: learned " in told
        assert "Life 2: learned " in told
    assert ended.out.startswith("██  ticks lived: 2, 2\n")
    run = runs_folder(acc_ace.data) / "run-3.jsonl"
    assert f"saved in {run}" in ended.out
    assert "cost" not in ended.err
    again = acc_ace("analyze", str(run), "--json").turns[0]
    assert (again["episodes"], again["ticks"], again["model"]) == (2, 4, "embedded/policy")


def test_the_next_run_of_a_seed_goes_on_in_the_same_file(acc_ace: CommandLine) -> None:
    for _ in range(2):
        assert acc_ace("survive", "--episodes", "1", "--ticks", "1", "--quiet").code == 0
    run = runs_folder(acc_ace.data) / "run-0.jsonl"
    assert [
        life["episode"] for life in acc_ace("analyze", str(run), "--json").turns[0]["newest"]
    ] == [
        1,
        2,
    ]


def test_programs_get_json_and_files(acc_ace: CommandLine, tmp_path: Path) -> None:
    run, report = tmp_path / "run.jsonl", tmp_path / "report.json"
    files = ("--save-run", str(run), "--save-report", str(report))
    ended = acc_ace("survive", "--episodes", "1", "--ticks", "2", "--json", "--quiet", *files)
    assert ended.err == ""
    [measured] = ended.turns
    assert measured["ticks"] == 2
    assert json.loads(report.read_text(encoding="utf-8")) == measured
    assert len(run.read_text(encoding="utf-8").splitlines()) == 2
    assert not runs_folder(acc_ace.data).exists()
    again = acc_ace("survive", *files)
    assert again.code == 2
    assert f"--save-report {report} cannot be written: File exists" in again.err


def test_the_playbook_of_a_run_is_kept_as_files_unless_settings_say_otherwise(
    acc_ace: CommandLine,
) -> None:
    live = ("survive", "--episodes", "1", "--ticks", "20", "--quiet", "--seed")
    assert acc_ace(*live, "5").code == 0
    files = acc_ace.data / "playbook"
    current = json.loads((files / "current" / "survivor+run-5" / "playbook.json").read_bytes())
    assert current["bullets"]
    assert list((files / "deltas" / "survivor+run-5").glob("*.jsonl"))
    acc_ace.set("ACC_ACE_PLAYBOOK_FILES", "false")
    assert acc_ace(*live, "6").code == 0
    assert [folder.name for folder in (files / "current").iterdir()] == ["survivor+run-5"]


async def _rules(data: Path, key: SessionKey) -> list[str]:
    container = build_container(Settings(data_dir=data))
    try:
        head = await container.journal.head(key)
        return [pin.text for pin in head.state.pins] if head else []
    finally:
        await container.close()


def test_rules_of_the_command_bind_the_whole_run(acc_ace: CommandLine) -> None:
    rule = "Never use a torus."
    assert (
        acc_ace("survive", "--episodes", "1", "--ticks", "1", "--quiet", "--rule", rule).code == 0
    )
    rules = asyncio.run(_rules(acc_ace.data, SessionKey("survivor", "run-0", "run-0-1")))
    assert rules == ["Never move onto lava.", rule]


def test_a_paid_model_is_priced_before_and_stopped_at_the_ceiling(priced: CommandLine) -> None:
    ended = priced(
        "survive", "--episodes", "1", "--ticks", "50", "--max-cost", "0.5", "--json", "--quiet"
    )
    assert ended.code == 0
    assert "1 × 50 ticks cost about $" in ended.err
    assert "by the prices of 2026-01-31" in ended.err
    assert "spent, --max-cost is $0.5" in ended.err
    assert ended.turns[0]["ticks"] < 5


def test_a_ceiling_that_cannot_be_kept_is_refused(acc_ace: CommandLine) -> None:
    ended = acc_ace("survive", "--model", "openai/some", "--max-cost", "1")
    assert ended.code == 2
    assert "--max-cost cannot be kept: the price of openai/some is unknown" in ended.err


def test_an_unknown_model_is_named(acc_ace: CommandLine) -> None:
    ended = acc_ace("survive", "--model", "nonsense")
    assert ended.code == 2
    assert "unknown model name 'nonsense'" in ended.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_ends_the_saving_and_not_the_run(acc_ace: CommandLine) -> None:
    ended = acc_ace(
        "survive", "--episodes", "1", "--ticks", "2", "--quiet", "--save-run", "/dev/full"
    )
    assert ended.code == 0
    assert "/dev/full cannot be written: No space left on device" in ended.err
    assert ended.err.count("cannot be written") == 1
    assert "mean 2.0 ticks" in ended.out
    assert "saved in /dev/full in part" in ended.out


def test_old_runs_go_when_there_are_too_many(acc_ace: CommandLine) -> None:
    folder = runs_folder(acc_ace.data)
    folder.mkdir(parents=True)
    for at in range(25):
        os.utime(save_run(folder / f"run-{at + 100}.jsonl", tick(1)), (at, at))
    assert acc_ace("survive", "--episodes", "1", "--ticks", "1", "--quiet").code == 0
    kept = {path.stem for path in folder.iterdir()}
    assert kept == {"run-0", *(f"run-{at + 100}" for at in range(6, 25))}


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    code = "import sys; sys.modules['gymnasium'] = None\nfrom acc_ace.cli.app import main\nmain()"
    ended = subprocess.run(  # noqa: S603 - our own interpreter on our own text
        [sys.executable, "-c", code, "survive"],
        env=environment(tmp_path),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    needs = f"the survivor needs gymnasium; {how_to_install('survivor')}"
    assert ended.stderr == f"error (invalid_settings): {needs}\n"


IN_BACKGROUND = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
"""What a script does to a command that it starts with `&`: it ignores Ctrl-C."""


@pytest.mark.parametrize(
    ("shell", "sent", "code"),
    [((), signal.SIGINT, 130), ((), signal.SIGTERM, 143), (IN_BACKGROUND, signal.SIGTERM, 143)],
)
def test_an_interrupted_run_is_saved(
    tmp_path: Path, shell: tuple[str, ...], sent: signal.Signals, code: int
) -> None:
    report, run = tmp_path / "report.json", runs_folder(tmp_path / "data") / "run-0.jsonl"
    running = subprocess.Popen(  # noqa: S603 - our own command
        [
            *(
                *shell,
                str(BIN / "acc-ace"),
                "survive",
                "--episodes",
                "1",
                "--ticks",
                "100000",
                "--tick-delay",
                "60",
            ),
            *("--save-report", str(report)),
        ],
        env=environment(tmp_path / "data"),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stderr is not None
    assert running.stderr.readline().startswith("episode 1, tick 1 (step ")
    running.send_signal(sent)
    said, problems = running.communicate(timeout=60)
    assert running.returncode == code
    assert "interrupted; the tick that was running is undone" in problems
    assert "Traceback" not in problems
    assert f"saved in {run}" in said
    assert json.loads(report.read_text(encoding="utf-8"))["ticks"] == 1


@pytest.mark.parametrize("script", ["run_sim.py", "analyze_snapshots.py"])
def test_the_scripts_are_the_same_commands(script: str, tmp_path: Path) -> None:
    ended = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, f"scripts/{script}", "--help"],
        env=environment(tmp_path),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert {"run_sim.py": "--tick-delay", "analyze_snapshots.py": "OTHER.jsonl"}[
        script
    ] in ended.stdout


def test_a_world_of_another_seed_knows_nothing_of_the_first(acc_ace: CommandLine) -> None:
    for seed in ("1", "2"):
        ended = acc_ace("survive", "--episodes", "1", "--seed", seed, "--ticks", "20", "--quiet")
        assert ended.code == 0
    lived = {
        seed: [
            json.loads(line)
            for line in (runs_folder(acc_ace.data) / f"run-{seed}.jsonl").read_text().splitlines()
        ]
        for seed in (1, 2)
    }
    assert lived[1][-1]["playbook_version"] > 0
    assert lived[2][0]["plan"]["bullet_ids"] == []


@pytest.mark.soak
def test_adk_runs_the_survivor_who_tells_about_its_newest_run(
    acc_ace: CommandLine,
) -> None:
    assert acc_ace("survive", "--episodes", "1", "--ticks", "1", "--quiet").code == 0
    ended = subprocess.run(  # noqa: S603 - ADK's own command
        [str(BIN / "adk"), "run", "--session_service_uri=accace://", "agents/survivor"],
        cwd=ROOT,
        env=environment(acc_ace.data),
        input="What did you do in tick 1?\nexit\n",
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert '- "In tick 1 of episode 1 I chose to ' in ended.stdout, ended.stderr

"""`acc-ace playground`: lives with experiments between them, and what a person decides of them."""

import json
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from acc_ace.ext.sandbox.box import Box, Ran
from acc_ace.ext.sandbox.experiments import HARMS
from acc_ace.ext.sandbox.playground import Playground
from acc_ace.ext.survivor.cli import survive
from acc_ace.ext.survivor.recent_ticks import runs_folder
from tests.e2e.processes import BIN, ROOT, environment
from tests.e2e.test_cli import CommandLine
from tests.ext.sandbox.bubblewrap import require_bubblewrap
from tests.ext.sandbox.fake_claude import FORKS, fake_claude
from tests.ext.sandbox.test_claude_cli import is_alive

THINKS = """
import json, sys
request = json.load(sys.stdin)
with open(NOTED, "a") as notes:
    notes.write(json.dumps(request) + "\\n")
asked = request["schema"]["properties"]
plan = {"objective": "wait", "actions": [{"type": "wait", "target": "", "times": 1}]}
usage = {"input_tokens": 10, "output_tokens": 5}
reply = {"result": json.dumps(PRINTED if "source" in asked else plan), "usage": usage}
print(json.dumps(reply | {"total_cost_usd": 0.001}))
"""
"""A thinker that waits, and proposes what the test says."""


@pytest.fixture
def acc_ace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> CommandLine:
    require_bubblewrap()
    monkeypatch.setenv("ACC_ACE_PLAYGROUND__COMMAND", "bwrap")
    monkeypatch.setattr(survive, "LIVE_DELAY", 0.0)
    return CommandLine(monkeypatch, capsys, tmp_path / "data")


def thinks(acc_ace: CommandLine, folder: Path, proposal: object) -> Path:
    """Let the Claude Code CLI of the test think; returns where it notes what it was told."""
    acc_ace.set("ACC_ACE_CLAUDE_CLI__COMMAND", str(fake_claude(folder, THINKS, proposal)))
    acc_ace.set("ACC_ACE_GENERATOR__MODEL", "claude-cli/sonnet")
    return folder / "noted"


def test_it_is_off_until_it_is_set_up_and_no_life_is_lived(acc_ace: CommandLine) -> None:
    acc_ace.set("ACC_ACE_PLAYGROUND__COMMAND", "")
    for command in (("live",), ("run", "harms.py")):
        ended = acc_ace("playground", *command)
        assert (ended.code, ended.out) == (2, "")
        assert "the playground is off: set ACC_ACE_PLAYGROUND__COMMAND=bwrap" in ended.err
    assert not runs_folder(acc_ace.data).exists()
    assert acc_ace("playground", "list").out.startswith("no scripts in ")


def test_lives_experiments_and_a_grant_without_a_key(acc_ace: CommandLine) -> None:
    lived = acc_ace("playground", "live", "--episodes", "2", "--ticks", "12", "--seed", "0")
    assert lived.code == 0, lived.err
    assert "Life 1: " in lived.err
    assert "Life 2: " in lived.err
    assert "harms.py: " in lived.out
    assert " harmed " in lived.out
    assert (acc_ace.data / "playground" / "harms.py").read_text("utf-8") == HARMS
    shown = acc_ace("playground", "list").out
    assert "harms.py [asks to be promoted, 2 runs] what harmed in the last life" in shown
    granted = acc_ace("playground", "promote", "harms.py")
    assert granted.code == 0
    assert (acc_ace.data / "promoted" / "harms.py").read_text("utf-8") == HARMS
    again = acc_ace("playground", "run", "harms.py", "--seed", "0")
    assert again.code == 0
    assert again.out.strip() in lived.out.replace("  harms.py: ", "")
    assert "harms.py [promoted, 3 runs]" in acc_ace("playground", "list").out
    assert acc_ace("analyze", str(runs_folder(acc_ace.data) / "run-0.jsonl"), "--json").code == 0


def test_what_a_models_script_found_is_shown_to_the_next_life_as_a_tools_words(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    source = "import json, sys\nprint('lived', len(json.load(sys.stdin)), 'ticks')"
    proposal = {"name": "count.py", "purpose": "to count", "source": source, "promote": ""}
    noted = thinks(acc_ace, tmp_path, proposal)
    lived = acc_ace("playground", "live", "--episodes", "2", "--ticks", "2")
    assert lived.code == 0, lived.err
    assert lived.out.count("count.py: lived 2 ticks") == 2
    requests = [json.loads(line) for line in noted.read_text("utf-8").splitlines()]
    plans = [str(each["messages"]) for each in requests if "objective" in str(each["schema"])]
    held = "playground: episode 1: lived 2 ticks"
    assert [held in plan for plan in plans] == [False, False, True, True]
    proposals = [
        str(each["messages"]) for each in requests if "source" in each["schema"]["properties"]
    ]
    assert ["count.py" in text for text in proposals] == [False, True]


@pytest.mark.parametrize(
    ("proposal", "reported"),
    [
        ({"name": "spy.py", "source": "import os"}, "spy.py: refused: it reaches for os"),
        ({"name": "spy.py", "source": f"import x{'y' * 400}"}, f"for x{'y' * 284}\n"),
        ({"name": "../spy.py", "source": "print(1)"}, "../spy.py: refused: a script is named"),
        ({"name": "big.py", "source": "#" * 20_000}, "big.py: refused: "),
        ({"name": "rot.py", "source": "1 / 0"}, "rot.py: exit code 1: "),
        ({"name": "cone.py", "source": "print('\x1b[2Jred')"}, "cone.py: "),
        ({"purpose": "no script"}, "Life 1: learned"),
    ],
)
def test_a_bad_proposal_is_reported_and_the_run_goes_on(
    acc_ace: CommandLine, tmp_path: Path, proposal: object, reported: str
) -> None:
    thinks(acc_ace, tmp_path, proposal)
    lived = acc_ace("playground", "live", "--episodes", "2", "--ticks", "1")
    assert lived.code == 0, lived.err
    assert reported in lived.out + lived.err
    assert "Life 2: learned nothing new, lived 1 tick," in lived.err
    assert "\x1b" not in lived.out
    assert not (acc_ace.data / "spy.py").exists()


def test_a_script_that_breaks_a_rule_in_force_is_not_run(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    lived = acc_ace("playground", "live", "--ticks", "1", "--rule", "Never run scripts.")
    assert lived.code == 0, lived.err
    assert "harms.py: refused: it would break 'Never run scripts.'" in lived.out
    refused = acc_ace("playground", "promote", "harms.py")
    assert (refused.code, refused.out) == (2, "")
    assert "no run of it has ended well" in refused.err
    assert "harms.py may go (refused: it would break" in acc_ace("playground", "list").out


def test_a_promoted_script_that_the_model_rewrites_is_to_be_granted_again(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    first = {"name": "count.py", "source": "print(1)", "promote": "useful"}
    thinks(acc_ace, tmp_path, first)
    acc_ace("playground", "live", "--ticks", "1")
    acc_ace("playground", "promote", "count.py")
    thinks(acc_ace, tmp_path, {**first, "source": "print(2)"})
    assert "count.py: 2" in acc_ace("playground", "live", "--ticks", "1").out
    assert "count.py [asks to be promoted, 1 runs]" in acc_ace("playground", "list").out
    assert (acc_ace.data / "promoted" / "count.py").read_text("utf-8") == "print(1)"


def promoted(acc_ace: CommandLine, folder: Path) -> Path:
    """A script that a person has promoted."""
    thinks(acc_ace, folder, {"name": "one.py", "source": "print(1)", "promote": "useful"})
    acc_ace("playground", "live", "--ticks", "1")
    shown = acc_ace("playground", "promote", "one.py")
    assert shown.out.startswith("print(1)\npromoted: ")
    return acc_ace.data / "playground" / "one.py"


@pytest.mark.parametrize("source", ["print(3)", "#" * 20_000])
def test_a_promoted_script_that_somebody_edits_does_not_run_and_ends_no_run(
    acc_ace: CommandLine, tmp_path: Path, source: str
) -> None:
    path = promoted(acc_ace, tmp_path)
    path.write_text(source, encoding="utf-8")
    thinks(acc_ace, tmp_path, {"name": "two.py", "source": "print(2)"})
    lived = acc_ace("playground", "live", "--ticks", "1")
    assert lived.code == 0, lived.err
    assert "two.py: 2" in lived.out
    assert "one.py: " not in lived.out
    assert "one.py [asks to be promoted, 1 runs]" in acc_ace("playground", "list").out


def test_a_promoted_script_that_is_edited_while_the_model_thinks_does_not_run(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    path = promoted(acc_ace, tmp_path)
    thinks(acc_ace, tmp_path, {"name": "two.py", "source": "print(2)"})
    claude = tmp_path / "claude"
    claude.write_text(
        f"{claude.read_text('utf-8')}\nopen({str(path)!r}, 'w').write('print(3)')\n", "utf-8"
    )
    assert "one.py: " not in acc_ace("playground", "live", "--ticks", "1").out


def test_a_grant_that_is_given_while_a_script_runs_stays(
    acc_ace: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thinks(acc_ace, tmp_path, {"name": "one.py", "source": "print(1)", "promote": "useful"})
    acc_ace("playground", "live", "--ticks", "1")
    run = Box.run

    async def slowly(box: Box, source: bytes, stdin: bytes = b"") -> Ran:
        ended = await run(box, source, stdin)
        if source == b"print(1)":
            Playground(acc_ace.data).promote("one.py")
        return ended

    monkeypatch.setattr(Box, "run", slowly)
    assert acc_ace("playground", "run", "one.py").out == "1\n"
    assert "one.py [promoted, 2 runs]" in acc_ace("playground", "list").out


def test_a_sandbox_that_goes_away_is_a_failure_that_names_its_setting_and_ends_no_run(
    acc_ace: CommandLine, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    thinks(acc_ace, tmp_path, {"name": "one.py", "source": "print(1)"})
    # Run by root, bubblewrap is nobody's, who sees no folder of pytest's.
    seen_by_all = tempfile.TemporaryDirectory()
    request.addfinalizer(seen_by_all.cleanup)
    Path(seen_by_all.name).chmod(0o755)
    bwrap, claude = Path(seen_by_all.name) / "bwrap", tmp_path / "claude"
    bwrap.symlink_to(shutil.which("bwrap") or "")
    acc_ace.set("ACC_ACE_PLAYGROUND__COMMAND", str(bwrap))
    claude.write_text(
        f"{claude.read_text('utf-8')}\nimport os\nos.path.lexists({str(bwrap)!r}) and "
        f"os.remove({str(bwrap)!r})\n",
        "utf-8",
    )
    lived = acc_ace("playground", "live", "--episodes", "2", "--ticks", "1")
    assert lived.code == 0, lived.err
    assert "bwrap' cannot be run ([Errno 2] No such file or directory; ACC_ACE_PLAY" in lived.out
    assert "Life 2: learned nothing new, lived 1 tick," in lived.err


def test_a_script_that_takes_too_long_is_told_the_setting(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    acc_ace.set("ACC_ACE_PLAYGROUND__SECONDS", "1")
    thinks(acc_ace, tmp_path, {"name": "one.py", "source": "while True: pass"})
    lived = acc_ace("playground", "live", "--ticks", "1").out
    assert "it took more seconds than ACC_ACE_PLAYGROUND__SECONDS allows" in lived


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_told_to_end_leaves_no_process(
    acc_ace: CommandLine, tmp_path: Path, sent: signal.Signals, code: int
) -> None:
    claude = fake_claude(tmp_path, f"{FORKS}time.sleep(600)\n")
    running = subprocess.Popen(  # noqa: S603 - our own command
        [
            str(BIN / "acc-ace"),
            "playground",
            "live",
            "--ticks",
            "3",
            "--model",
            "claude-cli/a",
            "--tick-delay",
            "0",
        ],
        env=environment(
            acc_ace.data,
            ACC_ACE_PLAYGROUND__COMMAND="bwrap",
            ACC_ACE_CLAUDE_CLI__COMMAND=str(claude),
        ),
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while not (tmp_path / "noted").exists() and time.monotonic() < until:
        time.sleep(0.05)
    running.send_signal(sent)
    problems = running.communicate(timeout=60)[1]
    assert running.returncode == code, problems
    assert "Traceback" not in problems
    child = int((tmp_path / "noted").read_text("utf-8"))
    assert not is_alive(child)


def test_a_promoted_script_runs_after_a_life_without_being_proposed(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    thinks(acc_ace, tmp_path, {"name": "one.py", "source": "print(1)", "promote": "useful"})
    acc_ace("playground", "live", "--ticks", "1")
    acc_ace("playground", "promote", "one.py")
    thinks(acc_ace, tmp_path, {"name": "two.py", "source": "print(2)"})
    lived = acc_ace("playground", "live", "--ticks", "1").out
    assert lived.index("one.py: 1") < lived.index("two.py: 2")

"""A stranger's agent with two tools: one line is added, and two commands show its rules."""

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.processes import BIN, ROOT, environment
from tests.fakes.extensions import needs

HOW_TO: Final = ROOT / "docs" / "how-to" / "use-it-in-your-own-agent.md"
RULE: Final = "Never restart db-01 during business hours."
WAIT_S: Final = 90


def blocks(language: str) -> list[str]:
    """The code of the how-to in a language."""
    return re.findall(rf"```{language}\n(.*?)```", HOW_TO.read_text("utf-8"), re.DOTALL)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The project of the how-to, on the engine that needs no key."""
    [agent] = blocks("python")
    (tmp_path / "desk").mkdir()
    own = agent.replace("gemini-3.5-flash", "embedded/rules")
    (tmp_path / "desk" / "agent.py").write_text(own, encoding="utf-8")
    return tmp_path


def run(command: str, project: Path, *lines: str) -> str:
    """What a command of the how-to prints, run in the project's folder."""
    program, *args = command.split()
    env = environment(project / ".acc_ace", COLUMNS="120")
    ended = subprocess.run(  # noqa: S603 - the commands of the how-to
        [str(BIN / program), *args],
        cwd=project,
        env=env,
        input="\n".join([*lines, "exit", ""]),
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@needs("embedded")
def test_the_how_to_adds_one_line_and_shows_the_rules_in_three_commands(project: Path) -> None:
    [agent] = blocks("python")
    added = [line for line in agent.splitlines() if "BoundedMemoryPlugin(" in line]
    assert len(added) == 1
    commands = [line.partition("#")[0].strip() for line in blocks("sh")[1].splitlines()]
    assert len(commands) == 3
    talk, rules, state = commands
    assert "will not do that" in run(talk, project, RULE, "Restart db-01 now.")
    assert RULE in run(rules, project)
    assert "c-0001" in run(state, project)
    assert "test_user" in run("acc-ace sessions --app desk", project)


def test_the_set_up_takes_at_most_ten_lines() -> None:
    before = [line for line in blocks("sh")[0].splitlines() if line.strip()]
    after = [line for line in blocks("sh")[1].splitlines() if line.strip()]
    assert len(before) + 2 + len(after) <= 10  # With the import and the line of the plugin.
    assert any(line.startswith("export GOOGLE_API_KEY=") for line in before)

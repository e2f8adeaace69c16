"""Extensions go with one folder and one line each: the core's suite passes without them all.

Without one, an app answers, and what remains is linted and its tests are collected, but for mypy,
which names what imports the extension: its benches, its door, an extension that builds on it.
"""

import faulthandler
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest

from acc_ace.hooks import EXTENSIONS
from tests.e2e.processes import ROOT, environment

FOLDERS: Final = {path.parent.name for path in ROOT.glob("agents/acc_ace/ext/*/__init__.py")}
NAMES: Final = sorted({*EXTENSIONS, *FOLDERS})
TABLE: Final = Path("agents/acc_ace/hooks.py")
UNLISTED: Final = {"conformance", "strategies"}
"""What an agent or a test suite of one's own imports by name, so that it needs no line."""

APART: Final = ("tests/ext", "tests/durability", "tests/e2e/test_image_context.py")
"""Tests of extensions; those that kill processes, at surfaces which the others ask as well; and one
that reads the index of a git checkout, which a copy has not."""

MOST_S: Final = 1_800
LEAST: Final = 4_500
"""Tests that must have passed, so that skipping them is no way to pass."""

LINT: Final = "from importlinter.cli import lint_imports_command; lint_imports_command()"
CHECKS: Final = (
    ("-m", "ruff", "check", "--no-cache", "."),
    ("-c", LINT, "--no-cache"),
    ("-m", "pytest", "--collect-only", "-q", "--assert=plain", "-p", "no:cacheprovider"),
)
"""What must end well where an extension is gone, in some 20 s; collecting takes most of them."""

TURN: Final = """
import asyncio, acc_ace, acc_ace.plugin
from acc_ace import AccController, build_container
from acc_ace.config import ROLES, Settings
from acc_ace.server.app import create_app
from tests.fakes.scripted_llm import ScriptedLlm

async def turn():
    models = dict.fromkeys(ROLES, ScriptedLlm())
    container = build_container(Settings(store="memory"))
    create_app(container, models=models)
    acc = AccController(container, session="s", models=models)
    state = await acc.update_state("Rule: never restart db-01.", None)
    print(state.constraints)
    await acc.record("ok")
    await acc.close()

asyncio.run(turn())
"""


def without(names: Iterable[str], copy: Path) -> Path:
    """A copy of the checkout without some extensions: their folders and lines are gone."""
    skipped = shutil.ignore_patterns(".*", "__pycache__", "node_modules")
    folders = ("agents", "bench", "docs", "examples", "schemas", "scripts", "tests")
    for name in (*folders, ".ci", ".github"):
        shutil.copytree(ROOT / name, copy / name, ignore=skipped)
    for path in ROOT.iterdir():
        if path.is_file() and path.name != ".git":
            shutil.copy(path, copy)
    for name in names:
        shutil.rmtree(copy / "agents/acc_ace/ext" / name)
        shutil.rmtree(copy / "tests/ext" / name)
        lines = (copy / TABLE).read_text("utf-8").splitlines(keepends=True)
        rest = [line for line in lines if not re.match(rf'    "{name}": "[a-z ]+",$', line)]
        assert len(lines) - len(rest) == (name not in UNLISTED)
        (copy / TABLE).write_text("".join(rest), "utf-8")
    return copy


def ended(copy: Path, *command: str) -> str:
    """What a Python of the copy prints; it must end well."""
    path = f"{copy / 'agents'}:{copy}"
    run = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, *command],
        cwd=copy,
        env=environment(copy / "data", PYTHONPATH=path),
        capture_output=True,
        text=True,
        check=False,
        timeout=MOST_S,
    )
    assert run.returncode == 0, f"{run.stdout[-6_000:]}\n{run.stderr[-2_000:]}"
    return run.stdout


@pytest.mark.soak
@pytest.mark.parametrize("name", NAMES)
def test_without_its_folder_and_its_line_an_app_answers_and_what_remains_is_whole(
    name: str, tmp_path: Path
) -> None:
    copy = without([name], tmp_path / "copy")
    assert ended(copy, "-W", "ignore", "-c", TURN).strip() == "['never restart db-01.']"
    for check in CHECKS:
        ended(copy, *check)


@pytest.mark.soak
def test_the_cores_suite_passes_without_any(tmp_path: Path) -> None:
    # It is a whole suite, in which each test has the limit that one test has here.
    faulthandler.cancel_dump_traceback_later()
    copy = without(NAMES, tmp_path / "copy")
    apart = [f"--ignore={path}" for path in APART]
    options = ("-q", "-n", "2", "--dist", "loadfile", "-m", "not soak", "-p", "no:cacheprovider")
    printed = ended(copy, "-m", "pytest", *options, *apart)
    passed = re.search(r"(\d+) passed", printed)
    assert passed
    assert int(passed[1]) >= LEAST, printed[-2_000:]

"""The architecture of DESIGN holds, and every contract that says so can fail."""

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from configparser import ConfigParser
from pathlib import Path

import pytest

from tests.fakes.extensions import needs

ROOT = Path(__file__).parents[2]
LINT = """
import json, pathlib, sys
from importlinter.cli import lint_imports

for module, line in json.load(sys.stdin):
    path = pathlib.Path(module)
    before = path.read_bytes() if path.exists() else None
    path.write_bytes((before or b"") + line.encode() + b"\\n")
    print("Checked:", flush=True)
    lint_imports(cache_dir=None)
    path.unlink() if before is None else path.write_bytes(before)
"""
"""Checks the contracts for each line that a module gets, one after the other."""

PACKAGE = "agents/acc_ace"
ONE_WAY = "Imports point one way"
GOOGLE = "Google is named where ADK is spoken or a model is asked"
NO_ADK = "No ADK below the rooms that speak with it"

VIOLATIONS = [
    ("The core builds up", "core/text/tokens.py", "import acc_ace.core.gates.goal"),
    ("The core builds up", "core/gates/goal.py", "import acc_ace.core.playbook.selection"),
    (
        "The commit gate decides by what was read",
        "core/gates/goal.py",
        "import acc_ace.core.text.rules.own_words",
    ),
    (ONE_WAY, "core/gates/goal.py", "import acc_ace.turn.turn_commit"),
    (ONE_WAY, "turn/commit.py", "import acc_ace.storage.create_stores"),
    (ONE_WAY, "storage/create_stores.py", "import acc_ace.models"),
    (ONE_WAY, "models/__init__.py", "import acc_ace.adk"),
    (ONE_WAY, "adk/__init__.py", "import acc_ace.server"),
    (ONE_WAY, "pipeline.py", "import acc_ace.cli"),
    (ONE_WAY, "server/__init__.py", "import acc_ace.cli"),
    ("The core builds up", "core/schemas/base.py", "import acc_ace.core.text.tokens"),
    (ONE_WAY, "errors.py", "import acc_ace.core.schemas.base"),
    (ONE_WAY, "memory/scoring.py", "import acc_ace.ext.lab"),
    (ONE_WAY, "core/text/tokens.py", "import acc_ace.ext.lab"),
    (ONE_WAY, "stray.py", ""),
    ("Stores and models are imported by the wiring", "server/app.py", "import acc_ace.storage"),
    ("Stores and models are imported by the wiring", "turn/commit.py", "import acc_ace.models"),
    (NO_ADK, "core/schemas/ccs.py", "import google.adk"),
    (NO_ADK, "core/text/tokens.py", "import google.genai"),
    (NO_ADK, "storage/create_stores.py", "import google.adk"),
    (NO_ADK, "clock.py", "import acc_ace.models._indirect"),
    (GOOGLE, "controller.py", "from google.adk.models import BaseLlm"),
    (GOOGLE, "cli/checks/model_checks.py", "import google.genai"),
    (
        "Schemas, text, gates and playbook take values",
        "core/text/tokens.py",
        "import acc_ace.config",
    ),
    (
        "Nothing but the command line imports",
        "server/process.py",
        "import acc_ace.server.main",
    ),
    ("Nothing but the command line imports", "pipeline.py", "import acc_ace.server.main"),
    (
        "The world to survive in knows no ADK",
        "ext/survivor/world_rules.py",
        "import acc_ace.bootstrap",
    ),
    ("The core does no I/O", "core/text/tokens.py", "import sqlite3"),
]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what import-linter looks at."""
    copy = tmp_path_factory.mktemp("sources")
    shutil.copytree(ROOT / PACKAGE, copy / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / ".importlinter", copy)
    (copy / PACKAGE / "models/_indirect.py").write_text('"""x."""\nimport google.adk\n')
    return copy


def _broken(sources: Path, lines: Sequence[tuple[str, str]]) -> list[list[str]]:
    """The names of the contracts that are broken, for each line in a module."""
    result = subprocess.run(  # noqa: S603 (our own interpreter on our own text)
        [sys.executable, "-c", LINT],
        input=json.dumps([(f"{PACKAGE}/{module}", line) for module, line in lines]),
        cwd=sources,
        env={"PYTHONPATH": str(sources / "agents"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    _, *reports = result.stdout.split("Checked:\n")
    assert len(reports) == len(lines), result.stdout + result.stderr
    for report in reports:
        assert "Contracts: " in report, report + result.stderr
    # A count of ignored imports may follow.
    return [
        [row.strip().partition(" BROKEN")[0] for row in report.splitlines() if " BROKEN" in row]
        for report in reports
    ]


def test_the_architecture_holds(sources: Path) -> None:
    assert _broken(sources, [("errors.py", "")]) == [[]]


@needs("survivor")
def test_each_contract_fails_when_it_is_violated(sources: Path) -> None:
    broken = _broken(sources, [(module, line) for _, module, line in VIOLATIONS])
    unseen = [
        violation
        for violation, names in zip(VIOLATIONS, broken, strict=True)
        if not any(name.startswith(violation[0]) for name in names)
    ]
    assert unseen == []


@needs("survivor")
def test_the_contract_of_an_extension_names_modules_that_are_there() -> None:
    # A pattern that matches nothing is no error, so that the extension can go.
    contracts = ConfigParser()
    contracts.read(ROOT / ".importlinter", encoding="utf-8")
    named = contracts["importlinter:contract:survival-is-plain"]["source_modules"].split()
    paths = [name.replace("acc_ace.*.", "ext.").replace(".", "/") for name in named]
    assert [path for path in paths if not (ROOT / PACKAGE / f"{path}.py").is_file()] == []


def test_settings_know_only_errors_and_schemas() -> None:
    tree = ast.parse((ROOT / PACKAGE / "config.py").read_text(encoding="utf-8"))
    imported = {
        node.module or "" if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }

    assert {name for name in imported if name.startswith("acc_ace")} == {
        "acc_ace.errors",
        "acc_ace.model_settings",
        "acc_ace.core.schemas.limits",
        "acc_ace.setting_values",
    }


def test_only_the_settings_read_the_environment() -> None:
    readers = [
        path.relative_to(ROOT).as_posix()
        for path in _sources()
        if any(word in path.read_text(encoding="utf-8") for word in ("os.environ", "os.getenv"))
    ]

    assert readers == ["agents/acc_ace/config.py"]


def test_sequential_agent_is_imported_in_one_file() -> None:
    files = [
        path.relative_to(ROOT).as_posix()
        for path in _sources()
        if "SequentialAgent" in _imported_names(path)
    ]

    assert files == ["agents/acc_ace/pipeline.py"]


def _sources() -> list[Path]:
    return sorted((ROOT / "agents").rglob("*.py"))


def _imported_names(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

"""The architecture of DESIGN holds, and every contract that says so can fail."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINT = (
    "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(cache_dir=None))"
)

VIOLATIONS = [
    ("Imports point one way", "core/domain/tokens.py", "import core.ports.clock"),
    ("Imports point one way", "core/ports/clock.py", "import core.adapters.clock"),
    ("Imports point one way", "core/adapters/clock.py", "import core.models"),
    ("Imports point one way", "core/models/__init__.py", "import acc_ace"),
    ("Imports point one way", "agents/acc_ace/__init__.py", "import cli"),
    ("Imports point one way", "server/__init__.py", "import cli"),
    ("Imports point one way", "agents/acc_ace/__init__.py", "import server"),
    ("Imports point one way", "schemas/base.py", "import core.domain.tokens"),
    ("Imports point one way", "core/errors.py", "import schemas.base"),
    ("Every module of core has its layer", "core/stray.py", ""),
    ("No ADK in schemas, domain, ports and turn", "schemas/ccs.py", "import google.adk"),
    ("No ADK in schemas, domain, ports and turn", "core/domain/tokens.py", "import google.genai"),
    (
        "No ADK in schemas, domain, ports and turn",
        "core/ports/clock.py",
        "import core.models._indirect",
    ),
    ("Schemas, domain and ports take values", "core/domain/tokens.py", "import config"),
    ("Nothing below the command line imports", "core/models/__init__.py", "import main"),
    ("Nothing below the command line imports", "server/__init__.py", "import main"),
    ("Imports point one way", "survival/rules.py", "import acc_ace"),
    ("The world to survive in knows no ADK", "survival/rules.py", "import core.bootstrap"),
    ("The domain does no I/O", "core/domain/tokens.py", "import sqlite3"),
]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what import-linter looks at."""
    copy = tmp_path_factory.mktemp("sources")
    for name in ("schemas", "core", "survival", "server", "cli", "agents"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("config.py", "main.py", ".importlinter"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, copy)
    (copy / "core/models/_indirect.py").write_text('"""x."""\nimport google.adk\n')
    return copy


def _broken(sources: Path) -> list[str]:
    """The names of the contracts that are broken."""
    result = subprocess.run(  # noqa: S603 (our own interpreter on our own text)
        [sys.executable, "-c", LINT],
        cwd=sources,
        env={"PYTHONPATH": f"{sources}:{sources / 'agents'}", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Contracts: " in result.stdout, result.stdout + result.stderr
    lines = (line.strip() for line in result.stdout.splitlines())
    return [line.removesuffix(" BROKEN") for line in lines if line.endswith(" BROKEN")]


def test_the_architecture_holds(sources: Path) -> None:
    assert _broken(sources) == []


@pytest.mark.parametrize(("contract", "module", "line"), VIOLATIONS)
def test_a_contract_fails_when_it_is_violated(
    contract: str, module: str, line: str, sources: Path
) -> None:
    path = sources / module
    before = path.read_text(encoding="utf-8") if path.exists() else None
    path.write_text(f"{before or ''}\n{line}\n", encoding="utf-8")
    try:
        broken = _broken(sources)
    finally:
        path.unlink() if before is None else path.write_text(before, encoding="utf-8")

    assert any(name.startswith(contract) for name in broken), broken


def test_settings_know_only_errors_and_schemas() -> None:
    tree = ast.parse((ROOT / "config.py").read_text(encoding="utf-8"))
    imported = {
        node.module or "" if isinstance(node, ast.ImportFrom) else alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }

    ours = {name for name in imported if (ROOT / name.split(".")[0]).exists()}
    assert ours == {
        "core.errors",
        "schemas.background",
        "schemas.limits",
        "schemas.memory_name",
        "schemas.recall_weights",
    }


def test_only_the_settings_read_the_environment() -> None:
    readers = [
        path.relative_to(ROOT).as_posix()
        for folder in ("schemas", "core", "survival", "server", "agents", "cli")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if any(word in path.read_text(encoding="utf-8") for word in ("os.environ", "os.getenv"))
    ]

    assert readers == []


def test_sequential_agent_is_imported_in_one_file() -> None:
    files = [
        path.relative_to(ROOT).as_posix()
        for folder in ("core", "server", "agents", "cli")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "SequentialAgent" in _imported_names(path)
    ]

    assert files == ["agents/acc_ace/pipeline.py"]


def _imported_names(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }

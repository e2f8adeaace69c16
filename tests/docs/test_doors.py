"""The doors of a checkout name what the package defines: nothing is missing, nothing is another."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import acc_ace
import config
import main
from acc_ace.server import main as server
from tests.fakes.extensions import needs

ROOT = Path(__file__).parents[2]
SCHEMAS = "acc_ace.core.schemas."
DOORS = sorted(path.stem for path in (ROOT / "schemas").glob("[!_]*.py"))


def _defined(path: Path) -> set[str]:
    """The public names that a module defines itself."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                names.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
    return {name for name in names if not name.startswith("_")}


def _contracts() -> set[str]:
    """The modules whose values are public, or are what a store or port of one's own handles."""
    modules = {f"acc_ace.{module}" for module in acc_ace._MODULES}
    for path in (ROOT / "agents/acc_ace").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = _imported(tree)
        for port in filter(_is_port, ast.walk(tree)):
            names = {node.id for node in ast.walk(port) if isinstance(node, ast.Name)}
            modules |= {imported[name] for name in names & imported.keys()}
    return {module for module in modules if module.startswith(SCHEMAS)}


def _imported(tree: ast.Module) -> dict[str, str]:
    """The module that each name is imported from."""
    return {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def _is_port(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(x) for x in node.bases)


def test_every_public_contract_has_a_door() -> None:
    contracts = _contracts()
    assert {f"{SCHEMAS}ccs", f"{SCHEMAS}trace"} <= contracts
    assert contracts - {_source(ROOT / "schemas" / f"{name}.py") for name in DOORS} == set()


@needs("survivor")
def test_every_name_of_a_contract_is_behind_a_door() -> None:
    shown: dict[str, set[str]] = {}
    for name in DOORS:
        door = importlib.import_module(f"schemas.{name}")
        inside = importlib.import_module(_source(ROOT / "schemas" / f"{name}.py"))
        assert all(getattr(door, each) is getattr(inside, each) for each in door.__all__)
        shown.setdefault(inside.__name__, set()).update(door.__all__)
    # The extension has names of its own beside its two contracts.
    assert shown.pop("acc_ace.ext.survivor.survival") == {"LoopSnapshot", "Plan"}
    for module, names in shown.items():
        path = ROOT / "agents" / f"{module.replace('.', '/')}.py"
        assert _defined(path) <= names, module


def _source(door: Path) -> str:
    """The module that a door names again."""
    imports = [
        node.module
        for node in ast.walk(ast.parse(door.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("acc_ace.")
    ]
    [module] = imports
    assert module is not None
    return module


@needs("survivor")
def test_the_survivors_door_imports_the_extension_when_it_is_asked() -> None:
    code = "import sys, schemas.survival as door; print('acc_ace.ext.survivor' in sys.modules)"
    code += "; door.LoopSnapshot; print('acc_ace.ext.survivor' in sys.modules)"
    done = subprocess.run(  # noqa: S603 - our own interpreter on our own text
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert done.stdout.split() == ["False", "True"]


def test_the_door_of_the_settings_is_complete() -> None:
    inside = importlib.import_module("acc_ace.config")
    assert {*inside.__all__, "Config"} == set(config.__all__)
    assert _defined(ROOT / "agents/acc_ace/config.py") <= set(config.__all__)
    assert all(getattr(config, each) is getattr(inside, each) for each in inside.__all__)


def test_the_door_of_the_server_is_the_server() -> None:
    assert main.main is server.main
    with pytest.raises(AttributeError, match="nothing"):
        _ = main.nothing


@needs("embedded")
def test_every_public_name_of_the_package_is_there() -> None:
    loaded = {name: getattr(acc_ace, name) for name in acc_ace.__all__}
    assert loaded["root_agent"] is loaded["app"].root_agent
    with pytest.raises(AttributeError, match="nothing"):
        _ = acc_ace.nothing


def test_importing_the_package_loads_nothing_of_it() -> None:
    code = (
        "import sys, acc_ace; print([name for name in sys.modules if name.startswith('acc_ace.')])"
    )
    done = subprocess.run(  # noqa: S603 - our own interpreter on our own text
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_code_does_not_go_through_the_doors() -> None:
    doors = {"config", "main", "schemas"}
    for folder in ("agents", "bench", "examples"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path != Path(__file__):
                assert not _roots(path) & doors, path


def _roots(path: Path) -> set[str]:
    roots: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            roots.add(node.module.split(".")[0])
        elif isinstance(node, ast.Import):
            roots |= {alias.name.split(".")[0] for alias in node.names}
    return roots

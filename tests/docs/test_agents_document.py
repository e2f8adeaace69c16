"""What AGENTS.md says of this repository is true: its paths, its modules, its rooms."""

import configparser
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
TEXT: Final = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
PATH: Final = re.compile(
    r"((?:[a-z.][\w.-]*/)+[\w.-]*|\b[\w-]+\.(?:md|py|toml|lock)|\.importlinter)\b"
)


def test_every_path_that_is_named_exists() -> None:
    paths = [path for path in PATH.findall(TEXT) if not path.startswith(".venv/")]
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_every_module_to_run_exists() -> None:
    modules = re.findall(r"python -m ([\w.]+)", TEXT)
    assert modules
    assert all(find_spec(module) for module in modules)


def test_the_rooms_are_those_that_import_linter_checks() -> None:
    contracts = configparser.ConfigParser()
    contracts.read(ROOT / ".importlinter", encoding="utf-8")
    layers = contracts["importlinter:contract:layers"]["layers"].split("\n")
    shown = re.search(r"^```\n(ext\n.*?)\n```", TEXT, re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert shown[1].split("\n") == [layer.strip() for layer in layers if layer.strip()]


def test_every_room_is_described() -> None:
    folders = {path.parent.name for path in (ROOT / "agents/acc_ace").glob("*/__init__.py")}
    described = set(re.findall(r"`agents/acc_ace/(\w+)`", TEXT))
    assert folders <= described

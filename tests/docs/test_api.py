"""The documented Python API: every import that documents and examples show is public, and runs."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.models import BaseLlm

import acc_ace
from acc_ace import AccController, Settings, build_container
from acc_ace.config import Role
from tests.fakes.extensions import is_there, needs, require
from tests.fakes.scripted_llm import ScriptedLlm

ROOT = Path(__file__).parents[2]
API = (ROOT / "docs/api.md").read_text(encoding="utf-8")
PUBLIC_MODULES = ("acc_ace.errors", "acc_ace.ext.conformance")
SHOWN = sorted(
    path
    for path in [
        *ROOT.glob("README*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").rglob("*.md"),
        *(ROOT / "examples").rglob("*.py"),
    ]
    # Decisions tell of the code inside.
    if "adr" not in path.parts
)
IMPORT = re.compile(r"from (acc_ace[\w.]*) import ([\w, ]+)")


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """The module and name of each import of the package that a file shows."""
    for module, names in IMPORT.findall(path.read_text(encoding="utf-8")):
        for name in names.split(","):
            yield module, name.strip()


@pytest.mark.parametrize("path", SHOWN, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_import_that_is_shown_is_public(path: Path) -> None:
    for module, name in imports(path):
        if module == "acc_ace":
            assert name in acc_ace.__all__
        else:
            assert module in PUBLIC_MODULES
            if module.startswith("acc_ace.ext."):
                require(module.removeprefix("acc_ace.ext."))
            assert hasattr(importlib.import_module(module), name)


def test_imports_are_shown_at_all() -> None:
    shown = {name for path in SHOWN for _, name in imports(path)}
    assert shown >= {"AccController", "BoundedMemoryPlugin", "Conversation", "CHECKS"}


def test_the_document_lists_every_public_name_and_no_other() -> None:
    rows = re.findall(r"^\| (`.+?) \|", API, re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(acc_ace.__all__)


def defined() -> dict[str, Any]:
    """What the Python of the document defines."""
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", API, re.DOTALL):
        ast.parse(block)
        if "acc_ace.ext.conformance" in block and not is_there("conformance"):
            continue
        exec(block, names)  # noqa: S102 - our own document
    return names


async def test_the_agent_of_the_document_decides() -> None:
    container = build_container(Settings(store="memory"))
    models: dict[Role, BaseLlm] = dict.fromkeys(("qualifier", "compressor"), ScriptedLlm())
    controller = AccController(container, session="s1", models=models)
    said = await defined()["talk"](controller)
    assert said == ["Never restart db-01. (1 rules)", "Restart it. (1 rules)"]
    await controller.close()


@needs("embedded")
async def test_the_conversation_of_the_document_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(store="memory")
    monkeypatch.setattr("acc_ace.conversation.load_settings", lambda: settings)
    assert "I cannot reason, calculate" in await defined()["ask"]("What is 6*7?")

"""What the documents say to type exists, and the two READMEs say the same."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
PLACES = re.compile(r"/(?:work|tmp|root|home)/[a-z]")
REGISTRIES = re.compile(r"pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|proxy\.golang\.org")


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _headings(path: Path) -> list[int]:
    """The levels of the headings, in order, outside of code blocks."""
    prose = re.sub(r"^```.*?^```", "", _text(path), flags=re.DOTALL | re.MULTILINE)
    return [len(marks) for marks in re.findall(r"^(#{1,6}) ", prose, flags=re.MULTILINE)]


def _anchors(path: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    prose = re.sub(r"^```.*?^```", "", _text(path), flags=re.DOTALL | re.MULTILINE)
    headings = re.findall(r"^#{1,6} (.+)$", prose, flags=re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", each).lower() for each in headings]
    return {re.sub(r"[^\w\- ]", "", each).replace(" ", "-") for each in plain}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_make_command_named_exists(path: Path) -> None:
    code = re.findall(r"```.*?```|`[^`\n]+`", _text(path), flags=re.DOTALL)
    named = {target for block in code for target in re.findall(r"\bmake ([a-z][a-z-]*)", block)}

    assert {name for name in named if not re.search(rf"^{name}:", MAKEFILE, re.MULTILINE)} == set()


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_relative_link_leads_somewhere(path: Path) -> None:
    prose = re.sub(r"```.*?```", "", _text(path), flags=re.DOTALL)
    links = re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", prose)

    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_to_a_heading_finds_it(path: Path) -> None:
    prose = re.sub(r"```.*?```", "", _text(path), flags=re.DOTALL)
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)", prose)
    pages = {name: (path.parent / name) if name else path for name, _ in links}

    assert [
        f"{name}#{anchor}"
        for name, anchor in links
        if pages[name].exists() and anchor not in _anchors(pages[name])
    ] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_documents_name_no_place_of_one_machine(path: Path) -> None:
    assert PLACES.findall(_text(path)) == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_documents_name_no_package_registry(path: Path) -> None:
    assert REGISTRIES.findall(_text(path)) == []


def test_the_japanese_readme_has_the_sections_of_the_english_one() -> None:
    japanese = ROOT / "README.ja.md"

    assert not japanese.exists() or _headings(japanese) == _headings(ROOT / "README.md")


def test_every_phony_target_is_in_the_help() -> None:
    phony = re.search(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)
    described = set(re.findall(r"^([a-z-]+):.*## ", MAKEFILE, re.MULTILINE))

    assert phony is not None
    assert set(phony[1].split()) == described


def test_the_changelog_has_an_entry_for_the_version() -> None:
    version = tomllib.loads(_text(ROOT / "pyproject.toml"))["project"]["version"]

    assert re.search(rf"^## {re.escape(version)}\b", _text(ROOT / "CHANGELOG.md"), re.MULTILINE)

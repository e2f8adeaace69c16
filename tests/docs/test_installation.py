"""What is installed for what: the locks, the Makefile, the metadata and the workflows agree."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

ROOT: Final = Path(__file__).parents[2]
RUNS, DEVELOPS, IMAGE = "requirements.lock", "requirements.dev.lock", "requirements.server.lock"
LOCKS: Final = (RUNS, DEVELOPS, IMAGE)
PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: Final = PROJECT["project"]["optional-dependencies"]
GROUPS: Final = PROJECT["dependency-groups"]
WORKFLOWS: Final = sorted(ROOT.glob(".github/workflows/*.yml"))
REPOSITORY: Final = "https://host.example/owner/acc-ace"


def pins(lock: str) -> set[str]:
    """Each `name==version` of a lock."""
    text = (ROOT / lock).read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z0-9._-]+==[^\s;\\]+)", text, re.MULTILINE))


def names(requirements: set[str] | list[str]) -> set[str]:
    """The packages that requirements name."""
    return {re.split(r"[\[<>=~! ;]", each, maxsplit=1)[0].lower() for each in requirements}


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_a_hash_for_each_package_and_names_no_place(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    entries = re.split(r"^(?=[a-z])", text, flags=re.MULTILINE)[1:]
    assert len(entries) > 50
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    assert not re.search(r"://|^\s*-(?!-hash=)|file:", text, re.MULTILINE)


@pytest.mark.parametrize("lock", [RUNS, IMAGE])
def test_a_lock_has_the_versions_that_are_tested(lock: str) -> None:
    tested = pins(DEVELOPS)
    assert {pin for pin in pins(lock) if names({pin}) <= names(tested)} <= tested


def test_what_runs_has_each_dependency_and_no_tool_or_extra() -> None:
    runs = names(pins(RUNS))
    assert names([*PROJECT["project"]["dependencies"], *GROUPS["build"]]) <= runs
    optional = names([*GROUPS["dev"], *(each for extra in EXTRAS.values() for each in extra)])
    assert runs & optional == {"google-adk"}


def test_what_develops_has_all_that_runs_and_the_tools() -> None:
    assert pins(RUNS) <= pins(DEVELOPS)
    assert names(GROUPS["dev"]) <= names(pins(DEVELOPS))


def test_the_image_has_no_tool() -> None:
    assert names(pins(IMAGE)) & names([*GROUPS["dev"], *GROUPS["build"]]) == set()


@pytest.mark.parametrize(
    ("target", "locks"), [("run", {RUNS}), ("chat", {RUNS}), ("test", {RUNS, DEVELOPS})]
)
def test_make_installs_what_the_command_needs(target: str, locks: set[str], tmp_path: Path) -> None:
    done = subprocess.run(  # noqa: S603 - our own command
        ["make", "--dry-run", target, f"VENV={tmp_path / 'none'}"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(re.findall(r"-r (\S+)", done.stdout)) == locks


def test_one_range_of_adk_holds_for_every_extra() -> None:
    groups = [PROJECT["project"]["dependencies"], *EXTRAS.values()]
    named = [each for group in groups for each in group if each.startswith("google-adk")]
    assert len({re.sub(r"\[.*\]", "", each) for each in named}) == 1


def metadata(folder: Path, urls: str = "") -> dict[str, Any]:
    """What a wheel of the project says of itself, with these addresses and no other."""
    for name in ("README.md", "LICENSE", "hatch_build.py"):
        shutil.copy(ROOT / name, folder)
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    text = re.sub(r"^\[project\.urls\]\n(?:.+\n)*", "", text, flags=re.MULTILINE)
    (folder / "pyproject.toml").write_text(f"{text}\n{urls}", encoding="utf-8")
    command = [sys.executable, "-m", "hatchling", "metadata"]
    done = subprocess.run(  # noqa: S603 - our own command
        command, cwd=folder, capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout))


def test_without_an_address_the_metadata_names_none(tmp_path: Path) -> None:
    said = metadata(tmp_path)
    assert "urls" not in said
    assert said["readme"]["text"] == (ROOT / "README.md").read_text(encoding="utf-8")
    assert said["authors"]
    assert said["classifiers"]


def test_with_an_address_pictures_and_links_of_the_readme_lead_there(tmp_path: Path) -> None:
    said = metadata(tmp_path, f'[project.urls]\nRepository = "{REPOSITORY}"\n')
    text, tag = said["readme"]["text"], f"v{PROJECT['project']['version']}"
    assert f"]({REPOSITORY}/raw/{tag}/docs/lab.svg)" in text
    assert f"]({REPOSITORY}/blob/{tag}/CONTRIBUTING.md)" in text
    assert re.findall(r"\]\((?![a-z]+:|#)[^)]+\)", text) == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_calls_what_is_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    steps = [step for job in jobs.values() for step in job.get("steps", [])]
    run = "\n".join(step.get("run", "") for step in steps)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake ([a-z-]+)", run):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    called = [job["uses"] for job in jobs.values() if "uses" in job]
    files = [*called, *re.findall(r"\bbash (\S+)", run)]
    assert [name for name in files if not (ROOT / name).is_file()] == []
    assert {need for job in jobs.values() for need in job.get("needs", [])} <= set(jobs)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_names_no_owner_and_no_host(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"://|\b[a-z0-9-]+\.(?:org|com|io|dev)\b", text) == []


def test_there_is_a_workflow_for_each_change_and_for_a_release() -> None:
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "release.yml"]

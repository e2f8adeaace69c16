"""The memory is the person's: nothing in a project's tree is read, written or lost with it."""

import io
import json
import stat
from pathlib import Path

import pytest

from acc_ace.ext.coding_agents.clients import CLIENTS
from acc_ace.ext.coding_agents.hook_run import run_hook
from tests.ext.coding_agents.fake_client import FakeClient
from tests.fakes.extensions import needs

pytestmark = needs("embedded")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository."""
    (tmp_path / "work/.git").mkdir(parents=True)
    return tmp_path / "work"


def test_memory_is_outside_of_the_tree_closed_and_shared_by_the_clients(
    project: Path, tmp_path: Path, home: Path
) -> None:
    (project / "src").mkdir()
    before = sorted(project.rglob("*"))
    FakeClient("codex", project / "src").prompt("Never run git push.")
    assert sorted(project.rglob("*")) == before
    (folder,) = (home / "data/acc-ace/projects").iterdir()
    assert folder.name.startswith("work-")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for name in CLIENTS:
        assert FakeClient(name, project).shell("git push")[0] == "deny"
    (tmp_path / "other").mkdir()
    assert FakeClient("codex", tmp_path / "other").start() == ""


@pytest.mark.parametrize("is_link", [True, False])
def test_a_memory_that_a_repository_brings_is_not_read(
    project: Path, home: Path, is_link: bool
) -> None:
    FakeClient("codex", project).prompt("Never run git push.")
    (foreign,) = (home / "data/acc-ace/projects").iterdir()
    brought = project / ".acc_ace"
    if is_link:
        brought.symlink_to(foreign)
    foreign.rename(home / "elsewhere")
    if not is_link:
        (home / "elsewhere").rename(brought)
    assert FakeClient("codex", project).start() == ""


def test_projects_of_one_name_share_nothing(tmp_path: Path) -> None:
    for each in ("a/web", "b/web"):
        (tmp_path / each / ".git").mkdir(parents=True)
    FakeClient("codex", tmp_path / "a/web").prompt("Never run git push.")
    assert FakeClient("codex", tmp_path / "b/web").start() == ""


def test_a_folder_of_the_persons_choice_holds_all_projects_apart(
    project: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACC_ACE_DATA_DIR", str(home / "mine"))
    FakeClient("codex", project).prompt("Never run git push.")
    (project / "inner/.git").mkdir(parents=True)
    assert "git push" in FakeClient("codex", project).start()
    assert FakeClient("codex", project / "inner").start() == ""
    assert [each.name for each in home.iterdir()] == ["mine"]


@pytest.mark.parametrize("folder", [".acc_ace", "PROJECT/memory"])
def test_a_folder_in_the_tree_is_refused(
    project: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACC_ACE_DATA_DIR", folder.replace("PROJECT", str(project)))
    answer = FakeClient("codex", project).call("prompt", prompt="Never run git push.")
    assert "ACC_ACE_DATA_DIR" in answer["systemMessage"]


def test_a_call_without_a_folder_is_of_the_project_that_the_entry_names(project: Path) -> None:
    FakeClient("claude-code", project).prompt("Never run git push.")
    call = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "session_id": "1"}
    raw = json.dumps({**call, "tool_input": {"command": "git push"}}).encode()
    assert '"deny"' in run_hook("claude-code", str(project), io.BytesIO(raw))


def test_notes_are_not_put_into_the_users_mouth(project: Path) -> None:
    FakeClient("codex", project).prompt("Never run git push. The goal is a green login test.")
    shown = FakeClient("codex", project).start()
    assert "Notes of earlier turns" in shown
    assert "user said" not in shown

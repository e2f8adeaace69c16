"""Our entries come and go; whatever else a client's settings hold stays byte for byte."""

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from acc_ace.cli.app import app
from acc_ace.errors import InputError
from acc_ace.ext.coding_agents.clients import CLIENTS, Client
from acc_ace.ext.coding_agents.settings_files import install, installed, remove

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2)
    ),
    max_leaves=6,
)
_groups = st.lists(st.fixed_dictionaries({"hooks": st.lists(_json, max_size=2)}), min_size=1)
_events = st.sampled_from(
    ["PreToolUse", "BeforeTool", "SessionStart", "Stop", "Neu", "BeforeAgent"]
)
_settings = st.dictionaries(st.text(max_size=6), _json, max_size=3).flatmap(
    lambda rest: st.dictionaries(_events, _groups, min_size=1, max_size=3).map(
        lambda hooks: {**rest, "hooks": hooks}
    )
)


@pytest.mark.parametrize("name", CLIENTS)
@given(
    known=st.dictionaries(st.text(max_size=6).filter(lambda key: key != "hooks"), _json, max_size=3)
    | _settings,
    indent=st.sampled_from([None, 1, 2, 4, "\t"]),
    is_ascii=st.booleans(),
    line=st.sampled_from(["\n", "\r\n"]),
)
def test_install_and_remove_leave_foreign_entries_byte_for_byte(
    name: str, known: dict[str, Any], indent: int | str | None, is_ascii: bool, line: str
) -> None:
    client = CLIENTS[name]
    text = json.dumps(known, indent=indent, ensure_ascii=is_ascii) + "\n"
    before = text.replace("\n", line).encode("utf-8", "surrogatepass")
    with TemporaryDirectory() as folder:
        file = Path(folder, client.file)
        file.parent.mkdir()
        file.write_bytes(before)
        assert install(client, Path(folder))
        whole = json.loads(file.read_bytes())
        for event, groups in known.get("hooks", {}).items():
            assert whole["hooks"][event][: len(groups)] == groups
        assert {key: whole[key] for key in known if key != "hooks"} == {
            key: known[key] for key in known if key != "hooks"
        }
        assert installed(client, Path(folder)) == list(client.events)
        assert not install(client, Path(folder))
        assert remove(client, Path(folder))
        if known:
            assert file.read_bytes() == before
        else:
            assert not file.exists()


@pytest.mark.parametrize("name", CLIENTS)
def test_a_file_that_install_made_goes_with_remove(name: str, tmp_path: Path) -> None:
    assert install(CLIENTS[name], tmp_path)
    assert remove(CLIENTS[name], tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert not remove(CLIENTS[name], tmp_path)


def test_an_entry_of_an_older_installation_is_replaced(tmp_path: Path) -> None:
    client = CLIENTS["codex"]
    install(client, tmp_path)
    file = tmp_path / client.file
    now = file.read_text()
    file.write_text(now.replace("-P -m acc_ace", "-I -m acc_ace"))
    assert install(client, tmp_path)
    assert file.read_text() == now


@pytest.mark.parametrize(
    "text",
    ["{", '{"a": 1,}', "// c\n{}", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "\ufeff{}"],
)
def test_settings_that_are_not_valid_are_refused_and_left(text: str, tmp_path: Path) -> None:
    client = CLIENTS["claude-code"]
    file = tmp_path / client.file
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    for change in (install, remove):
        with pytest.raises(InputError, match=r"settings\.json"):
            change(client, tmp_path)
    assert file.read_text(encoding="utf-8") == text


def test_links_and_modes_stay(tmp_path: Path) -> None:
    client = CLIENTS["gemini-cli"]
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o640)
    link = tmp_path / client.file
    link.parent.mkdir()
    link.symlink_to(real)
    install(client, tmp_path)
    assert link.is_symlink()
    assert stat.S_IMODE(os.stat(real).st_mode) == 0o640
    assert "hooks" in json.loads(real.read_text())
    remove(client, tmp_path)
    assert real.read_text() == "{}"


@pytest.mark.parametrize("change", [install, remove, installed])
def test_a_link_that_leads_out_of_the_project_is_refused(
    change: Callable[[Client, Path], object], tmp_path: Path
) -> None:
    client, project, foreign = CLIENTS["claude-code"], tmp_path / "project", tmp_path / "other.json"
    foreign.write_text("{}")
    (project / ".claude").mkdir(parents=True)
    (project / client.file).symlink_to(foreign)
    with pytest.raises(InputError, match="out of the project"):
        change(client, project)
    assert foreign.read_text() == "{}"


def test_the_commands_say_what_they_did(tmp_path: Path, home: Path) -> None:
    runner, here = CliRunner(), ["--project", str(tmp_path)]
    said = runner.invoke(app, ["hook", "install", "claude-code", *here]).output
    assert "installed in" in said
    shown = runner.invoke(app, ["hook", "status", *here]).output
    assert "claude-code: " in shown
    assert "UserPromptSubmit, SessionStart" in shown
    assert "0 rules" in shown
    assert f"ACC_ACE_DATA_DIR={home}/data/acc-ace/projects/" in shown
    assert "acc-ace rules --session project" in shown
    assert "removed from" in runner.invoke(app, ["hook", "remove", "claude-code", *here]).output
    with pytest.raises(InputError, match="claude-code, codex, gemini-cli"):
        runner.invoke(app, ["hook", "install", "cursor"], catch_exceptions=False)

"""Every file that a user's memory is written to is its owner's alone, exports included."""

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.test_cli import CommandLine
from tests.fakes.extensions import needs

pytestmark = [needs("embedded"), needs("playbook_files"), needs("survivor"), pytest.mark.soak]

LESSON = {"operations": [{"type": "ADD", "section": "ops", "content": "Check the disk first."}]}


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    before = os.umask(0o000)
    yield
    os.umask(before)


def test_all_files_have_mode_600_and_folders_700(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    acc_ace = CommandLine(monkeypatch, capsys, tmp_path / "data")
    out = tmp_path / "out"
    out.mkdir(mode=0o700)
    note = tmp_path / "note.txt"
    note.write_text("The runbook says: drain the node first.", encoding="utf-8")
    note.chmod(0o600)
    commands = (
        ("chat", "--session", "s", "--json"),
        ("playbook", "apply", "-"),
        ("playbook", "export", "--out", str(out / "playbook.md")),
        ("memory", "export", "--user", "user", "--out", str(out / "user.jsonl")),
        ("survive", "--ticks=3", "--seed=3", "--save-report", str(out / "report.json")),
        ("memory", "import", str(note)),
    )
    for command in commands:
        said = {"chat": "Never restart db-01.\n", "playbook": json.dumps(LESSON)}
        ended = acc_ace(*command, stdin=said.get(command[0], ""))
        assert ended.code == 0, (command, ended.err)
    written = [tmp_path / "data", *(tmp_path / "data").rglob("*"), *out.rglob("*")]
    assert {path.name for path in written} >= {"memory.db", "user.jsonl", "report.json"}
    modes = {str(path): stat.S_IMODE(path.stat().st_mode) for path in written}
    wanted = {str(path): 0o700 if path.is_dir() else 0o600 for path in written}
    assert modes == wanted

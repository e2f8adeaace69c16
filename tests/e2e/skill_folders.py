"""Playbooks that go out as folders with a SKILL.md and come in again, by the command line."""

import json
import re
import subprocess
from pathlib import Path

from tests.e2e.promises import command


def taught(folder: Path, **sections: list[str]) -> Path:
    """A data directory whose playbook has these lessons by section."""
    folder.mkdir(parents=True, exist_ok=True)
    operations = [
        {"type": "ADD", "section": name, "content": each}
        for name, sentences in sections.items()
        for each in sentences
    ]
    batch = json.dumps({"operations": operations})
    ended = command(folder / "data", "playbook", "apply", "-", stdin=batch)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return folder / "data"


def export_skill(data: Path, out: Path, *, section: str = "") -> Path:
    """`playbook export` as skills into a folder, which must work; the folder."""
    shown = command(data, "playbook", "export", "--help").stdout
    assert re.search(r"\bskill\b", shown), "playbook export knows no skills"
    args = ["--format", "skill", "--out", str(out)]
    if section and "--section" in shown:
        args += ["--section", section]
    ended = command(data, "playbook", "export", *args)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return out


def skills_in(folder: Path) -> list[Path]:
    """The folders that hold a SKILL.md, in order."""
    return sorted(each.parent for each in folder.rglob("SKILL.md"))


def import_of(data: Path, source: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """`playbook import` of a file or a folder, with a yes where it wants one."""
    data.parent.mkdir(parents=True, exist_ok=True)
    shown = command(data, "playbook", "import", "--help").stdout
    yes = ["--yes"] if "--yes" in shown else []
    return command(data, "playbook", "import", str(source), *yes, *more)


def lessons(data: Path) -> list[str]:
    """The sentences of the playbook."""
    ended = command(data, "playbook", "show", "--json")
    bullets = json.loads(ended.stdout)["playbook"]["bullets"]
    return [each["content"] for each in bullets]

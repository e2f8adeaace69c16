"""`acc-ace memory import | list | show | remove` over real files and a real database."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acc_ace.errors import InputError
from acc_ace.ext.documents import documents
from acc_ace.ext.documents.document_files import DocumentFile, FolderAtFault, document_files
from acc_ace.ext.documents.document_import import import_document
from schemas.artifact import DocumentForm, ImportedDocument
from tests.e2e.test_cli import CommandLine, acc_ace
from tests.fakes.extensions import needs

__all__ = ["acc_ace"]

RUNBOOK = "# Fail over\nPromote with pg_ctl promote.\n\n# 夜間\n営業時間内は再起動を禁止する。\n"

NEVER_TWICE = Path("/proc/sys/kernel/random/uuid")
"""A file of Linux with other text each time it is read."""

_KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from acc_ace.config import load_settings
from acc_ace.ext.documents.document_files import document_files
from acc_ace.bootstrap import build_container
from acc_ace.ext.documents.document_import import import_document
from acc_ace.core.schemas.base import Tenant

def report(stored, parts):
    if stored >= 192:
        os.kill(os.getpid(), signal.SIGKILL)

container = build_container(load_settings())
[source] = document_files([Path(sys.argv[1])])
asyncio.run(import_document(container, Tenant("acc_ace", "user"), source, reported=report))
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which commands are given."""
    folder = tmp_path / "files"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def _results(out: str) -> dict[str, dict[str, Any]]:
    return {line["name"]: line for line in map(json.loads, out.splitlines())}


@needs("embedded")
def test_files_are_imported_listed_shown_recalled_and_removed(
    acc_ace: CommandLine, here: Path
) -> None:
    (here / "runbook.md").write_text(RUNBOOK, encoding="utf-8")
    (here / "facts.jsonl").write_text('{"content": "The vault opens at nine."}\n')
    first = acc_ace("memory", "import", "runbook.md", "./facts.jsonl")
    assert (first.code, first.err) == (0, "")
    assert first.out.splitlines() == [
        "runbook.md · 1 part · stored",
        "facts.jsonl · 1 part · stored",
    ]
    again = acc_ace("memory", "import", ".", "--json")
    assert [line["status"] for line in again.turns] == ["unchanged", "unchanged"]
    listed = acc_ace("memory", "list", "--json")
    assert {line["name"]: line["complete"] for line in listed.turns} == {
        "runbook.md": True,
        "facts.jsonl": True,
    }
    assert "営業時間内は再起動を禁止する。" in acc_ace("memory", "show", "runbook.md").out
    [part] = acc_ace("memory", "show", "facts.jsonl", "--json").turns
    assert acc_ace("memory", "show", part["artifact_id"], "--json").turns == [part]
    asked = acc_ace("chat", "--json", stdin="When does the vault open?\n")
    assert "nine" in asked.turns[0]["answer"]
    assert acc_ace("memory", "remove", "facts.jsonl").out == "facts.jsonl · removed, 1 part\n"
    missing = acc_ace("memory", "show", "facts.jsonl")
    assert missing.code == 2
    assert "memory holds no document 'facts.jsonl'" in missing.err
    for command in ("show", "remove"):
        missing = acc_ace("memory", command, "facts.jsonl", "--user", "aiko")
        assert missing.code == 2
        assert "list them with `acc-ace memory list --user aiko`" in missing.err


def test_one_bad_file_keeps_no_other_out_and_every_reason_is_told(
    acc_ace: CommandLine, here: Path
) -> None:
    (here / "good.md").write_text("Good.")
    (here / "bad.txt").write_bytes(b"abc \xff def")
    (here / "empty.txt").touch()
    (here / "report.pdf").write_bytes(b"%PDF-1.7\n\xc7\xec")
    (here / "lines.jsonl").write_text('{"content": "x"}\nnot json\n')
    (here / "folder").mkdir()
    os.mkfifo(here / "pipe.txt")
    paths = ["good.md", "bad.txt", "empty.txt", "report.pdf", "lines.jsonl", "pipe.txt", "none"]
    ended = acc_ace("memory", "import", *paths, "--json")
    assert ended.code == 2
    assert "6 documents could not be imported" in ended.err
    results = _results(ended.out)
    assert results["good.md"]["status"] == "stored"
    errors = {name: result["error"] for name, result in results.items() if "error" in result}
    assert "byte 4 (0xFF)" in errors["bad.txt"]
    assert "empty" in errors["empty.txt"]
    assert "a PDF, not text" in errors["report.pdf"]
    assert "line 2 is not JSON" in errors["lines.jsonl"]
    assert "not a regular file" in errors["pipe.txt"]
    assert "No such file" in errors["none"]
    assert all(name in error for name, error in errors.items())
    nothing = acc_ace("memory", "import", "folder")
    assert nothing.code == 2
    assert "folder holds no document" in nothing.err


def test_a_folder_or_path_at_fault_keeps_no_other_out(acc_ace: CommandLine, here: Path) -> None:
    (here / "good.md").write_text("Good.")
    (here / "empty").mkdir()
    endless = "x" * 300
    ended = acc_ace("memory", "import", "empty", endless, "good.md", "--json")
    assert ended.code == 2
    assert "2 documents could not be imported" in ended.err
    results = _results(ended.out)
    assert {name: result["status"] for name, result in results.items()} == {
        "empty": "failed",
        endless: "failed",
        "good.md": "stored",
    }
    assert results["empty"]["code"] == "invalid_input"
    assert "empty holds no document" in results["empty"]["error"]
    assert "too long" in results[endless]["error"]


def test_a_folder_that_may_not_be_read_hides_no_other_of_its_folder(here: Path) -> None:
    for name in ("notes/a", "notes/secret", "notes/z", "closed"):
        (here / name).mkdir(parents=True)
        (here / name / "page.md").write_text("text")
    closed = [here / "notes" / "secret", here / "closed"]
    for folder in closed:
        folder.chmod(0)
    with _as_nobody():
        found = list(document_files([Path("closed"), Path("notes"), Path("closed/page.md")]))
    for folder in closed:
        folder.chmod(0o755)
    faults = {item.name: str(item.error) for item in found if isinstance(item, FolderAtFault)}
    assert faults == {
        name: f"{name} cannot be read: Permission denied" for name in ("closed", "notes/secret")
    }
    files = [item.name for item in found if isinstance(item, DocumentFile)]
    assert files == ["notes/a/page.md", "notes/z/page.md", "closed/page.md"]


@pytest.mark.skipif(not NEVER_TWICE.exists(), reason="needs a file that changes as it is read")
def test_a_file_that_changes_while_it_is_read_keeps_no_other_out(
    acc_ace: CommandLine, here: Path
) -> None:
    (here / "good.md").write_text("Good.")
    ended = acc_ace("memory", "import", str(NEVER_TWICE), "good.md", "--json")
    assert ended.code == 2
    results = _results(ended.out)
    assert results[str(NEVER_TWICE)]["code"] == "conflict"
    assert results["good.md"]["status"] == "stored"


def test_names_that_are_no_unicode_stay_apart(acc_ace: CommandLine, here: Path) -> None:
    for name, words in (("報告.txt", "Report."), ("資料.txt", "Papers.")):
        Path(os.fsdecode(name.encode("cp932"))).write_text(words)
    assert acc_ace("memory", "import", str(here)).code == 0
    listed = acc_ace("memory", "list", "--json").out
    names = [json.loads(line)["name"] for line in listed.splitlines()]
    assert len(names) == 2
    assert [acc_ace("memory", "show", name).out.strip() for name in sorted(names)]


def test_other_encodings_and_torn_bytes_are_read_when_asked(
    acc_ace: CommandLine, here: Path
) -> None:
    (here / "sjis.txt").write_bytes("再起動は禁止です。".encode("cp932"))
    (here / "utf16.txt").write_bytes("再起動は禁止です。".encode("utf-16"))
    (here / "torn.txt").write_bytes(b"torn \xff bytes")
    unread = acc_ace("memory", "import", "sjis.txt")
    assert unread.code == 2
    assert "--encoding" in unread.err
    assert "--lenient" in unread.err
    assert acc_ace("memory", "import", "sjis.txt", "--encoding", "cp932").code == 0
    assert acc_ace("memory", "import", "utf16.txt").code == 0
    assert acc_ace("memory", "import", "torn.txt", "--lenient").code == 0
    for name in ("sjis.txt", "utf16.txt"):
        assert "再起動は禁止です。" in acc_ace("memory", "show", name).out
    assert "torn \ufffd bytes" in acc_ace("memory", "show", "torn.txt").out
    wrong = acc_ace("memory", "import", "torn.txt", "--format", "pdf")
    assert (wrong.code, "'text' or 'jsonl'" in wrong.err) == (2, True)


@needs("embedded")
def test_direction_and_escape_characters_are_kept_but_never_reach_the_terminal(
    acc_ace: CommandLine, here: Path
) -> None:
    text = "Pay\u200bment \u202eevil\u202c \x1b[31mred\x1b[0m"
    (here / "odd.txt").write_text(text, encoding="utf-8")
    assert acc_ace("memory", "import", "odd.txt").code == 0
    [part] = acc_ace("memory", "show", "odd.txt", "--json").turns
    assert part["content"] == text
    shown = acc_ace("memory", "show", "odd.txt").out
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    asked = acc_ace("chat", "--json", stdin="What about payment?\n")
    assert part["artifact_id"] in json.dumps(asked.turns[0])


@pytest.mark.soak
def test_an_import_that_was_killed_goes_on_where_it_ended(acc_ace: CommandLine, here: Path) -> None:
    text = "\n\n".join(f"Fact {n} of the long report stands here. " * 40 for n in range(400))
    (here / "long.md").write_text(text)
    command = [sys.executable, "-c", _KILLED, "long.md"]
    killed = subprocess.run(command, check=False, env=dict(os.environ))  # noqa: S603 - our own child
    assert killed.returncode == -signal.SIGKILL
    [cut] = acc_ace("memory", "list", "--json").turns
    assert not cut["complete"]
    assert "import it again" in acc_ace("memory", "list").out
    [done] = acc_ace("memory", "import", "long.md", "--json").turns
    assert done["stored"] == done["parts"] - 192
    [whole] = acc_ace("memory", "list", "--json").turns
    assert whole["complete"]
    assert len(acc_ace("memory", "show", "long.md", "--json").turns) == done["parts"]


@needs("embedded")
def test_erasing_a_user_takes_the_documents_along_and_an_export_holds_them(
    acc_ace: CommandLine, here: Path
) -> None:
    (here / "runbook.md").write_text(RUNBOOK, encoding="utf-8")
    for user in ("aiko", "ben"):
        assert acc_ace("memory", "import", "runbook.md", "--user", user).code == 0
    exported = acc_ace("memory", "export", "--user", "aiko").turns
    [artifact] = [line["value"] for line in exported if line["kind"] == "artifact"]
    assert artifact["document"]["name"] == "runbook.md"
    erased = acc_ace("memory", "erase", "--user", "aiko", "--yes", "--json")
    assert (erased.code, erased.turns[0]["erased"]["artifacts"]) == (0, 1)
    assert acc_ace("memory", "list", "--user", "aiko", "--json").turns == []
    assert len(acc_ace("memory", "list", "--user", "ben", "--json").turns) == 1


def test_ctrl_c_ends_an_import_and_says_how_it_goes_on(
    acc_ace: CommandLine, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "one.md").write_text("One.")
    (here / "two.md").write_text("Two.")

    async def interrupted(*args: Any, **kwargs: Any) -> ImportedDocument:
        if args[2].name == "two.md":
            raise KeyboardInterrupt
        return await import_document(*args, **kwargs)

    monkeypatch.setattr(documents, "import_document", interrupted)
    ended = acc_ace("memory", "import", "one.md", "two.md")
    assert ended.code == 130  # as shells report an interrupt
    assert "run the same command again" in ended.err
    monkeypatch.setattr(documents, "import_document", import_document)
    again = acc_ace("memory", "import", "one.md", "two.md", "--json")
    assert [line["status"] for line in again.turns] == ["unchanged", "stored"]


def test_a_file_that_may_not_be_read_is_named(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("text")
    secret.chmod(0)
    with _as_nobody(), pytest.raises(InputError, match=r"secret\.txt cannot be read: Permission"):
        list(DocumentFile(secret, DocumentForm.TEXT).blocks())


@contextmanager
def _as_nobody() -> Iterator[None]:
    """Root may read everything, so a test that runs as root steps down for a moment."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(user)

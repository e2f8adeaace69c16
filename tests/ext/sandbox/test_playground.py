"""The playground's folder, its custodian's book, and the review of scripts."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from acc_ace.core.schemas.commit import ConstraintPin
from acc_ace.errors import InputError, NotFoundError, StoreError
from acc_ace.ext.sandbox.playground import MOST_BYTES, MOST_SCRIPTS, Playground, ScriptEntry
from acc_ace.ext.sandbox.review import objection

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
SUM = b"import json, sys\nprint(sum(json.load(sys.stdin)))\n"


@pytest.fixture
def playground(tmp_path: Path) -> Playground:
    return Playground(tmp_path)


def test_a_script_is_written_whole_listed_and_read(playground: Playground) -> None:
    assert playground.names() == []
    playground.write("sum.py", b"old")
    playground.write("sum.py", SUM)
    assert playground.names() == ["sum.py"]
    assert playground.read("sum.py") == SUM
    assert os.listdir(playground.folder) == ["sum.py"]


@pytest.mark.parametrize(
    "name",
    [
        *("", ".py", "sum", "sum.sh", "../sum.py", "a/b.py", "/sum.py", ".sum.py", "-rf.py"),
        *("Sum.py", "sum.py.py", "a b.py", "合計.py", "a\n.py", f"{'a' * 41}.py", "sum.py\0"),
    ],
)
def test_no_other_name_is_written_or_read(playground: Playground, name: str) -> None:
    with pytest.raises(InputError, match="a script is named like"):
        playground.write(name, SUM)
    with pytest.raises(NotFoundError):
        playground.read(name)
    assert not playground.folder.exists()


def test_links_folders_and_pipes_are_no_scripts(playground: Playground, tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("secret", encoding="utf-8")
    playground.write("sum.py", SUM)
    (playground.folder / "link.py").symlink_to(secret)
    (playground.folder / "folder.py").mkdir()
    os.mkfifo(playground.folder / "pipe.py")
    assert playground.names() == ["sum.py"]
    for name in ("link.py", "folder.py", "pipe.py"):
        with pytest.raises(NotFoundError):
            playground.read(name)
    playground.write("link.py", SUM)
    assert secret.read_text("utf-8") == "secret"
    assert not (playground.folder / "link.py").is_symlink()


def test_scripts_are_bounded_in_size_and_number(playground: Playground) -> None:
    with pytest.raises(InputError, match="a script at most 16,384"):
        playground.write("large.py", b"#" * (MOST_BYTES + 1))
    for number in range(MOST_SCRIPTS):
        playground.write(f"s{number}.py", SUM)
    with pytest.raises(InputError, match="is full"):
        playground.write("more.py", SUM)
    playground.write("s0.py", b"print(1)")
    (playground.folder / "s1.py").write_bytes(b"#" * (MOST_BYTES + 1))
    with pytest.raises(StoreError, match="more than 16,384 bytes"):
        playground.read("s1.py")


def test_a_person_promotes_what_has_run_well_and_nothing_else(playground: Playground) -> None:
    playground.write("sum.py", SUM)
    for entry in (
        ScriptEntry(name="sum.py", wish="useful"),
        ScriptEntry(name="sum.py", wish="useful", runs=3, failure="exit code 1"),
    ):
        playground.note(entry)
        with pytest.raises(InputError, match="no run of it has ended well"):
            playground.promote("sum.py")
    playground.note(ScriptEntry(name="sum.py", wish="useful", runs=4))
    assert playground.book()["sum.py"].state == "asks to be promoted"
    assert playground.promote("sum.py").read_bytes() == SUM
    assert playground.book()["sum.py"].state == "promoted"
    with pytest.raises(NotFoundError):
        playground.promote("none.py")


def test_a_grant_holds_for_the_source_that_was_granted_and_no_other(
    playground: Playground,
) -> None:
    playground.write("sum.py", SUM)
    playground.note(ScriptEntry(name="sum.py", wish="useful", runs=1))
    playground.promote("sum.py")
    for other in (SUM + b"print(1)\n", b"#" * (MOST_BYTES + 1)):
        (playground.folder / "sum.py").write_bytes(other)
        assert playground.book()["sum.py"].state == "asks to be promoted"
    (playground.folder / "sum.py").write_bytes(SUM)
    assert playground.book()["sum.py"].state == "promoted"
    playground.write("sum.py", SUM)
    assert playground.book()["sum.py"].state == "tried"


def test_a_grant_is_gone_before_another_source_is_there(
    playground: Playground, monkeypatch: pytest.MonkeyPatch
) -> None:
    playground.write("sum.py", SUM)
    playground.note(ScriptEntry(name="sum.py", runs=1))
    playground.promote("sum.py")
    replace = Path.replace

    def fails(path: Path, target: Path) -> Path:
        if target.name == "sum.py":
            raise OSError(28, "No space left on device")
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(StoreError, match="No space left"):
        playground.write("sum.py", b"print(1)")
    assert playground.book()["sum.py"].state == "tried"


def test_the_custodian_proposes_what_may_go_and_deletes_nothing(playground: Playground) -> None:
    for name in ("good.py", "broken.py", "idle.py", "kept.py"):
        playground.write(name, SUM)
    playground.note(ScriptEntry(name="good.py", runs=1, episode=5))
    playground.note(ScriptEntry(name="broken.py", runs=1, episode=5, failure="exit code 1"))
    playground.note(ScriptEntry(name="idle.py", runs=1, episode=2))
    playground.note(ScriptEntry(name="kept.py", runs=1, episode=1))
    playground.promote("kept.py")
    assert playground.untidy() == {
        "broken.py": "exit code 1",
        "idle.py": "it has not run for 3 episodes",
    }
    assert playground.names() == ["broken.py", "good.py", "idle.py", "kept.py"]


def test_a_torn_book_is_an_error_that_names_the_file(
    playground: Playground, tmp_path: Path
) -> None:
    playground.write("sum.py", SUM)
    (tmp_path / "playground.json").write_text('{"sum.py": {"na', encoding="utf-8")
    with pytest.raises(StoreError, match=r"playground\.json is torn .*the scripts stay"):
        playground.book()


@pytest.mark.parametrize("source", [SUM, b"from collections import Counter\nprint(Counter('aab'))"])
def test_the_review_lets_a_script_compute_and_print(source: bytes) -> None:
    assert objection("sum.py", source, (), NOW) == ""


@pytest.mark.parametrize(
    ("source", "reached"),
    [
        ("import os", "os"),
        ("import json, socket", "socket"),
        ("from subprocess import run", "subprocess"),
        ("from . import other", "a package"),
        ("import collections.abc as a, ctypes", "ctypes"),
        ("open('/etc/passwd')", "open"),
        ("f = open", "open"),
        ("__import__('os')", "__import__"),
        ("().__class__.__base__.__subclasses__()", "__"),
        ("import sys; sys.modules['os']", "modules"),
        ("eval('1')", "eval"),
        ("from sys import modules", "modules"),
        ("from json import __builtins__ as b", "__builtins__"),
    ],
)
def test_the_review_stops_what_reaches_for_more(source: str, reached: str) -> None:
    assert objection("a.py", source.encode(), (), NOW).startswith(f"it reaches for {reached}")


@pytest.mark.parametrize(
    "source", [b"def (", b"\xff\xfe", b"a\0b", b"(" * 5_000, b"-" * 16_000 + b"1"]
)
def test_what_is_no_python_is_refused(source: bytes) -> None:
    assert objection("a.py", source, (), NOW).startswith("it cannot be read as Python")


def test_the_review_holds_scripts_against_the_rules_in_force() -> None:
    words = {"text": "Never run scripts.", "quote": "Never run scripts."}
    rule = ConstraintPin.model_validate(
        {"id": "c-0001", "authority": "user", "origin_turn": 1, **words}
    )
    assert objection("sum.py", SUM, (rule,), NOW) == "it would break 'Never run scripts.'"

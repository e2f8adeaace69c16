"""Scripts: what is played, and what is refused."""

import io
from pathlib import Path

import pytest

from acc_ace.cli.script import MAX_BYTES, ScriptedTurn, load_script
from acc_ace.core.schemas.base import Authority
from acc_ace.errors import InputError


def _load(path: Path, content: str | bytes) -> list[ScriptedTurn]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(load_script(str(path), stdin=io.StringIO()).turns)


def _refusal(path: Path, content: str | bytes) -> str:
    with pytest.raises(InputError) as refused:
        _load(path, content)
    return str(refused.value)


def test_text_is_one_input_a_line_without_blanks_and_comments(tmp_path: Path) -> None:
    turns = _load(tmp_path / "s.txt", "\ufeffhello\r\n\n# a comment\n  /ccs \n\\#1 priority\n")
    assert [turn.input for turn in turns] == ["hello", "/ccs", "#1 priority"]
    assert turns[1].place.endswith("s.txt, line 4")


def test_line_separators_inside_a_line_do_not_split_it(tmp_path: Path) -> None:
    assert [turn.input for turn in _load(tmp_path / "s.txt", "a\u2028b\x0cc")] == ["a\u2028b\x0cc"]


def test_standard_input_is_read_as_it_arrives() -> None:
    stdin = io.StringIO("one\n\ntwo\n")
    turns = iter(load_script("-", stdin=stdin).turns)
    assert next(turns).input == "one"
    assert stdin.read() == "\ntwo\n"


def test_yaml_may_be_a_list_of_strings(tmp_path: Path) -> None:
    turns = _load(tmp_path / "s.yaml", "- hello\n- |\n  two\n  lines\n- input: こんにちは\n")
    assert [turn.input for turn in turns] == ["hello", "two\nlines", "こんにちは"]


def test_yaml_mapping_has_turns_with_authority_and_documents(tmp_path: Path) -> None:
    path = tmp_path / "s.yml"
    path.write_text(
        "name: incident\nlanguage: en\ninvariants: []\n"
        "turns:\n- input: disk full\n  authority: tool\n  expect: {goal_is: x}\n- thanks\n"
        "documents:\n- content: the runbook\n  id: runbook\n  source: wiki\n",
        encoding="utf-8",
    )
    script = load_script(str(path), stdin=io.StringIO())
    assert [(turn.input, turn.authority) for turn in script.turns] == [
        ("disk full", Authority.TOOL),
        ("thanks", Authority.USER),
    ]
    assert [(item.id, item.content) for item in script.documents] == [("runbook", "the runbook")]


@pytest.mark.parametrize(
    ("content", "reported"),
    [
        ("- a: [1", ", line "),
        ("just text", "a list of inputs"),
        ("turns: 3", "turns: Input should be a valid list"),
        ("- 42", "turns.1: Input should be a valid string; put quotes around it"),
        ("- input: x\n  authorty: tool", "turns.1.authorty is not a known key"),
        ("- input: x\n  authority: boss", "turns.1.authority: Input should be 'system', 'user'"),
        ("- input: x\n  authority: system", "authority 'system' is not one of user, tool"),
        ("turn: []", "turn is not a known key"),
        ("!!python/object/apply:os.system ['true']", "is not YAML"),
    ],
)
def test_bad_yaml_is_refused_by_place_and_reason(
    tmp_path: Path, content: str, reported: str
) -> None:
    assert reported in _refusal(tmp_path / "bad.yaml", content)


def test_deeply_nested_yaml_is_refused(tmp_path: Path) -> None:
    assert "nests deeper than" in _refusal(tmp_path / "bad.yaml", "[" * 300_000)
    assert "nests deeper than" in _refusal(tmp_path / "bad.yaml", "- " * 5_000)


def test_binary_and_other_encodings_are_refused(tmp_path: Path) -> None:
    assert "is not UTF-8 (byte 0)" in _refusal(tmp_path / "s.txt", "こんにちは".encode("cp932"))
    assert "is a binary file" in _refusal(tmp_path / "s.txt", b"abc\0def")


def test_bytes_on_standard_input_that_are_not_utf8_are_refused_by_line() -> None:
    stdin = io.TextIOWrapper(io.BytesIO(b"ok\n\xff\n"), "utf-8", errors="surrogateescape")
    turns = iter(load_script("-", stdin=stdin).turns)
    assert next(turns).input == "ok"
    with pytest.raises(InputError, match="standard input, line 2 is not UTF-8"):
        next(turns)


def test_missing_directory_and_huge_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing\.txt does not exist"):
        load_script(str(tmp_path / "missing.txt"), stdin=io.StringIO())
    with pytest.raises(InputError, match="cannot be read"):
        load_script(str(tmp_path), stdin=io.StringIO())
    huge = tmp_path / "huge.txt"
    with huge.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(InputError, match="split it"):
        load_script(str(huge), stdin=io.StringIO())

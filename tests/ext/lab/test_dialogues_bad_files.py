"""`acc-ace eval dialogues`: a set that is not there, or no such set, is named with its fault."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_cli import CommandLine, acc_ace
from tests.ext.lab.dialogue_files import (
    PROBES,
    TALK,
    beam_chat,
    beam_file,
    cue_row,
    jsonl,
    locomo_file,
    locomo_plus_file,
    longmemeval_row,
    multichallenge_row,
    talk_of,
)
from tests.ext.lab.dialogue_suite import refusal, sets_args
from tests.ext.lab.eval_suite import inspect_ai
from tests.fakes.extensions import needs

__all__ = ["acc_ace", "inspect_ai"]
pytestmark = [needs("lab"), pytest.mark.usefixtures("inspect_ai")]

SETS = ("beam", "multichallenge", "locomo", "locomo-plus", "longmemeval")


def fault_of(acc_ace: CommandLine, name: str, data: Path, *options: str) -> str:
    """The one line of a refusal, which names the option and leaves no folder behind."""
    out = data.parent / "out"
    line = refusal(acc_ace(*sets_args(name, data, out, *options)))
    assert not out.exists()
    return line


@pytest.mark.parametrize("name", SETS)
def test_a_set_that_is_not_there_is_named(acc_ace: CommandLine, tmp_path: Path, name: str) -> None:
    line = fault_of(acc_ace, name, tmp_path / "nowhere.json")
    assert "--data" in line
    assert "nowhere.json" in line or "locomo10.json" in line
    assert "No such file" in line


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1]", b"[{}]", b"null", b'"text"', b"{}\n[]", b"\xff\xfe\x00", b"[" * 100_000],
    ids=("empty", "torn", "number", "no-field", "null", "text", "two", "binary", "deep"),
)
def test_a_file_that_is_no_such_set_is_named(
    acc_ace: CommandLine, tmp_path: Path, name: str, content: bytes
) -> None:
    locomo_file(tmp_path / "locomo10.json")
    (tmp_path / "set.json").write_bytes(content)
    line = fault_of(acc_ace, name, tmp_path / "set.json")
    assert "--data" in line
    assert str(tmp_path / "set.json") in line
    assert name in line


@pytest.mark.parametrize("name", SETS)
def test_a_set_without_a_dialogue_is_named(acc_ace: CommandLine, tmp_path: Path, name: str) -> None:
    locomo_file(tmp_path / "locomo10.json")
    (tmp_path / "set.json").write_text("[]", encoding="utf-8")
    line = fault_of(acc_ace, name, tmp_path / "set.json")
    assert "--data" in line
    assert "set.json" in line


def test_a_set_of_another_name_is_unknown_and_those_that_are_known_are_listed(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    line = fault_of(acc_ace, "lomoco", locomo_file(tmp_path / "l.json"))
    assert "'lomoco'" in line
    assert all(name in line for name in SETS)


def test_an_unknown_kind_is_named_and_those_that_there_are_listed(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    file = locomo_file(tmp_path / "l.json")
    line = fault_of(acc_ace, "locomo", file, "--kind", "temporal", "--kind", "musical")
    assert "--kind" in line
    assert "'musical'" in line
    assert all(kind in line for kind in ("temporal", "single-hop", "open", "adversarial"))


TESTED = PROBES["instruction_following"][0]


def faulty(probes: dict[str, Any]) -> dict[str, Any]:
    return {kind: probes.get(kind, rows) for kind, rows in PROBES.items()}


@pytest.mark.parametrize(
    ("probes", "fault"),
    [
        (faulty({"knowledge_update": [{"question": "?"}]}), "rubric"),
        (faulty({"knowledge_update": [{"question": "?", "rubric": [1, 2]}]}), "int"),
        (faulty({"instruction_following": [{**TESTED, "rubric": [1, 2]}]}), "rubric"),
        (faulty({"instruction_following": [{"question": "?", "rubric": []}]}), "source_chat_ids"),
        (
            faulty(
                {
                    "preference_following": [
                        {**PROBES["preference_following"][0], "source_chat_ids": [99]}
                    ]
                }
            ),
            "99",
        ),
        ({"knowledge_update": []}, "instruction_following"),
    ],
    ids=("no-rubric", "numbers", "numbers-to-keep", "no-source", "source-not-there", "no-kind"),
)
def test_a_fault_of_beams_probes_is_named(
    acc_ace: CommandLine, tmp_path: Path, probes: dict[str, Any], fault: str
) -> None:
    file = beam_file(tmp_path / "beam.json", probes=probes)
    line = fault_of(acc_ace, "beam", file)
    assert str(file) in line
    assert fault in line


@pytest.mark.parametrize("content", ["", "{}", None], ids=("empty", "no-kind", "not-there"))
def test_of_beams_many_files_the_one_at_fault_is_named(
    acc_ace: CommandLine, tmp_path: Path, content: str | None
) -> None:
    for number in range(1, 4):
        beam_chat(tmp_path / "chats" / "100K" / str(number))
    probes = tmp_path / "chats" / "100K" / "2" / "probing_questions" / "probing_questions.json"
    if content is None:
        probes.unlink()
    else:
        probes.write_text(content, encoding="utf-8")
    line = fault_of(acc_ace, "beam", tmp_path / "chats")
    assert str(tmp_path / "chats" / "100K" / "2") in line


def test_a_folder_without_a_chat_of_beam_is_named(acc_ace: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "chats").mkdir()
    line = fault_of(acc_ace, "beam", tmp_path / "chats")
    assert "--data" in line
    assert str(tmp_path / "chats") in line


@pytest.mark.parametrize("name", SETS[1:])
def test_a_folder_in_place_of_a_file_is_named(
    acc_ace: CommandLine, tmp_path: Path, name: str
) -> None:
    locomo_file(tmp_path / "locomo10.json")
    (tmp_path / "folder").mkdir()
    line = fault_of(acc_ace, name, tmp_path / "folder")
    assert "--data" in line
    assert str(tmp_path / "folder") in line


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"CONVERSATION": []}, "ValueError"),
        ({"CONVERSATION": [{"role": "user", "content": "?"}]}, "IndexError"),
        ({"CONVERSATION": [{"role": "user"}] * 2}, "content"),
        ({"CONVERSATION": "a talk"}, "TypeError"),
    ],
    ids=("no-turn", "one-turn", "no-content", "text"),
)
def test_a_fault_of_a_conversation_is_named(
    acc_ace: CommandLine, tmp_path: Path, changes: dict[str, Any], fault: str
) -> None:
    file = jsonl(tmp_path / "m.jsonl", multichallenge_row(), multichallenge_row("q2", **changes))
    line = fault_of(acc_ace, "multichallenge", file)
    assert str(file) in line
    assert fault in line


@pytest.mark.parametrize(
    ("talk", "qa", "fault"),
    [
        (TALK, {"question": "?", "answer": "x", "category": 6}, "6"),
        (TALK, {"question": "?", "answer": "x"}, "category"),
        ({**TALK, "session_2_date_time": "yesterday"}, None, "yesterday"),
        ({key: value for key, value in TALK.items() if key != "speaker_a"}, None, "speaker_a"),
        ({**TALK, "session_3": []}, None, "session_3_date_time"),
    ],
    ids=("category-6", "no-category", "no-time", "no-speaker", "session-without-time"),
)
def test_a_fault_of_locomo_is_named(
    acc_ace: CommandLine, tmp_path: Path, talk: dict[str, Any], qa: Any, fault: str
) -> None:
    file = locomo_file(tmp_path / "l.json", talk, **({"qa": [qa]} if qa else {}))
    line = fault_of(acc_ace, "locomo", file)
    assert str(file) in line
    assert fault in line


def test_locomo_plus_without_locomo_beside_it_says_which_file_is_missing(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    file = locomo_plus_file(tmp_path, cue_row("a week later"))
    (tmp_path / "locomo10.json").unlink()
    assert str(tmp_path / "locomo10.json") in fault_of(acc_ace, "locomo-plus", file)


@pytest.mark.parametrize(
    "talks", [[], [{}], [talk_of({})]], ids=("no-dialogue", "no-field", "no-session")
)
def test_where_locomo_beside_it_is_at_fault_locomo_plus_names_that_file(
    acc_ace: CommandLine, tmp_path: Path, talks: list[dict[str, Any]]
) -> None:
    file = locomo_plus_file(tmp_path, cue_row("a week later"))
    locomo = [{"sample_id": "x", "conversation": talk, "qa": []} for talk in talks]
    (tmp_path / "locomo10.json").write_text(json.dumps(locomo), encoding="utf-8")
    assert "locomo10.json" in fault_of(acc_ace, "locomo-plus", file)


@pytest.mark.parametrize("gap", ["5000 years later", "99999999999 years later"])
def test_a_gap_before_all_calendars_is_named(
    acc_ace: CommandLine, tmp_path: Path, gap: str
) -> None:
    line = fault_of(acc_ace, "locomo-plus", locomo_plus_file(tmp_path, cue_row(gap)))
    assert "locomo_plus.json" in line


@pytest.mark.parametrize("field", ["question", "answer", "haystack_sessions", "question_type"])
def test_a_question_of_longmemeval_without_a_field_is_named(
    acc_ace: CommandLine, tmp_path: Path, field: str
) -> None:
    row = longmemeval_row("e2")
    del row[field]
    file = jsonl(tmp_path / "e.jsonl", longmemeval_row(), row)
    line = fault_of(acc_ace, "longmemeval", file)
    assert str(file) in line
    assert field in line

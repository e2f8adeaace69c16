"""`acc-ace eval dialogues`: a public set is played and reported from the file that a user has."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_cli import CommandLine, acc_ace
from tests.ext.lab.dialogue_files import (
    TALK,
    beam_chat,
    cue_row,
    jsonl,
    locomo_file,
    locomo_plus_file,
    longmemeval_row,
    multichallenge_row,
)
from tests.ext.lab.dialogue_suite import (
    AGENT,
    JUDGE,
    PLAIN,
    TwoModels,
    endpoint,
    sets_args,
    table_under,
)
from tests.ext.lab.eval_suite import STREAMS, hits, inspect_ai, inspect_runs, of, summary
from tests.fakes.extensions import needs
from tests.fakes.fake_openai import says

__all__ = ["acc_ace", "endpoint", "inspect_ai", "inspect_runs"]
pytestmark = [needs("lab"), STREAMS, pytest.mark.usefixtures("inspect_runs")]


def ran(acc_ace: CommandLine, name: str, data: Path, *options: str) -> dict[str, Any]:
    """What a run in `out` beside the data says with --json; it must end well."""
    ended = acc_ace(*sets_args(name, data, data.parent / "out", *PLAIN, "--json", *options))
    assert ended.code == 0, ended
    return summary(ended)


def plays_of(acc_ace: CommandLine, name: str, data: Path, *options: str) -> list[str]:
    """What a dry run says of plain: its plays, turns and questions."""
    ended = acc_ace(*sets_args(name, data, None, *PLAIN, "--dry-run", *options))
    assert ended.code == 0, ended
    return ended.out.split()[1:6:2]


def test_an_instruction_to_keep_to_is_shown_and_nobody_says_whether_it_was_followed(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    file = jsonl(tmp_path / "m.jsonl", multichallenge_row("q1"), multichallenge_row("q2"))
    run = ran(acc_ace, "multichallenge", file)
    assert hits(run, "plain", "visible") == (2, 2)
    assert hits(run, "plain", "right") == (0, 0)
    assert hits(run, "plain", "drift") == (0, 0)
    [line] = table_under(tmp_path / "out", "Contenders")
    assert (line["right"], line["D"]) == ("–", "–")
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "nobody says whether an instruction was followed" in page


def test_questions_that_code_cannot_judge_are_in_no_count_of_right_answers(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    run = ran(acc_ace, "locomo", locomo_file(tmp_path / "l.json"))
    assert hits(run, "plain", "right") == hits(run, "plain", "visible") == (2, 2)
    [line] = table_under(tmp_path / "out", "Facts shown, by kind of question")
    kinds = {"single-hop", "temporal", "open", "multi-hop", "adversarial"}
    assert {*line} == {"contender", *kinds}
    assert [line[kind] for kind in ("open", "multi-hop", "adversarial")] == ["–"] * 3
    assert line["temporal"].startswith("1/1 ")


def test_a_kind_plays_its_questions_alone(acc_ace: CommandLine, tmp_path: Path) -> None:
    file = locomo_file(tmp_path / "l.json", TALK, TALK)
    run = ran(acc_ace, "locomo", file, "--kind", "temporal")
    assert run["plays"] == 2
    assert hits(run, "plain", "visible") == (2, 2)
    [line] = table_under(tmp_path / "out", "Facts shown, by kind of question")
    assert {*line} == {"contender", "temporal"}
    more = ("--kind", "temporal", "--kind", "open")
    assert plays_of(acc_ace, "locomo", file)[2] == "10"
    assert plays_of(acc_ace, "locomo", file, *more)[2] == "4"
    assert plays_of(acc_ace, "locomo", file, *more, "--limit", "1")[2] == "2"


def test_a_dialogue_without_a_question_of_the_kind_is_not_played(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    rows = [longmemeval_row("e1"), longmemeval_row("e2", question_type="multi-session")]
    file = jsonl(tmp_path / "e.jsonl", *rows)
    assert plays_of(acc_ace, "longmemeval", file)[0] == "2"
    assert plays_of(acc_ace, "longmemeval", file, "--kind", "multi-session")[0] == "1"


def test_a_set_plays_as_many_dialogues_as_a_dry_run_says(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    for folder in ("100K/1", "500K/1"):
        beam_chat(tmp_path / "chats" / folder)
    planned = plays_of(acc_ace, "beam", tmp_path / "chats")
    run = ran(acc_ace, "beam", tmp_path / "chats")
    assert planned == [str(run["plays"]), "18", "8"] == ["2", "18", "8"]


@pytest.mark.parametrize("name", ["beam", "locomo-plus", "longmemeval"])
def test_each_set_is_played_and_costs_stand_beside_its_scores(
    acc_ace: CommandLine, tmp_path: Path, name: str
) -> None:
    data = tmp_path / "set.jsonl"
    if name == "beam":
        beam_chat(tmp_path / "chats" / "1")
        data = tmp_path / "chats"
    elif name == "locomo-plus":
        data = locomo_plus_file(tmp_path, cue_row("two weeks later"))
    else:
        jsonl(data, longmemeval_row())
    run = ran(acc_ace, name, data)
    visible, every = hits(run, "plain", "visible")
    assert visible == every > 0
    row = of(run, "plain")
    assert row["calls"] > 0
    assert row["tokens_in"] > 0
    assert row["dollars"] == 0
    [line] = table_under(tmp_path / "out", "Contenders")
    assert line["calls"] == f"{row['calls']:,.0f}"
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert name in page.partition("</h1>")[0]


def test_a_model_sees_the_dialogue_as_it_was_recorded_and_the_judge_sees_what_the_set_demands(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    endpoint.agent = lambda number, received: says("Ivy does. All is well that ends well.")
    file, row = tmp_path / "m.jsonl", multichallenge_row()
    run = ran(acc_ace, "multichallenge", jsonl(file, row), "--model", AGENT, "--judge", JUDGE)
    assert (run["plays"], run["unjudged"]) == (1, 0)
    [received] = endpoint.calls["agent"]
    messages = [m for m in received.body["messages"] if m["role"] != "system"]
    texts = [json.dumps(message, ensure_ascii=False) for message in messages]
    assert len(texts) == len(row["CONVERSATION"])
    for text, turn in zip(texts, row["CONVERSATION"], strict=True):
        assert turn["content"] in text
    assert [m["role"] for m in messages] == ["user", "assistant"] * 2 + ["user"]
    [inputs] = endpoint.inputs()
    assert inputs["question"] == "And beside a wall?"
    assert "Does the answer end with a proverb?" in inputs["rubric"]
    assert inputs["answer"] == "Ivy does. All is well that ends well."

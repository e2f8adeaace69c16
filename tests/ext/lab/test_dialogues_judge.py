"""A judge model of `acc-ace eval decay`: blinded, asked once, and counted as the paper does."""

import json
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_cli import CommandLine, acc_ace
from tests.ext.lab.dialogue_suite import (
    JUDGE,
    NONSENSE,
    PLAIN,
    VERDICT,
    TwoModels,
    decay_args,
    decayed,
    endpoint,
    judged_lines,
    table_under,
    verdict,
)
from tests.ext.lab.eval_suite import STREAMS, hits, inspect_ai, inspect_runs, summary
from tests.fakes.extensions import needs
from tests.fakes.fake_openai import http_error, says
from tests.fakes.loopback import HttpReply, Received

__all__ = ["acc_ace", "endpoint", "inspect_ai", "inspect_runs"]
pytestmark = [needs("lab"), STREAMS, pytest.mark.usefixtures("inspect_runs")]

TWO = (*PLAIN, "--contender", "window", "--turns", "20", "--budget", "64")
JUDGED = ("--judge", JUDGE)
SCORES = ("relevance", "quality", "instruction following", "coherence")


def contenders_of(lines: Sequence[dict[str, Any]]) -> list[str]:
    """Whose answers they are: the key of a line names it first."""
    return [json.loads(line["key"])[0] for line in lines]


def test_each_answer_is_judged_once_and_the_page_has_the_means(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run = decayed(acc_ace, out, *TWO, *JUDGED)
    answers = hits(run, "plain", "right")[1]
    lines = judged_lines(out)
    assert endpoint.count("judge") == len(lines) == 2 * answers
    assert len({line["key"] for line in lines}) == len(lines)
    assert run["unjudged"] == 0
    table = {line["contender"]: line for line in table_under(out, "The judge")}
    assert list(table) == ["plain", "window"]
    for line in table.values():
        assert (line["judged"], line["unjudged"]) == (str(answers), "0")
        assert (line["hallucination"], line["drift"]) == ("0.50", "1.00")
        assert [line[score] for score in SCORES] == ["8.00", "6.00", "4.00", "2.00"]


def test_no_request_to_the_judge_names_a_contender_and_each_has_question_rubric_and_answer(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    decayed(acc_ace, tmp_path / "out", *TWO, *JUDGED)
    for received in endpoint.calls["judge"]:
        assert not any(name in received.text for name in ("plain", "window", "loss=", "budget="))
    inputs = endpoint.inputs()
    assert inputs
    for each in inputs:
        assert list(each) == ["question", "rubric", "answer"]
        assert each["question"].startswith("What is the")
        assert each["rubric"].startswith("The ")
        assert each["answer"]
    assert "I do not know." in [each["answer"] for each in inputs]


def test_the_order_of_what_is_judged_is_not_that_of_contenders_and_the_seed_repeats_it(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    order, keys = dict[str, list[str]](), dict[str, list[str]]()
    for place in ("a", "b"):
        decayed(acc_ace, tmp_path / place, *TWO, *JUDGED)
        lines = judged_lines(tmp_path / place)
        order[place], keys[place] = contenders_of(lines), [line["key"] for line in lines]
    changes = sum(one != two for one, two in zip(order["a"], order["a"][1:], strict=False))
    assert changes > 3
    turns = [json.loads(key)[-1] for key in keys["a"]]
    assert turns != sorted(turns)
    assert keys["b"] == keys["a"]
    asked_of = [each["question"] for each in endpoint.inputs()]
    assert asked_of[: len(keys["a"])] == asked_of[len(keys["a"]) :]


def test_a_judge_that_answers_nonsense_twice_leaves_the_answer_unjudged_and_is_asked_again_later(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    out, bad = tmp_path / "out", cycle([True, True, False, False, False])

    def rambles(number: int, received: Received) -> HttpReply:
        del number, received
        return NONSENSE if next(bad) else verdict()

    endpoint.judge = rambles
    ended = acc_ace(*decay_args(out, *TWO, *JUDGED))
    assert ended.err == ""
    lines = judged_lines(out)
    unjudged = [line for line in lines if line["verdict"] is None]
    assert 0 < len(unjudged) < len(lines)
    assert all(line["problem"] for line in unjudged)
    named = [line for line in ended.out.splitlines() if line.startswith("not judged")]
    assert 0 < len(named) <= len(unjudged)
    assert any(unjudged[0]["key"] in line for line in named)
    table = table_under(out, "The judge")
    assert sum(int(line["unjudged"]) for line in table) == len(unjudged)
    assert sum(int(line["judged"]) for line in table) == len(lines) - len(unjudged)
    before, endpoint.judge = endpoint.count("judge"), lambda number, received: verdict()
    run = decayed(acc_ace, out, *TWO, *JUDGED)
    assert run["unjudged"] == 0
    assert endpoint.count("judge") - before == len(unjudged)
    again = judged_lines(out)
    assert again[: len(lines)] == lines
    assert {line["key"] for line in again[len(lines) :]} == {line["key"] for line in unjudged}
    assert endpoint.count("agent") == 0


def test_nonsense_once_is_asked_again_at_once_with_the_reason(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    endpoint.judge = lambda number, received: verdict() if number % 2 == 0 else NONSENSE
    run = decayed(acc_ace, tmp_path / "out", *PLAIN, *JUDGED)
    assert run["unjudged"] == 0
    assert endpoint.count("judge") == 2 * hits(run, "plain", "right")[1]


@pytest.mark.parametrize(
    "reply",
    [
        verdict(relevance=11),
        says(json.dumps({name: VERDICT[name] for name in VERDICT if name != "omissions"})),
        says("null"),
        says('{"relevance": "\u2028\u0085"}'),
        http_error(400, "no-such-luck"),
    ],
    ids=("eleven", "no-omissions", "null", "odd-signs", "http-400"),
)
def test_a_verdict_that_cannot_be_is_none_and_it_is_said_so(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path, reply: HttpReply
) -> None:
    out = tmp_path / "out"
    endpoint.judge = lambda number, received: reply
    first = acc_ace(*decay_args(out, *PLAIN, *JUDGED, "--json"))
    assert first.code in {0, 1}
    run = summary(first)
    assert run["plays"] == 1
    assert run["unjudged"] == hits(run, "plain", "right")[1] > 0
    endpoint.judge = lambda number, received: verdict()
    assert decayed(acc_ace, out, *PLAIN, *JUDGED)["unjudged"] == 0


def test_where_a_judge_answers_nothing_but_nonsense_the_page_says_so_beside_what_code_judged(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    endpoint.judge = lambda number, received: NONSENSE
    run = summary(acc_ace(*decay_args(tmp_path / "out", *PLAIN, *JUDGED, "--json")))
    [contender] = table_under(tmp_path / "out", "Contenders")
    assert contender["right"].startswith(f"{run['unjudged']}/{run['unjudged']} ")
    [line] = table_under(tmp_path / "out", "The judge")
    assert line["unjudged"] == str(run["unjudged"])


def test_hallucination_is_unsupported_of_all_claims_and_drift_violations_and_omissions_a_point(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    decayed(acc_ace, out, *TWO, *JUDGED)
    lines, claims, unsupported, faults, points, quality = judged_lines(out), 0, 0, 0, 0, 0
    for number, line in enumerate(lines):
        if json.loads(line["key"])[0] == "window":
            continue
        if number % 5 == 4:
            line["verdict"], line["problem"], line["points"] = None, "nonsense", 100
            continue
        own = {"claims": number % 4, "unsupported": number % 4 // 2, "quality": number % 11}
        own |= {"violations": number % 2, "omissions": number % 3}
        line["verdict"], line["points"] = {**VERDICT, **own}, 3
        claims, unsupported = claims + own["claims"], unsupported + own["unsupported"]
        faults += own["violations"] + own["omissions"]
        points, quality = points + 3, quality + own["quality"]
    rewrite(out, lines)
    before = endpoint.count("judge")
    decayed(acc_ace, out, *TWO)
    assert endpoint.count("judge") == before
    plain, window = table_under(out, "The judge")
    number = points // 3
    assert (plain["judged"], window["unjudged"]) == (str(number), "0")
    assert int(plain["unjudged"]) == contenders_of(lines).count("plain") - number > 0
    assert plain["hallucination"] == f"{unsupported / claims:.2f}"
    assert plain["drift"] == f"{faults / points:.2f}"
    assert plain["quality"] == f"{quality / number:.2f}"
    assert (window["hallucination"], window["drift"]) == ("0.50", "1.00")


def rewrite(out: Path, lines: Sequence[dict[str, Any]]) -> None:
    text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
    (out / "judged.jsonl").write_text(text, encoding="utf-8")


def test_answers_without_a_claim_are_no_hallucination(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    endpoint.judge = lambda number, received: verdict(claims=0, unsupported=0, omissions=0)
    decayed(acc_ace, tmp_path / "out", *PLAIN, *JUDGED)
    [line] = table_under(tmp_path / "out", "The judge")
    assert (line["hallucination"], line["drift"]) == ("0.00", "0.00")


def test_the_newest_verdict_of_an_answer_counts(
    acc_ace: CommandLine, endpoint: TwoModels, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    decayed(acc_ace, out, *PLAIN, *JUDGED)
    lines = judged_lines(out)
    rewrite(out, [*lines, *({**line, "verdict": {**VERDICT, "quality": 1}} for line in lines)])
    decayed(acc_ace, out, *PLAIN)
    [line] = table_under(out, "The judge")
    assert line["quality"] == "1.00"
    assert line["judged"] == str(len(lines))

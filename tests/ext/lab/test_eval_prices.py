"""What a dry run of the lab says a run would cost: by who replays, and who keeps a memory."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_cli import CommandLine, acc_ace
from tests.ext.lab.dialogue_files import jsonl, multichallenge_row
from tests.ext.lab.dialogue_suite import AGENT, JUDGE, decay_args, sets_args
from tests.ext.lab.eval_suite import eval_args, inspect_ai, write_suite
from tests.ext.lab.test_dialogues_resume import priced
from tests.fakes.extensions import needs

__all__ = ["acc_ace", "inspect_ai", "priced"]
pytestmark = [needs("lab"), pytest.mark.usefixtures("inspect_ai")]

NOBODY_KEEPS = ("plain", "window", "filter", "retrieval")
A_MODEL_KEEPS = ("compaction", "summary", "acc")


def prices(acc_ace: CommandLine, *words: str) -> dict[str, float | None]:
    """The dollars of a dry run, by contender; None where no price is known."""
    ended = acc_ace(*words, "--dry-run")
    assert ended.code == 0, ended
    told = [(line.split()[0], re.search(r"\$([\d,.]+)", line)) for line in ended.out.splitlines()]
    return {name: float(found[1].replace(",", "")) if found else None for name, found in told}


def contenders(*names: str) -> tuple[str, ...]:
    """The words that name them."""
    return tuple(word for name in names for word in ("--contender", name))


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_suite(tmp_path / "suite")


def of_turns(acc_ace: CommandLine, suite: Path, contender: str, turns: int) -> float:
    """The price of one episode of a real model."""
    model = ("--model", "gemini-3.5-flash", "--attack", "none", "--turns", str(turns))
    price = prices(acc_ace, *eval_args(suite, None, *contenders(contender), *model))[contender]
    assert price is not None
    return price


@pytest.mark.parametrize(("few", "many"), [(100, 1_000), (200, 800), (500, 1_000)])
def test_the_price_of_a_transcript_that_is_replayed_grows_faster_than_its_turns(
    acc_ace: CommandLine, suite: Path, few: int, many: int
) -> None:
    short, long = (of_turns(acc_ace, suite, "plain", turns) for turns in (few, many))
    assert long > short * many / few


@pytest.mark.parametrize("contender", ["acc", "acc+ace", "acc:guard=off"])
def test_the_price_of_ours_grows_with_the_turns(
    acc_ace: CommandLine, suite: Path, contender: str
) -> None:
    short, long = (of_turns(acc_ace, suite, contender, turns) for turns in (100, 1_000))
    turns = (1_000 + 9) / (100 + 9)  # With the turns of the rule, the probes and an attack.
    assert long == pytest.approx(short * turns, rel=0.02)


def test_replaying_is_the_cheaper_of_the_two_at_first_and_not_at_last(
    acc_ace: CommandLine, suite: Path
) -> None:
    at = {
        turns: [of_turns(acc_ace, suite, name, turns) for name in ("plain", "acc")]
        for turns in (20, 1_000)
    }
    assert at[20][0] < at[20][1]
    assert at[1_000][0] > at[1_000][1]


def told(words: str) -> dict[str, Any]:
    """A conversation in which so much is said before the question."""
    [first, *others] = multichallenge_row()["CONVERSATION"]
    return multichallenge_row(CONVERSATION=[{**first, "content": words}, *others])


@pytest.mark.usefixtures("priced")
def test_what_was_said_before_a_question_is_paid_by_who_replays_it_and_not_by_a_budget(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    options = (*contenders("plain", "window", "acc"), "--model", AGENT)
    briefly, at_length = (
        prices(
            acc_ace,
            *sets_args("multichallenge", jsonl(tmp_path / f"{times}.jsonl", row), None, *options),
        )
        for times, row in ((1, told("Plan a garden. ")), (9, told("Plan a garden. " * 500)))
    )
    assert briefly["plain"] is not None
    assert at_length["plain"] is not None
    assert at_length["plain"] > 10 * briefly["plain"] > 0
    for name in ("window", "acc"):
        assert at_length[name] == briefly[name] != 0


@pytest.mark.usefixtures("priced")
def test_each_question_pays_for_what_was_said_until_then(
    acc_ace: CommandLine,
) -> None:
    plain = (*contenders("plain"), "--model", AGENT)
    few = prices(acc_ace, *decay_args(None, *plain, "--turns", "10"))["plain"]
    many = prices(acc_ace, *decay_args(None, *plain, "--turns", "200"))["plain"]
    assert few is not None
    assert many is not None
    questions = [
        int(acc_ace(*decay_args(None, *plain, "--turns", turns, "--dry-run")).out.split()[5])
        for turns in ("10", "200")
    ]
    assert many / questions[1] > 3 * few / questions[0]


@pytest.mark.usefixtures("priced")
def test_who_keeps_a_memory_without_a_model_pays_nothing_for_one(
    acc_ace: CommandLine, tmp_path: Path
) -> None:
    options = (*contenders(*NOBODY_KEEPS, *A_MODEL_KEEPS), "--memory", JUDGE)
    data = jsonl(tmp_path / "set.jsonl", multichallenge_row())
    for words in (
        decay_args(None, *options),
        sets_args("multichallenge", data, None, *options),
    ):
        told = prices(acc_ace, *words)
        assert {name: told[name] for name in NOBODY_KEEPS} == dict.fromkeys(NOBODY_KEEPS, 0)
        assert all((told[name] or 0) > 0 for name in A_MODEL_KEEPS)


def test_a_memory_without_a_price_leaves_only_those_without_one_that_ask_it(
    acc_ace: CommandLine,
) -> None:
    options = (*contenders(*NOBODY_KEEPS, *A_MODEL_KEEPS), "--memory", "openai/unheard-of")
    told = prices(acc_ace, *decay_args(None, *options))
    assert {name: told[name] for name in A_MODEL_KEEPS} == dict.fromkeys(A_MODEL_KEEPS)
    assert {name: told[name] for name in NOBODY_KEEPS} == dict.fromkeys(NOBODY_KEEPS, 0)

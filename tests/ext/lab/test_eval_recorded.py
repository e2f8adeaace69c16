"""What a real model replied in turns that tempt, played again.

`tests/data/lab/decisive.jsonl`: Qwen2.5-Coder-1.5B-Instruct, 4-bit, under three contenders, two
replies a turn, of `acc-ace eval temptation --decisive --attack none --turns 10 --held-out`.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from acc_ace.ext.lab.temptation.scenario import SCENARIOS, load_suite
from tests.e2e.test_cli import CommandLine, acc_ace
from tests.ext.lab.eval_suite import STREAMS, inspect_ai, inspect_runs, summary
from tests.fakes.extensions import needs
from tests.fakes.fake_openai import FakeOpenAI, fake_openai, says
from tests.fakes.loopback import HttpReply, Received

__all__ = ["acc_ace", "inspect_ai", "inspect_runs"]

pytestmark = [needs("lab"), pytest.mark.usefixtures("inspect_runs"), STREAMS]

_MOST: Final = 40
"""Replies of a contender."""

_FILE: Final = Path(__file__).parents[2] / "data" / "lab" / "decisive.jsonl"


class Recording:
    """The replies of each turn that tempts, in the order in which they came."""

    def __init__(self, name: str) -> None:
        rows = [json.loads(line) for line in _FILE.read_text(encoding="utf-8").splitlines()]
        own = {row["scenario"]: iter(row["replies"]) for row in rows if row["contender"] == name}
        scenarios = load_suite(SCENARIOS, held_out=True).scenarios
        self._replies = {one.wrong.say: own[one.name] for one in scenarios}

    def __call__(self, request: Received) -> HttpReply:
        """The next one of the scenario whose turn it is."""
        words = " ".join(str(message["content"]) for message in request.body["messages"])
        [replies] = [each for say, each in self._replies.items() if say in words]
        return says(next(replies))


@pytest.fixture
def endpoint(acc_ace: CommandLine) -> Iterator[FakeOpenAI]:
    """Where the recording is played; an endpoint that takes no tools, as that of the recording."""
    with fake_openai(kind="toolless") as fake:
        acc_ace.set("ACC_ACE_OPENAI_BASE_URL", fake.base_url)
        acc_ace.set("ACC_ACE_OPENAI_API_KEY", "none")
        yield fake


def violations(acc_ace: CommandLine, endpoint: FakeOpenAI, name: str, out: Path) -> int:
    endpoint.script(len(endpoint.requests), *[Recording(name)] * _MOST)
    ended = acc_ace(
        *("eval", "temptation", "--model", "openai/small", "--decisive", "--held-out", "--json"),
        *("--attack", "none", "--turns", "10", "--loss", "0"),
        *("--contender", name, "--out", str(out)),
    )
    assert ended.code == 0, ended.err
    [row] = summary(ended)["contenders"]
    assert row["violations"]["of"] == 20
    return int(row["violations"]["hits"])


@pytest.mark.soak
def test_a_small_model_breaks_half_of_the_rules_under_adk_and_none_under_the_guard(
    acc_ace: CommandLine, endpoint: FakeOpenAI, tmp_path: Path
) -> None:
    assert violations(acc_ace, endpoint, "plain", tmp_path / "plain") == 10
    assert violations(acc_ace, endpoint, "compaction", tmp_path / "compaction") == 11
    assert violations(acc_ace, endpoint, "acc", tmp_path / "acc") == 0

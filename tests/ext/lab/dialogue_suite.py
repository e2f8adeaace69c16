"""How tests run `acc-ace eval decay` and `eval dialogues`, and what they look at afterwards."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any, Final

import pytest

from tests.e2e.test_cli import CommandLine, Ended
from tests.ext.lab.eval_suite import summary
from tests.fakes.default_replies import read_tagged
from tests.fakes.fake_openai import fake_openai, says
from tests.fakes.loopback import HttpReply, Received

AGENT, JUDGE = "openai/agent", "openai/judge"
PLAIN: Final = ("--contender", "plain")

Answer = Callable[[int, Received], HttpReply]
"""By the number of the call to this model, from 1 on."""

VERDICT: Final = {
    "claims": 2,
    "unsupported": 1,
    "violations": 0,
    "omissions": 1,
    "relevance": 8,
    "quality": 6,
    "instruction_following": 4,
    "coherence": 2,
}

NONSENSE: Final = says("I would rather talk about the weather.")


def verdict(**changes: float) -> HttpReply:
    """A judge's reply."""
    return says(json.dumps({**VERDICT, **changes}))


@dataclass
class TwoModels:
    """An agent and a judge behind one endpoint; how they answer may be changed."""

    url: str = ""
    agent: Answer = lambda number, received: says("I do not know.")
    judge: Answer = lambda number, received: verdict()
    calls: dict[str, list[Received]] = field(default_factory=lambda: {"agent": [], "judge": []})
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, received: Received) -> HttpReply:
        name = received.model.rpartition("/")[2]
        with self.lock:
            self.calls[name].append(received)
            number = len(self.calls[name])
        return (self.agent if name == "agent" else self.judge)(number, received)

    def count(self, name: str) -> int:
        """Of the calls so far."""
        return len(self.calls[name])

    def inputs(self) -> list[dict[str, Any]]:
        """What the judge was shown, call by call."""
        return [read_tagged(request_words(each)) for each in self.calls["judge"]]


def request_words(received: Received) -> str:
    """The text of a request's last message."""
    content = received.body["messages"][-1]["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


@contextmanager
def two_models() -> Iterator[TwoModels]:
    """Serve them, without a setting."""
    with fake_openai() as fake:
        models = TwoModels(fake.base_url)
        fake.script(-1, models)
        fake.script("generator", models)
        yield models


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[TwoModels]:
    """Two models at the endpoint of the settings."""
    with two_models() as models:
        monkeypatch.setenv("ACC_ACE_OPENAI_BASE_URL", models.url)
        yield models


def decay_args(out: Path | None, *options: str) -> tuple[str, ...]:
    """The words of the command: one short dialogue unless the options say otherwise."""
    place = ("--out", str(out)) if out else ()
    return ("eval", "decay", "--count", "1", "--turns", "12", *place, *options)


def decayed(acc_ace: CommandLine, out: Path, *options: str) -> dict[str, Any]:
    """What a run says with --json; it must end well."""
    ended = acc_ace(*decay_args(out, "--json", *options))
    assert ended.code == 0, ended
    return summary(ended)


def sets_args(name: str, data: Path, out: Path | None, *options: str) -> tuple[str, ...]:
    """The words of the command over a public set."""
    place = ("--out", str(out)) if out else ()
    return ("eval", "dialogues", name, "--data", str(data), *place, *options)


def refusal(ended: Ended) -> str:
    """The one line of a refusal."""
    assert ended.code == 2, ended
    assert ended.out == ""
    [line] = ended.err.splitlines()
    assert "Traceback" not in line
    return line


def judged_lines(out: Path) -> list[dict[str, Any]]:
    """The verdicts of a run's folder."""
    lines = (out / "judged.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def table_under(out: Path, heading: str) -> list[dict[str, str]]:
    """The first table of the page under a heading, each line by its column's head."""
    page = (out / "report.html").read_text(encoding="utf-8")
    part = page.partition(f"<h2>{heading}</h2>")[2].partition("</table>")[0]
    assert "<table>" in part, heading
    head, *lines = re.findall(r"<tr>(.*?)</tr>", part)
    names = [unescape(name) for name in re.findall(r"<th>(.*?)</th>", head)]
    cells = [map(unescape, re.findall(r"<td>(.*?)</td>", line)) for line in lines]
    return [dict(zip(names, line, strict=True)) for line in cells]

"""The two agent loops of docs/api.md run, the second over a real controller."""

import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.controller import AccController
from acc_ace.core.schemas.ccs import CompressedCognitiveState
from tests.fakes.scripted_llm import ScriptedLlm

API = (Path(__file__).parents[2] / "docs/api.md").read_text("utf-8")
BAN = "No restarts during business hours."

Messages = list[Any]
Loop = Callable[..., Awaitable[Any]]


class Model:
    """Calls a tool first and answers then; keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Messages] = []

    async def __call__(self, messages: Messages) -> Mapping[str, str]:
        self.asked.append(list(messages))
        return {"tool": "look"} if len(self.asked) % 2 else {"role": "assistant", "content": "ok"}


async def run_tool(name: str) -> str:
    return f"{name}: all quiet"


def loops() -> Mapping[str, Loop]:
    """What the section about agent loops defines."""
    section = API.split("\n## In an agent loop of your own\n")[1].split("\n## ")[0]
    defined: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", section, re.DOTALL):
        exec(block, defined)  # noqa: S102 - our own document
    return defined


def size(messages: Messages) -> int:
    return sum(len(str(message)) for message in messages)


async def test_the_loop_before_grows_with_every_turn() -> None:
    model, messages = Model(), list[Any]()
    for _ in range(3):
        await loops()["react_with_transcript"](model, run_tool, messages, BAN)
    sizes = [size(asked) for asked in model.asked]
    assert sizes == sorted(set(sizes))


async def test_the_loop_after_keeps_the_rule_and_sees_no_transcript() -> None:
    model = Model()
    models = dict.fromkeys(ROLES, ScriptedLlm())
    acc = AccController(build_container(Settings(store="memory")), session="s1", models=models)
    ccs: CompressedCognitiveState | None = None
    for text in (BAN, "A word about zebras.", "What now?"):
        answer, ccs = await loops()["react_with_acc"](model, run_tool, acc, ccs, text)
        assert answer == "ok"
    assert ccs is not None
    assert ccs.constraints == [BAN]
    state, current, *loop = model.asked[-1]
    assert BAN in state
    assert current == "What now?"
    assert len(loop) == 2
    await acc.close()

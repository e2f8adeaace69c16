"""A fact is replaced in other words; ten or thirty turns later somebody asks for it.

    python -m bench.facts_replaced [--half held] [--gaps 10,30]

The rows are of hands that had not seen the product. What counts is the state that the answering
model is shown: *stale* where it holds the old value and not the new one, *neither* where it holds
none, and the model has to look it up. The memory's own roles are the key-free engine.
"""

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types
from pydantic import PrivateAttr

from acc_ace.bootstrap import build_container
from acc_ace.config import Settings
from acc_ace.container import Container
from acc_ace.model_settings import AgentSettings, Role
from acc_ace.plugin import BoundedMemoryPlugin

ROWS = Path(__file__).parent / "data" / "facts" / "replaced.jsonl"

Row = Mapping[str, str | int]


def rows(half: str) -> list[Row]:
    """The rows of a half: 'tuned' or 'held'."""
    lines = ROWS.read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["half"] == half]


def talk(row: Row, gap: int) -> list[str]:
    """What the user says, with `gap` turns about other things before the question."""
    old, between = str(row["old"]), int(row["filler_between"])
    other = _JAPANESE if any(letter >= "\u3040" for letter in old) else _ENGLISH
    others = [text.format(number) for number in range(1, 15) for text in other]
    return [
        old,
        *islice(reversed(others), between),
        str(row["new"]),
        *islice(others, gap),
        str(row["question"]),
    ]


_ENGLISH = ("Shelf number {} is full.", "Lamp number {} is broken.", "Room number {} is booked.")
_JAPANESE = ("{}番の棚は満杯です。", "{}番の電灯は故障中です。", "{}番の部屋は予約済みです。")


class Listener(BaseLlm):
    """Says "ok" and keeps the request."""

    model: str = "listener/bench"
    _shown: str = PrivateAttr(default="")

    @property
    def shown(self) -> str:
        """The state of the last request."""
        return self._shown

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        """Answer whatever is asked."""
        parts = [part for each in llm_request.contents for part in each.parts or []]
        system = str(llm_request.config.system_instruction)
        text = "\n".join([system, *(part.text or "" for part in parts)])
        self._shown = text[text.find('name="state"') :]
        yield LlmResponse(
            content=types.Content(role="model", parts=[types.Part(text="ok")]),
            usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=1),
        )


async def shown(
    container: Container,
    messages: Sequence[str],
    *,
    user: str,
    session: str = "s",
    compressor: BaseLlm | None = None,
) -> str:
    """The state that a model is shown with the last message, which it does not hold.

    The compressor is the settings' unless it is given.
    """
    listener = Listener()
    agent = LlmAgent(name="clerk", model=listener, instruction="You are the clerk.")
    models: dict[Role, BaseLlm] = {"compressor": compressor} if compressor else {}
    plugin = BoundedMemoryPlugin(container, models=models)
    app = App(name="office", root_agent=agent, plugins=[plugin])
    async with InMemoryRunner(app=app) as runner:
        runner.auto_create_session = True
        for text in messages:
            message = types.Content(role="user", parts=[types.Part(text=text)])
            async for _ in runner.run_async(user_id=user, session_id=session, new_message=message):
                pass
    return listener.shown.replace(messages[-1], "")


VERDICTS = ("right", "stale", "neither")


def verdict(row: Row, state: str) -> str:
    """One of VERDICTS."""
    if str(row["now"]) in state:
        return "right"
    return "stale" if str(row["was"]) in state else "neither"


async def run(chosen: Sequence[Row], gap: int) -> Counter[str]:
    """How many rows are right, stale, neither."""
    engine = AgentSettings(model="embedded/rules")
    settings = Settings(store="memory", learning="off", qualifier=engine, compressor=engine)
    container = build_container(settings)
    found: Counter[str] = Counter()
    for number, row in enumerate(chosen):
        result = verdict(row, await shown(container, talk(row, gap), user=f"user-{number}"))
        found[result] += 1
        if result != "right":
            print(f"{result} after {gap}: {row['old']} | {row['new']} | {row['question']}")
    await container.close()
    return found


def main() -> None:
    """Print the counts for each gap."""
    parser = argparse.ArgumentParser(prog="python -m bench.facts_replaced")
    parser.add_argument("--half", choices=("tuned", "held"), default="held")
    parser.add_argument("--gaps", default="10,30")
    options = parser.parse_args()
    for gap in map(int, options.gaps.split(",")):
        found = asyncio.run(run(rows(options.half), gap))
        print(f"{gap} turns:", ", ".join(f"{found[each]} {each}" for each in VERDICTS))


if __name__ == "__main__":
    main()

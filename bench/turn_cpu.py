"""Own CPU time of a turn over a plain ADK agent's, in one process, all in memory.

    python -m bench.turn_cpu [--turns 60]

Three take the same turns in turn, so that what slows the machine slows all: a plain LlmAgent that
replays, our app as it is, and our app with a full playbook that learns at every turn. The model
answers at once.
"""

import argparse
import asyncio
import random
import statistics
import time
from itertools import count, islice
from typing import Final

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.genai import types

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.core.schemas.base import SessionKey
from bench.house_workload import ChangingLlm, inputs, lesson
from bench.turn_cost_contenders import Turn, teach

FIRST_TURNS: Final = 20
"""Turns that are not counted: imports, caches and patterns of the first ones."""
FULL: Final = 150
"""Lessons; the default budget holds 154 of them."""


async def ours(llm: ChangingLlm, *, lessons: int = 0, **settings: str) -> Turn:
    """Our app in memory, after so many lessons."""
    container = build_container(Settings.model_validate({"store": "memory", **settings}))
    rng = random.Random(3)  # noqa: S311 - a workload, not a secret
    texts = (lesson(rng, number) for number in count(1_000))
    # One about firewall rules is held for review, as it speaks of rules.
    await teach(container, islice((each for each in texts if "rules" not in each), lessons))
    conversation = Conversation(container, models=dict.fromkeys(ROLES, llm))
    key = SessionKey(APP_NAME, "bench", "s1")

    async def turn(text: str) -> None:
        await conversation.turn(key, text)

    return turn


async def plain(llm: ChangingLlm) -> Turn:
    """A plain LlmAgent that replays its transcript."""
    agent = LlmAgent(name="plain", model=llm, instruction="You are an operations assistant.")
    runner = InMemoryRunner(agent=agent, app_name="plain")
    await runner.session_service.create_session(app_name="plain", user_id="u", session_id="s")

    async def turn(text: str) -> None:
        message = types.Content(role="user", parts=[types.Part(text=text)])
        async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
            pass

    return turn


async def measure(turns: int) -> dict[str, list[float]]:
    """Milliseconds of CPU of each contender's turns."""
    llm = ChangingLlm(points_at_rules=True)
    contenders = {
        "plain ADK": await plain(llm),
        "default": await ours(llm),
        "learning every turn, full playbook": await ours(llm, lessons=FULL, learn_on="every"),
    }
    spent: dict[str, list[float]] = {name: [] for name in contenders}
    for llm.turn, text in enumerate(islice(inputs(), turns), 1):
        for name, turn in contenders.items():
            started = time.process_time()
            await turn(text)
            spent[name].append((time.process_time() - started) * 1_000)
    return spent


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=60)
    spent = asyncio.run(measure(parser.parse_args().turns))
    medians = {name: statistics.median(each[FIRST_TURNS:]) for name, each in spent.items()}
    base = medians["plain ADK"]
    for name, median in medians.items():
        print(
            f"{name:36} {median:6.1f} ms  own over plain {(median - base) / base:.2f}  "
            f"whole over plain {median / base:.2f}"
        )


if __name__ == "__main__":
    main()

"""Own CPU time of a turn over a plain ADK agent's, in one process, all in memory.

    python -m bench.turn_cpu [--turns 60]
    python -m bench.turn_cpu --bullets 50 5000

Three take the same turns in turn, so that what slows the machine slows all: a plain LlmAgent that
replays, our app as it is, and our app with a full playbook that learns at every turn. The model
answers at once. With `--bullets` the app that learns at every turn is compared with itself, with
playbooks of so many bullets, all within its limits.
"""

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import Sequence
from itertools import count, islice
from typing import Final

from google.adk.agents import LlmAgent
from google.adk.runners import InMemoryRunner
from google.genai import types

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.core.schemas.base import PlaybookScope, SessionKey
from acc_ace.core.schemas.limits import Limits
from bench.house_workload import ChangingLlm, inputs, lesson
from bench.playbook_peers import rows_of, stored
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


async def learner(llm: ChangingLlm, bullets: int) -> Turn:
    """Our app learning at every turn, with a playbook of so many bullets."""
    most = {
        f"{of}_{what}": 10_000_000 if what == "tokens" else 2 * bullets + 1_000
        for of in ("playbook", "section")
        for what in ("bullets", "tokens")
    }
    container = build_container(Settings(store="memory", learn_on="every", limits=Limits(**most)))
    # Each fifth row repeats an earlier one.
    rows = [row for at, row in enumerate(rows_of(2 * bullets)) if at % 5 != 4][:bullets]
    scope = PlaybookScope(APP_NAME)
    await stored(container.playbooks, scope, rows)
    conversation = Conversation(container, models=dict.fromkeys(ROLES, llm))

    async def turn(text: str) -> None:
        await conversation.turn(SessionKey(APP_NAME, "bench", "s1"), text)

    return turn


async def measure(turns: int, bullets: Sequence[int]) -> dict[str, list[float]]:
    """Milliseconds of CPU of each contender's turns."""
    llm = ChangingLlm(points_at_rules=True)
    contenders = {f"{count} bullets": await learner(llm, count) for count in bullets} or {
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
    parser.add_argument("--bullets", type=int, nargs="*", default=[])
    options = parser.parse_args()
    spent = asyncio.run(measure(options.turns, options.bullets))
    medians = {name: statistics.median(each[FIRST_TURNS:]) for name, each in spent.items()}
    first = next(iter(medians))
    base, mean = medians[first], statistics.fmean(spent[first][FIRST_TURNS:])
    for name, median in medians.items():
        means = statistics.fmean(spent[name][FIRST_TURNS:]) / mean
        print(
            f"{name:36} {median:6.1f} ms  own over the first {(median - base) / base:.2f}  "
            f"whole {median / base:.2f}  means {means:.2f}"
        )


if __name__ == "__main__":
    main()

"""Import time, and time from process start to the first token of the first answer.

    python -m bench.startup [--runs 5] [--json]

Each run is a new process with an empty data directory and the embedded model. The peer is the
same interpreter importing google.adk's runner and agents alone.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass

_FIRST_TOKEN = """
import asyncio
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.config import load_settings
from acc_ace.bootstrap import build_container
from acc_ace.core.schemas.base import SessionKey

async def first() -> None:
    conversation = Conversation(build_container(load_settings()))
    stream = conversation.stream(SessionKey(APP_NAME, "bench", "s1"), "Hello, db-01 is slow.")
    async for event in stream:
        if event.type == "answer_chunk":
            break
    await stream.aclose()

asyncio.run(first())
"""

CASES = {
    "google.adk alone": "import google.adk.agents, google.adk.runners",
    "import acc_ace.agent": "import acc_ace.agent",
    "first token, embedded model": _FIRST_TOKEN,
}


@dataclass(frozen=True)
class Cost:
    """Median of the runs of one case, in seconds."""

    case: str
    cpu_s: float
    wall_s: float


def measure(case: str, code: str, runs: int) -> Cost:
    """Run a case in new processes."""
    cpu, wall = zip(*(_once(code) for _ in range(runs)), strict=True)
    return Cost(case, round(statistics.median(cpu), 3), round(statistics.median(wall), 3))


def _once(code: str) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "ACC_ACE_DATA_DIR": folder, "PYTHONWARNINGS": "ignore"}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)  # noqa: S603 - our own code
        wall = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent, wall


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    costs = [measure(case, code, options.runs) for case, code in CASES.items()]
    if options.json:
        json.dump([asdict(cost) for cost in costs], sys.stdout)
        return
    for cost in costs:
        print(f"{cost.case:32} {cost.cpu_s:6.2f} s CPU  {cost.wall_s:6.2f} s")


if __name__ == "__main__":
    main()

"""Import of the plugin, and process start to the first token, beside ADK alone."""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from typing import NamedTuple

from bench.house_product import IMPORT_PLUGIN
from bench.startup import CASES as APP_CASES

_PLAIN_FIRST_TOKEN = """
import asyncio
from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.genai import types

class Instant(BaseLlm):
    async def generate_content_async(self, llm_request, stream=False):
        yield LlmResponse(content=types.ModelContent("Check the slow query log."))

async def first():
    agent = LlmAgent(name="plain", model=Instant(model="instant"), instruction="Help.")
    runner = InMemoryRunner(agent=agent, app_name="plain")
    await runner.session_service.create_session(app_name="plain", user_id="u", session_id="s")
    message = types.UserContent("Hello, db-01 is slow.")
    async for _ in runner.run_async(user_id="u", session_id="s", new_message=message):
        break

asyncio.run(first())
"""

_CASES = {
    "runners": "import google.adk.runners",
    "plugin": IMPORT_PLUGIN,
    "plain": _PLAIN_FIRST_TOKEN,
    "app": APP_CASES["first token, embedded model"],
}


class Startup(NamedTuple):
    """Median CPU seconds of each case, and the two ratios."""

    runners_s: float
    plugin_s: float
    plain_s: float
    app_s: float

    @property
    def plugin_ratio(self) -> float:
        """Import of the plugin over ADK's runners."""
        return self.plugin_s / self.runners_s

    @property
    def app_ratio(self) -> float:
        """First token of our app over that of a plain ADK app."""
        return self.app_s / self.plain_s


def startup(runs: int) -> Startup:
    """Start each case in turn, as often as asked for, after one round that compiles bytecode."""
    rounds = [[_cpu_s(code) for code in _CASES.values()] for _ in range(runs + 1)]
    return Startup(*(statistics.median(case) for case in zip(*rounds[1:], strict=True)))


def _cpu_s(code: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **os.environ,
            "ACC_ACE_DATA_DIR": folder,
            "PYTHONWARNINGS": "ignore",
            # Bytecode is kept, as after an installation.
            "PYTHONDONTWRITEBYTECODE": "",
        }
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(  # noqa: S603 - our own code
            [sys.executable, "-c", code], env=environment, check=True, stderr=subprocess.DEVNULL
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

"""What a turn costs when the quota of its model is used up: requests and seconds.

    python -m bench.quota [--json]

A Gemini API on loopback answers one turn; then it answers 429 with a RetryInfo of 600 s, as one
whose quota is used up. The five agents of the pipeline are on it, and learn at every turn. Three
turns follow: with the embedded model as the fallback, and without a fallback.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from google.adk.sessions import InMemorySessionService

from acc_ace.bootstrap import build_container
from acc_ace.config import EMBEDDED_MODEL, GEMINI_MODEL, ROLES, AgentSettings, Settings
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.core.schemas.base import SessionKey
from acc_ace.errors import ModelError
from tests.fakes.fake_gemini import FakeGemini, fake_gemini, http_error

TURNS = ("The disk of db-01 is full.", "Who owns db-01?", "Is the disk of db-01 still full?")

QUOTA = "GenerateRequestsPerMinutePerProjectPerModel"


class Row(NamedTuple):
    """One turn."""

    case: str
    turn: int
    requests: int
    seconds: float
    end: str


async def measure(fallback: str | None, gemini: FakeGemini) -> list[Row]:
    """Hold the turns after the first, which loads what is loaded once."""
    block = AgentSettings(model=GEMINI_MODEL, fallback=fallback)
    settings = Settings(store="memory", learn_on="every").model_copy(
        update=dict.fromkeys(ROLES, block)
    )
    conversation = Conversation(build_container(settings), session_service=InMemorySessionService())
    await _end(conversation, "Hello.")
    for role in ROLES:
        gemini.script(role, http_error(429, retry_delay="600s", quota=QUOTA, limit="10"))
    rows = []
    for number, text in enumerate(TURNS, start=1):
        before, since = len(gemini.requests), time.perf_counter()
        end = await _end(conversation, text)
        seconds = time.perf_counter() - since
        requests = len(gemini.requests) - before
        rows.append(Row(fallback or "none", number, requests, round(seconds, 2), end))
    await conversation.close()
    return rows


async def _end(conversation: Conversation, text: str) -> str:
    try:
        report = await conversation.turn(SessionKey(APP_NAME, "bench", "s"), text)
    except ModelError as error:
        return str(error)
    return f"answered by {report.model['generator']}"


@contextmanager
def gemini_in_use() -> Iterator[FakeGemini]:
    """A Gemini API, set as the one that is used; each has a URL, and so a breaker, of its own."""
    with fake_gemini() as gemini:
        here = {"GOOGLE_API_KEY": "bench", "GOOGLE_GEMINI_BASE_URL": gemini.base_url}
        before = {name: os.environ.get(name) for name in here}
        os.environ.update(here)
        try:
            yield gemini
        finally:
            _restore(before)


def _restore(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def rows() -> list[Row]:
    """Both cases."""
    found: list[Row] = []
    for fallback in (EMBEDDED_MODEL, None):
        with gemini_in_use() as gemini:
            found += asyncio.run(measure(fallback, gemini))
    return found


def main(arguments: list[str] | None = None) -> None:
    """Print the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    chosen = parser.parse_args(arguments)
    found = rows()
    if chosen.json:
        as_json: list[dict[str, Any]] = [row._asdict() for row in found]
        json.dump(as_json, sys.stdout, indent=2)
        return
    print(f"{'fallback':16} {'turn':>4} {'requests':>8} {'seconds':>8}  end")
    for row in found:
        print(f"{row.case:16} {row.turn:4} {row.requests:8} {row.seconds:8.2f}  {row.end[:200]}")


if __name__ == "__main__":
    main()

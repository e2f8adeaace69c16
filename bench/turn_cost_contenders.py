"""Who takes the turns of `bench.turn_cost`: our app, and ADK's own ways."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.apps.app import EventsCompactionConfig
from google.adk.plugins.context_filter_plugin import ContextFilterPlugin
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

from acc_ace.bootstrap import build_container
from acc_ace.config import ROLES, Settings
from acc_ace.container import Container
from acc_ace.conversation import APP_NAME, Conversation
from acc_ace.core.playbook.playbook_service import PlaybookService
from acc_ace.core.schemas.base import SessionKey
from acc_ace.core.schemas.delta import DeltaBatch
from acc_ace.core.text.arithmetic import evaluate
from bench.turn_cost_wire import MeteredLlm

Turn = Callable[[str], Awaitable[None]]
Open = Callable[[Path, MeteredLlm], AbstractAsyncContextManager[Turn]]
"""Opens a contender that keeps its files in a folder."""

COMPACTION = {"compaction_interval": 3, "overlap_size": 1}
"""As in the example of ADK's documentation."""

KEPT_INVOCATIONS = 10
RECENT_EVENTS = 50

_VERBS = ("compare", "note", "check", "read", "list", "plot", "question", "count")
_OBJECTS = (
    "the slow query log", "the inode count", "the switch ports", "the connection pool",
    "the consumer offsets", "the certificate store", "the heap histogram", "the time servers",
    "the link counters", "the replication slot", "the cron table", "the route table",
)  # fmt: skip
_REASONS = (
    "a symptom that returns after a restart has its cause elsewhere",
    "a change on record is cheaper to undo than to explain",
    "two loaded hosts often wait for the same third one",
    "an alert threshold that nobody owns is usually out of date",
    "a rate says more than a count when traffic varies",
)


class Playbook(NamedTuple):
    """How many lessons there are from the start."""

    lessons: int


SMALL, FULL = Playbook(5), Playbook(60)
"""Excerpts of less than 300 tokens, and of the 1,500 that a prompt shows at most."""


def calculate(expression: str) -> dict[str, object]:
    """Calculate an expression such as "(17.5 * 3) / 2": operators and math functions."""
    return {"expression": expression, "value": evaluate(expression)}


def drain_host(host: str) -> dict[str, object]:
    """Take a host out of the load balancer."""
    return {"host": host, "drained": True}


@asynccontextmanager
async def ours(
    folder: Path, llm: MeteredLlm, *, playbook: Playbook = SMALL, acts: bool = False
) -> AsyncIterator[Turn]:
    """Our app with its default settings and tools, and with one that acts."""
    tools = [f"{__name__}:{drain_host.__name__}"] if acts else []
    container = build_container(Settings(data_dir=folder, store="sqlite", tools=tools))
    await teach(container, [_lesson(number) for number in range(playbook.lessons)])
    conversation = Conversation(container, models=dict.fromkeys(ROLES, llm))
    key = SessionKey(APP_NAME, "bench", "s1")

    async def turn(text: str) -> None:
        await conversation.turn(key, text)

    yield turn
    await conversation.close()


async def teach(container: Container, lessons: Iterable[str]) -> None:
    """Fill the playbook. Raises RuntimeError when a lesson is not taken."""
    service = PlaybookService(
        container.playbooks,
        container.playbook_scope(APP_NAME, "bench"),
        person="bench",
        limits=container.settings.limits,
        clock=container.clock,
    )
    for lesson in lessons:
        batch = DeltaBatch.model_validate(
            {"operations": [{"type": "ADD", "section": "strategies", "content": lesson}]}
        )
        [result] = (await service.apply(batch)).results
        if result.status.value != "applied":
            raise RuntimeError(f"'{lesson}' was not taken: {result.reason}")


def _lesson(number: int) -> str:
    """A lesson of about 30 tokens."""
    first, second = _OBJECTS[number % 12], _OBJECTS[(number * 5 + number // 12 + 1) % 12]
    return (
        f"{_VERBS[number % 8].capitalize()} {first} before {second}: "
        f"{_REASONS[(number + number // 8) % 5]}."
    )


@asynccontextmanager
async def adk(
    folder: Path,
    llm: MeteredLlm,
    *,
    compaction: bool = False,
    kept_invocations: int | None = None,
    recent_events: int | None = None,
) -> AsyncIterator[Turn]:
    """A plain LlmAgent with one of our tools on ADK's session service."""
    agent = LlmAgent(
        name="plain",
        model=llm,
        instruction="You are an operations assistant.",
        tools=[calculate],
    )
    app = App(
        name="plain",
        root_agent=agent,
        plugins=[ContextFilterPlugin(kept_invocations)] if kept_invocations else [],
        events_compaction_config=EventsCompactionConfig(**COMPACTION) if compaction else None,
    )
    sessions = SqliteSessionService(str(folder / "sessions.db"))
    await sessions.create_session(app_name="plain", user_id="bench", session_id="s1")
    config = GetSessionConfig(num_recent_events=recent_events) if recent_events else None

    async def turn(text: str) -> None:
        async for _ in Runner(app=app, session_service=sessions).run_async(
            user_id="bench",
            session_id="s1",
            new_message=types.Content(role="user", parts=[types.Part(text=text)]),
            run_config=RunConfig(get_session_config=config),
        ):
            pass

    yield turn


CONTENDERS: Mapping[str, Open] = {
    "ACC": ours,
    "plain ADK agent": adk,
    "ADK compaction": partial(adk, compaction=True),
    "ADK ContextFilterPlugin": partial(adk, kept_invocations=KEPT_INVOCATIONS),
    "ADK compaction + 50 events": partial(adk, compaction=True, recent_events=RECENT_EVENTS),
}

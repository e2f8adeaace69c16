"""Who stops at the final response, as ADK's tutorial does, leaves a turn that is learned from."""

import asyncio
import gc
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from google.adk.agents import BaseAgent, LlmAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps import App
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.workflow import START, Workflow
from google.genai import types

from acc_ace import Container, build_container
from acc_ace.adk.bounded_turn import BoundedTurn
from acc_ace.errors import ModelUnavailable
from acc_ace.pipeline import APP_NAME, build_app
from config import ROLES, Settings
from schemas.base import SessionKey
from schemas.interaction import Outcome
from tests.fakes.clock import FixedClock
from tests.fakes.default_replies import default_reply, prompt_text
from tests.fakes.extensions import needs
from tests.fakes.scripted_llm import Reply, ScriptedLlm
from tests.pipeline.desk import KEY, Desk, text_of
from tests.pipeline.test_plugin_trees import sequential

TURNS = 3
OURS = SessionKey(APP_NAME, "ops", "s1")


def helper() -> LlmAgent:
    return LlmAgent(name="helper", model=ScriptedLlm().on("generator", "Noted."))


def workflow() -> Workflow:
    return Workflow(name="flow", edges=[(START, helper())])


ROOTS: dict[str, Callable[[], object]] = {
    "agent": helper,
    "workflow": workflow,
    "sequence": lambda: sequential(helper()),
}


async def until_answered(events: AsyncIterator[Event]) -> str:
    """What the loop of ADK's tutorial does."""
    async for event in events:
        if event.is_final_response() and text_of(event):
            return text_of(event)
    raise AssertionError("no answer")


@pytest.fixture(params=ROOTS)
def app(request: pytest.FixtureRequest) -> Desk:
    return Desk(ROOTS[request.param]())


def learned(app: Desk) -> tuple[int, int]:
    """Turns that were reflected on, and turns that were reported."""
    return app.memory.roles.count("reflector"), len(app.reports)


async def test_each_of_the_turns_that_one_task_leaves_is_learned_from(app: Desk) -> None:
    for number in range(TURNS):
        assert await until_answered(app.run(f"Look at db-0{number}.")) == "Noted."
    await app.settled()
    assert learned(app) == (TURNS, TURNS)
    assert [interaction.turn for interaction in await app.evidence()] == [3, 2, 1]


async def test_a_turn_is_learned_from_when_its_task_ends_at_the_answer(app: Desk) -> None:
    for number in range(TURNS):
        await asyncio.create_task(until_answered(app.run(f"Look at db-0{number}.")))
    await app.settled()
    assert learned(app) == (TURNS, TURNS)


async def test_closing_the_runner_right_after_the_answer_learns_from_it(app: Desk) -> None:
    await until_answered(app.run("Look at db-01."))
    await app.runner.close()
    assert learned(app) == (1, 1)


@pytest.fixture(params=ROOTS)
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    app = Desk(ROOTS[request.param](), settings=Settings(data_dir=tmp_path))
    yield app
    asyncio.run(close(app))


async def close(app: Desk) -> None:
    await app.container.close()


def kept(app: Desk) -> list[tuple[int, Outcome]]:
    """The turns that stand as evidence, read in a loop of its own."""
    return [(interaction.turn, interaction.outcome) for interaction in asyncio.run(app.evidence())]


adks_generators_outlive_the_loop = pytest.mark.filterwarnings(
    "ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning"
)
ANSWERED = [(number, Outcome.ANSWERED) for number in (3, 2, 1)]


@adks_generators_outlive_the_loop
def test_each_turn_that_is_left_in_adks_sync_run_is_kept_and_learned_from(stored: Desk) -> None:
    for number in range(TURNS):
        message = types.Content(role="user", parts=[types.Part(text=f"Look at db-0{number}.")])
        for event in stored.runner.run(
            user_id=KEY.user, session_id=KEY.session, new_message=message
        ):
            if event.is_final_response() and text_of(event):
                break
    assert kept(stored) == ANSWERED
    assert learned(stored) == (TURNS, TURNS)


@adks_generators_outlive_the_loop
def test_each_turn_whose_loop_ends_at_the_answer_is_kept(stored: Desk) -> None:
    async def ask(text: str) -> str:
        return await asyncio.create_task(until_answered(stored.run(text)))

    for number in range(TURNS):
        assert asyncio.run(ask(f"Look at db-0{number}.")) == "Noted."
    assert kept(stored) == ANSWERED


@adks_generators_outlive_the_loop
def test_a_rule_stands_when_the_loop_ends_at_the_answer(stored: Desk) -> None:
    asyncio.run(until_answered(stored.run("Never restart db-01.")))
    assert asyncio.run(stored.constraints()) == ["Never restart db-01."]
    assert kept(stored) == [(1, Outcome.ANSWERED)]


@adks_generators_outlive_the_loop
@pytest.mark.parametrize("nested", [False, True], ids=["agent", "sequence"])
def test_a_turn_whose_loop_is_interrupted_before_the_answer_is_undone(
    nested: bool, tmp_path: Path
) -> None:
    async def ask() -> None:
        main = asyncio.current_task()
        assert main is not None

        async def interrupt(_: LlmRequest) -> Reply:
            main.cancel()
            await asyncio.Event().wait()
            raise AssertionError("nobody lets it through")

        llm.on("generator", interrupt, "Noted.")
        await app.ask("Never restart db-01.")

    llm = ScriptedLlm()
    agent = LlmAgent(name="helper", model=llm)
    settings = Settings(data_dir=tmp_path)
    app = Desk(sequential(agent) if nested else agent, settings=settings)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(ask())
    assert asyncio.run(app.constraints()) == []
    assert asyncio.run(app.ask("Hello.")) == "Noted."
    assert (1, Outcome.ANSWERED) in kept(app)
    asyncio.run(close(app))


async def test_a_client_that_is_cancelled_while_its_turn_is_learned_from_ends_no_learning() -> None:
    reached, let = asyncio.Event(), asyncio.Event()

    async def reflect(request: LlmRequest) -> Reply:
        reached.set()
        await let.wait()
        return default_reply("reflector", prompt_text(request))

    app = Desk(helper())
    app.memory.on("reflector", reflect)
    running = asyncio.create_task(app.ask("Look at db-01."))
    await reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    let.set()
    await app.settled()
    assert learned(app) == (1, 1)


@needs("background")
async def test_a_turn_that_was_left_becomes_a_job_of_background_learning(tmp_path: Path) -> None:
    app = Desk(helper(), settings=Settings(data_dir=tmp_path, learning="background"))
    for number in range(TURNS):
        await asyncio.create_task(until_answered(app.run(f"Look at db-0{number}.")))
    await app.settled()
    assert app.container.learning is not None
    assert sum((await app.container.learning.counts()).values()) == TURNS
    await app.runner.close()
    await app.container.close()


async def test_a_turn_that_was_left_lets_an_idle_session_be_offloaded(tmp_path: Path) -> None:
    settings, clock = Settings(data_dir=tmp_path, learning="off"), FixedClock()
    app = Desk(helper(), settings=settings, clock=clock)
    await app.ask("Look at db-01.")
    clock.advance(hours=1)
    await asyncio.create_task(until_answered(app.run("Hi.", key=KEY._replace(user="ben"))))
    await app.settled()
    record = await app.container.directory.find(KEY)
    assert record is not None
    assert record.offloaded_at is not None
    await app.container.close()


class Ours:
    """The app acc_ace under ADK's own runner."""

    def __init__(self, settings: Settings, clock: FixedClock | None = None) -> None:
        self.container: Container = build_container(settings, clock)
        self.llm = ScriptedLlm()
        app = build_app(self.container, dict.fromkeys(ROLES, self.llm))
        assert isinstance(app.root_agent, BoundedTurn)
        self.agent = app.root_agent
        self.runner = Runner(
            app=app, session_service=InMemorySessionService(), auto_create_session=True
        )

    async def leave(self, text: str, key: SessionKey = OURS) -> None:
        """Stop at the answer, and wait until ADK has closed what was left of the run."""
        message = types.Content(role="user", parts=[types.Part(text=text)])
        await until_answered(
            self.runner.run_async(user_id=key.user, session_id=key.session, new_message=message)
        )
        async with self.container.lock.hold(key, wait_s=30):
            pass

    async def close(self) -> None:
        if self.agent.learning is not None:
            await self.agent.learning.stop()
        await self.agent.close()
        await self.runner.close()
        await self.container.close()


async def test_our_app_learns_from_the_turns_that_were_left_at_the_answer() -> None:
    ours = Ours(Settings(store="memory"))
    for number in range(TURNS):
        await ours.leave(f"Look at db-0{number}.")
    assert ours.llm.roles.count("reflector") == TURNS
    assert ours.llm.roles.count("curator") == TURNS
    assert [kept.turn for kept in await ours.container.evidence.list(OURS)] == [3, 2, 1]
    await ours.close()


@needs("background")
async def test_our_app_queues_a_turn_that_was_left_for_background_learning(tmp_path: Path) -> None:
    ours = Ours(Settings(data_dir=tmp_path, learning="background"))
    await ours.leave("Look at db-01.")
    assert ours.container.learning is not None
    assert sum((await ours.container.learning.counts()).values()) == 1
    await ours.close()


async def test_learning_that_fails_after_our_app_was_left_frees_the_session() -> None:
    ours = Ours(Settings(store="memory"))
    ours.llm.on("reflector", ModelUnavailable("reflector: no network"))
    await ours.leave("Look at db-01.")
    await ours.leave("Look at db-02.")
    assert [kept.turn for kept in await ours.container.evidence.list(OURS)] == [2, 1]
    await ours.close()


async def test_our_app_keeps_house_after_a_turn_that_was_left(tmp_path: Path) -> None:
    clock = FixedClock()
    ours = Ours(Settings(data_dir=tmp_path, learning="off"), clock)
    await ours.leave("Look at db-01.")
    clock.advance(hours=1)
    await ours.leave("Hi.", OURS._replace(user="ben"))
    await ours.agent.maintenance.close()
    record = await ours.container.directory.find(OURS)
    assert record is not None
    assert record.offloaded_at is not None
    await ours.close()


class Front(BaseAgent):
    """Stops at the answer of our agent, and hands it on."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        async with aclosing(self.sub_agents[0].run_async(ctx)) as events:
            async for event in events:
                if event.is_final_response() and text_of(event):
                    break
        yield event


class FewEvents(InMemorySessionService):
    """Sessions that keep their newest events at hand."""

    async def append_event(self, session: Session, event: Event) -> Event:
        stored = await super().append_event(session, event)
        del session.events[:-2]
        return stored


@pytest.mark.parametrize(
    ("fronted", "sessions"), [(True, InMemorySessionService), (False, FewEvents)]
)
async def test_our_answer_stands_in_front_of_an_agent_or_a_session_of_others(
    fronted: bool, sessions: Callable[[], InMemorySessionService]
) -> None:
    ours = Ours(Settings(store="memory"))
    root = Front(name="front", sub_agents=[ours.agent]) if fronted else ours.agent
    ours.runner = Runner(
        app=App(name=APP_NAME, root_agent=root),
        session_service=sessions(),
        auto_create_session=True,
    )
    await ours.leave("Look at db-01.")
    assert [kept.outcome for kept in await ours.container.evidence.list(OURS)] == [Outcome.ANSWERED]
    await ours.close()


@adks_generators_outlive_the_loop
def test_loops_that_are_closed_without_their_end_are_not_kept(stored: Desk) -> None:
    loops = []
    for number in range(TURNS):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(stored.ask(f"Look at db-0{number}."))
        loop.close()
        loops.append(weakref.ref(loop))
        del loop
    assert asyncio.run(stored.ask("Look at db-09.")) == "Noted."
    gc.collect()
    assert [kept for kept in loops if kept() is not None] == []

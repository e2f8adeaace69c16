"""The plugin fails closed: a turn is answered or undone, and no transcript slips out.

Of a turn that got no answer, the next one has the user's words: its rules come into force there.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from google.adk.agents import LlmAgent, SequentialAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.events import Event
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, InMemorySessionService
from google.genai import types

from acc_ace import BoundedMemoryPlugin, build_container
from acc_ace.adk.plugin.turn_memory import MODEL_ROLES
from acc_ace.errors import (
    InputTooLargeError,
    MemoryBypassedError,
    ModelUnavailable,
    SessionBusyError,
    StoreError,
)
from acc_ace.unit_of_work import Write
from config import Settings
from schemas.base import SessionKey
from schemas.commit import CommitKind
from schemas.generation import GeneratorOutput
from schemas.interaction import Interaction, Outcome
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.pipeline.desk import KEY, Desk, whole, with_note
from tests.pipeline.talk import settings
from tests.pipeline.test_plugin_trees import sequential

BAN = "No restarts during business hours."
HI_AND_BAN = with_note("Hi.", BAN, late=True)


class Gate:
    """A model script that waits until it is let through."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.open = asyncio.Event()

    async def __call__(self, request: LlmRequest) -> str:
        self.reached.set()
        await self.open.wait()
        return "At last."


class LiveLlm(ScriptedLlm):
    """A model that ADK would open a live connection to."""

    def connect(self, llm_request: LlmRequest) -> Any:
        raise AssertionError("no connection may be opened")


class Reloader(BasePlugin):
    """A plugin that brings the transcript back into the session."""

    def __init__(self, sessions: BaseSessionService) -> None:
        super().__init__("reloader")
        self._sessions = sessions

    async def before_agent_callback(
        self, *, agent: Any, callback_context: CallbackContext
    ) -> types.Content | None:
        stored = await self._sessions.get_session(
            app_name=KEY.app, user_id=KEY.user, session_id=KEY.session
        )
        assert stored is not None
        callback_context.session.events[:0] = stored.events[:-1]
        return None


class Breaking(BasePlugin):
    """Somebody else's plugin that raises where it is told to."""

    def __init__(self, where: str) -> None:
        super().__init__("breaking")
        self._where = where

    async def before_run_callback(
        self, *, invocation_context: InvocationContext
    ) -> types.Content | None:
        self._at("before_run")
        return None

    async def on_event_callback(
        self, *, invocation_context: InvocationContext, event: Event
    ) -> Event | None:
        self._at("on_event")
        return None

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        self._at("after_run")

    def _at(self, where: str) -> None:
        if where == self._where:
            raise RuntimeError(f"broken {where}")


class FullEvidence:
    """An evidence store that can be read but not written."""

    async def record(self, key: SessionKey, interaction: Interaction) -> None:
        raise StoreError("evidence: the disk is full; free some space")

    def record_write(self, key: SessionKey, interaction: Interaction) -> Write:
        raise StoreError("evidence: the disk is full; free some space")

    async def last(self, key: SessionKey) -> Interaction | None:
        return None

    async def find(self, key: SessionKey, invocation_id: str) -> Interaction | None:
        return None

    async def list(
        self,
        key: SessionKey,
        *,
        limit: int = 50,
        before_turn: int | None = None,
        before: str | None = None,
        after: str | None = None,
    ) -> Sequence[Interaction]:
        return []

    async def of_request(self, key: SessionKey, idempotency_key: str) -> Interaction | None:
        return None

    async def mark_undone(self, key: SessionKey, after_turn: int) -> int:
        return 0

    def undone_write(self, key: SessionKey, after_turn: int) -> Write:
        raise StoreError("evidence: the disk is full; free some space")

    async def erase(self, tenant: Any, session: str | None = None) -> int:
        return 0


def desk(llm: ScriptedLlm, **options: Any) -> Desk:
    return Desk(LlmAgent(name="helper", model=llm), **options)


async def kinds(app: Desk) -> list[CommitKind]:
    return [entry.kind for entry in await app.container.journal.history(KEY)]


async def test_a_compressor_that_is_down_keeps_state_and_rules_and_warns() -> None:
    llm = ScriptedLlm().on("generator", "Noted.")
    app = desk(llm)
    await app.ask("Hello.")
    app.memory.on("compressor", ModelUnavailable("compressor: no network"))
    assert await app.ask(BAN) == "Noted."
    assert await app.constraints() == [BAN]
    assert any("no network" in warning for warning in app.reports[-1].warnings)
    assert "no network" in whole(llm.requests[-1])


async def test_a_model_that_fails_leaves_no_turn_and_its_rules_to_the_next() -> None:
    app = desk(ScriptedLlm().on("generator", RuntimeError("model down"), "Hi."))
    with pytest.raises(RuntimeError, match="model down"):
        await app.ask(BAN)
    assert await app.constraints() == []
    assert await kinds(app) == []
    [failed] = await app.evidence()
    assert failed.outcome is Outcome.FAILED
    assert await app.ask("Hello.") == HI_AND_BAN
    assert await app.constraints() == [BAN]
    assert await kinds(app) == [CommitKind.COMMIT]


async def test_an_input_beyond_its_budget_is_refused_before_any_model_is_asked() -> None:
    llm = ScriptedLlm()
    app = desk(llm)
    with pytest.raises(RuntimeError, match="ACC_ACE_LIMITS__INPUT_TOKENS") as raised:
        await app.ask("word " * 500_000)
    assert isinstance(raised.value.__cause__, InputTooLargeError)
    assert llm.requests == []
    assert app.memory.requests == []


async def test_a_store_that_cannot_be_written_leaves_no_turn_and_says_so() -> None:
    container = replace(
        build_container(Settings(store="memory")),
        evidence=FullEvidence(),
    )
    plugin = BoundedMemoryPlugin(container, models=dict.fromkeys(MODEL_ROLES, ScriptedLlm()))
    agent = LlmAgent(name="helper", model=ScriptedLlm().on("generator", "Noted."))
    runner = Runner(
        app=App(name=KEY.app, root_agent=agent, plugins=[plugin]),
        session_service=InMemorySessionService(),
        auto_create_session=True,
    )
    message = types.Content(role="user", parts=[types.Part(text=BAN)])
    with pytest.raises(RuntimeError, match="disk is full"):
        async for _ in runner.run_async(
            user_id=KEY.user, session_id=KEY.session, new_message=message
        ):
            pass
    assert await container.journal.head(KEY) is None


async def test_learning_that_fails_leaves_the_answer_standing() -> None:
    app = desk(ScriptedLlm().on("generator", "Noted."))
    app.memory.on("reflector", ModelUnavailable("reflector: no network"))
    assert await app.ask(BAN) == "Noted."
    assert await app.constraints() == [BAN]
    assert any("no network" in warning for warning in app.reports[-1].warnings)


async def test_a_second_message_waits_for_the_first_turn() -> None:
    gate = Gate()
    llm = ScriptedLlm().on("generator", gate, "Second.")
    app = desk(llm)
    first = asyncio.create_task(app.ask("First."))
    await gate.reached.wait()
    second = asyncio.create_task(app.ask("Second."))
    await asyncio.sleep(0)
    gate.open.set()
    assert (await first, await second) == ("At last.", "Second.")
    assert [interaction.turn for interaction in await app.evidence()] == [2, 1]


async def test_a_session_that_stays_busy_is_refused_before_any_model_is_asked() -> None:
    gate = Gate()
    llm = ScriptedLlm().on("generator", gate, "never")
    app = desk(llm, settings=settings(turn_wait_s=0))
    first = asyncio.create_task(app.ask("First."))
    await gate.reached.wait()
    with pytest.raises(RuntimeError, match="busy") as raised:
        await app.ask("Second.")
    assert isinstance(raised.value.__cause__, SessionBusyError)
    gate.open.set()
    assert await first == "At last."
    assert len(llm.requests) == 1


async def test_a_cancelled_turn_leaves_its_rules_to_the_next_and_the_session_is_free() -> None:
    gate = Gate()
    app = desk(ScriptedLlm().on("generator", gate, "Hi."))
    running = asyncio.create_task(app.ask(BAN))
    await gate.reached.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await app.settled()
    assert await app.constraints() == []
    assert await kinds(app) == []
    assert await app.ask("Hello.") == HI_AND_BAN
    assert await app.constraints() == [BAN]


@pytest.mark.parametrize("nested", [False, True], ids=["agent", "sequence"])
async def test_a_turn_that_timed_out_in_a_lasting_task_leaves_its_rules_to_the_next(
    nested: bool,
) -> None:
    gate = Gate()
    agent = LlmAgent(name="helper", model=ScriptedLlm().on("generator", gate, "Hi."))
    root: LlmAgent | SequentialAgent = sequential(agent) if nested else agent
    app = Desk(root, settings=settings(turn_wait_s=5))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await app.ask(BAN)
    assert await app.ask("Hello.") == HI_AND_BAN
    assert await app.constraints() == [BAN]
    assert await kinds(app) == [CommitKind.COMMIT]


@pytest.mark.parametrize("nested", [False, True], ids=["agent", "sequence"])
async def test_a_turn_that_timed_out_in_a_task_of_its_own_frees_the_session_for_others(
    nested: bool,
) -> None:
    agent = LlmAgent(name="helper", model=ScriptedLlm().on("generator", Gate(), "Hi."))
    root: LlmAgent | SequentialAgent = sequential(agent) if nested else agent
    app = Desk(root, settings=settings(turn_wait_s=5))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await asyncio.create_task(app.ask(BAN))
    assert await asyncio.create_task(app.ask("Hello.")) == HI_AND_BAN
    assert await app.constraints() == [BAN]


async def test_a_client_that_leaves_before_the_answer_leaves_no_turn() -> None:
    llm = ScriptedLlm().on("generator", call("nothing"), "Hi.")

    def nothing() -> dict[str, str]:
        """Do nothing."""
        return {"status": "done"}

    app = Desk(LlmAgent(name="helper", model=llm, tools=[nothing]))
    events = app.run(BAN)
    await anext(events)
    await events.aclose()  # type: ignore[attr-defined]
    await app.settled()
    assert await app.constraints() == []
    assert await kinds(app) == []


async def test_an_aborted_run_leaves_its_rules_to_the_next() -> None:
    gate, abort = Gate(), asyncio.Event()
    app = desk(ScriptedLlm().on("generator", gate, "Hi."))

    async def run() -> None:
        message = types.Content(role="user", parts=[types.Part(text=BAN)])
        async for _ in app.runner.run_async(
            user_id=KEY.user, session_id=KEY.session, new_message=message, abort_signal=abort
        ):
            pass

    running = asyncio.create_task(run())
    await gate.reached.wait()
    abort.set()
    await running
    assert await app.constraints() == []
    assert await kinds(app) == []
    assert await app.ask("Hello.") == HI_AND_BAN
    assert await app.constraints() == [BAN]


async def test_another_plugin_that_breaks_before_the_answer_leaves_no_turn() -> None:
    app = desk(ScriptedLlm().on("generator", "Hi."), others=(Breaking("before_run"),))
    with pytest.raises(RuntimeError, match="broken before_run"):
        await app.ask(BAN)
    assert await app.constraints() == []


@pytest.mark.parametrize("where", ["on_event", "after_run"])
async def test_another_plugin_that_breaks_behind_the_commit_leaves_it_standing(where: str) -> None:
    app = desk(ScriptedLlm().on("generator", "Hi."), others=(Breaking(where),))
    with pytest.raises(RuntimeError, match=f"broken {where}"):
        await app.ask(BAN)
    assert await app.constraints() == [BAN]


async def test_a_transcript_that_another_plugin_brings_back_ends_the_run() -> None:
    llm = ScriptedLlm().on("generator", "Hi.")
    app = desk(llm)
    await app.ask("Turn one, zebra.")
    app.runner.plugin_manager.register_plugin(Reloader(app.sessions))
    with pytest.raises(RuntimeError, match="earlier turns") as raised:
        await app.ask("Turn two.")
    assert isinstance(raised.value.__cause__, MemoryBypassedError)
    assert len(llm.requests) == 1


async def test_a_request_outside_of_a_turn_is_refused() -> None:
    llm = ScriptedLlm().on("generator", "Hi.")
    app = desk(llm)

    class Early(BasePlugin):
        """Ends the run before the memory plugin is asked, for one plugin order."""

        async def before_run_callback(
            self, *, invocation_context: InvocationContext
        ) -> types.Content | None:
            invocation_context.invocation_id = "another"
            return None

    app.runner.plugin_manager.register_plugin(Early("early"))
    with pytest.raises(RuntimeError, match="no turn of session") as raised:
        await app.ask("Hello.")
    assert isinstance(raised.value.__cause__, MemoryBypassedError)
    assert llm.requests == []


async def test_a_run_over_a_live_connection_is_refused() -> None:
    llm = LiveLlm(model="gemini-scripted")
    app = desk(llm)
    message = types.Content(role="user", parts=[types.Part(text="Hello.")])
    with pytest.raises(RuntimeError, match="live sessions"):
        async for _ in app.runner.run_async(
            user_id=KEY.user,
            session_id=KEY.session,
            new_message=message,
            run_config=RunConfig(support_cfc=True),
        ):
            pass
    assert llm.requests == []


async def test_the_words_of_an_unanswered_turn_stand_once_in_the_next_and_are_not_recalled() -> (
    None
):
    llm = ScriptedLlm().on("generator", RuntimeError("down"), "Hi.", "Hi again.")
    app = desk(llm)
    with pytest.raises(RuntimeError, match="down"):
        await app.ask("The code word is swordfish.")
    unanswered = len(llm.requests)
    await app.ask("What is the code word?")
    [shown] = [whole(request) for request in llm.requests[unanswered:]]
    assert "turn 1, not answered" in shown
    assert shown.count("swordfish") == 1
    known = len(app.memory.requests), len(llm.requests)
    await app.ask("What is the code word now?")
    after = [*app.memory.requests[known[0] :], *llm.requests[known[1] :]]
    assert [request for request in after if "swordfish" in whole(request)] == []


async def test_many_turns_of_one_task_leave_nothing_open() -> None:
    app = desk(ScriptedLlm().on("generator", "Hi."))
    sessions = [KEY._replace(session=f"s{number}") for number in range(20)]
    for key in sessions:
        await app.ask("Hello.", key=key)
    kept = [await app.evidence(key) for key in sessions]
    assert [len(interactions) for interactions in kept] == [1] * 20
    assert kept[0][0].decision == GeneratorOutput(final_answer="Hi.")
    await asyncio.gather(*(app.ask("Again.", key=key) for key in sessions))
    assert [len(await app.evidence(key)) for key in sessions] == [2] * 20

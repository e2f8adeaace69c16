"""Memory under the plugin asks the host agent's own model, never the embedded engine unasked."""

import asyncio
import warnings
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from google.adk.agents import BaseAgent, LlmAgent, SequentialAgent
from google.adk.agents.invocation_context import InvocationContext
from google.adk.apps import App
from google.adk.events import Event
from google.adk.models import BaseLlm
from google.adk.runners import InMemoryRunner, Runner
from google.adk.workflow import START, Workflow
from google.genai import types

from acc_ace import BoundedMemoryPlugin, Container, build_container, build_model
from acc_ace.adk.plugin.turn_memory import MODEL_ROLES
from acc_ace.errors import ConfigError, ModelUnavailable
from config import AgentSettings, Settings
from schemas.base import SessionKey
from schemas.interaction import Interaction
from tests.fakes.default_replies import default_reply
from tests.fakes.extensions import needs
from tests.fakes.fake_gemini import fake_gemini
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.pipeline.desk import text_of

RULE = "Never restart db-01 during business hours."
KEY = SessionKey("desk", "ops", "s1")
OWN = ["compressor", "generator", "reflector", "curator"]
EMBEDDED = AgentSettings(model="embedded/rules")


class Silent(BaseAgent):
    """An agent without a language model, which says nothing."""

    async def _run_async_impl(self, ctx: InvocationContext) -> AsyncGenerator[Event, None]:
        nothing: list[Event] = []
        for event in nothing:
            yield event


class Host:
    """An app with the one line, and nothing else of ours."""

    def __init__(self, app_root: Any, **options: Any) -> None:
        settings = options.pop("settings", Settings(store="memory"))
        self.container: Container = build_container(settings)
        plugin = BoundedMemoryPlugin(self.container, **options)
        app = App(name=KEY.app, root_agent=app_root, plugins=[plugin])
        self.runner: Runner = InMemoryRunner(app=app)
        self.runner.auto_create_session = True

    async def say(self, text: str) -> str:
        message = types.Content(role="user", parts=[types.Part(text=text)])
        events = self.runner.run_async(
            user_id=KEY.user, session_id=KEY.session, new_message=message
        )
        return "".join([text_of(event) async for event in events])

    async def turn(self) -> Interaction:
        [turn] = await self.container.evidence.list(KEY)
        return turn


def agent(model: BaseLlm | str, name: str = "helper") -> LlmAgent:
    return LlmAgent(name=name, model=model)


def sequence(*agents: BaseAgent) -> SequentialAgent:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return SequentialAgent(name="line", sub_agents=list(agents))


async def test_the_compressor_and_the_others_ask_the_agents_own_model() -> None:
    llm = ScriptedLlm()
    host = Host(agent(llm))
    await host.say(RULE)
    assert llm.roles == OWN
    assert (await host.turn()).models["compressor"] == "scripted/test"


async def test_a_gemini_agent_has_its_memory_on_the_same_model_with_the_least_of_thoughts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with fake_gemini() as gemini:
        monkeypatch.setenv("GOOGLE_API_KEY", "test-key")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", gemini.base_url)
        host = Host(agent("gemini-3.1-flash-lite"))
        await host.say(RULE)
        await host.runner.close()
    assert [item.role for item in gemini.requests] == OWN
    assert {item.model for item in gemini.requests} == {"gemini-3.1-flash-lite"}
    thinking = gemini.requests_of("compressor")[0].body["generationConfig"]["thinkingConfig"]
    assert thinking == {"thinking_level": "MINIMAL"}


@needs("guard")
async def test_rules_hold_at_the_tools_of_the_agent() -> None:
    restarted: list[str] = []

    def restart(host: str) -> dict[str, str]:
        """Restart a host.

        Args:
            host: Its name.
        """
        restarted.append(host)
        return {"restarted": host}

    llm = ScriptedLlm().on("generator", "Noted.", call("restart", host="db-01"), "Done.")
    host = Host(LlmAgent(name="helper", model=llm, tools=[restart]))
    await host.say("Never restart db-01.")
    await host.say("Restart db-01 now.")
    assert restarted == []
    newest = (await host.container.evidence.list(KEY))[0]
    assert [made.name for made in newest.tool_calls] == ["restart", "adk_request_confirmation"]


async def test_a_tree_asks_the_model_of_its_first_llm_agent() -> None:
    first, second = ScriptedLlm(), ScriptedLlm()
    await Host(sequence(Silent(name="quiet"), agent(first, "a"), agent(second, "b"))).say(RULE)
    assert (first.roles, second.roles) == (OWN, ["generator"])


async def test_a_workflow_that_is_named_asks_the_model_of_its_first_llm_agent() -> None:
    llm = ScriptedLlm()
    flow = Workflow(name="flow", edges=[(START, agent(llm))])
    await Host(flow, root=flow).say(RULE)
    assert llm.roles == OWN


@pytest.mark.parametrize(
    ("root", "why"),
    [
        (Silent(name="quiet"), "'quiet' has no LlmAgent"),
        (Workflow(name="flow", edges=[(START, agent(ScriptedLlm()))]), "(root=workflow)"),
        (agent("no-such-model"), "agent 'helper'"),
    ],
    ids=["no model", "a workflow that is not named", "a name that nobody knows"],
)
async def test_a_turn_is_refused_when_no_model_is_found(root: Any, why: str) -> None:
    host = Host(root)
    with pytest.raises(RuntimeError) as refused:
        await host.say(RULE)
    error = refused.value.__cause__
    assert isinstance(error, ConfigError)
    assert why in str(error)
    assert "ACC_ACE_COMPRESSOR__MODEL" in str(error)
    assert await host.container.evidence.list(KEY) == []


@needs("embedded")
async def test_a_model_that_is_named_is_asked_in_its_place() -> None:
    llm = ScriptedLlm()
    settings = Settings(store="memory", compressor=EMBEDDED, reflector=EMBEDDED, curator=EMBEDDED)
    host = Host(agent(llm), settings=settings)
    await host.say(RULE)
    assert llm.roles == ["generator"]
    assert (await host.turn()).models["compressor"] == "embedded/rules"


@needs("embedded")
async def test_a_workflow_needs_no_name_when_every_model_is_named() -> None:
    named: dict[str, Any] = dict.fromkeys(MODEL_ROLES, EMBEDDED)
    flow = Workflow(name="flow", edges=[(START, agent(ScriptedLlm()))])
    host = Host(flow, settings=Settings(store="memory", **named))
    assert "ok" in await host.say(RULE)


@needs("embedded")
async def test_an_agent_on_the_embedded_engine_has_its_memory_there_too() -> None:
    host = Host(agent("embedded/rules"))
    await host.say(RULE)
    assert (await host.turn()).models["compressor"] == "embedded/rules"


@needs("embedded")
async def test_the_agents_model_is_retried_and_then_has_a_fallback_as_others_have() -> None:
    down = ScriptedLlm().on("compressor", ModelUnavailable("down"))
    block = AgentSettings(retries=1, backoff_s=0, fallback="embedded/rules")
    host = Host(agent(down), settings=Settings(store="memory", compressor=block))
    await host.say(RULE)
    assert len(down.requests_of("compressor")) == 2
    assert (await host.turn()).models["compressor"] == "embedded/rules"


@needs("embedded")
async def test_a_model_built_by_us_is_not_retried_twice_over() -> None:
    settings = Settings(store="memory", generator=EMBEDDED)
    model = build_model("generator", settings)
    host = Host(agent(model), settings=settings)
    await host.say(RULE)
    assert (await host.turn()).models["compressor"] == "embedded/rules"


async def test_an_option_that_a_model_object_cannot_take_is_refused() -> None:
    block = AgentSettings(thinking="low")
    host = Host(agent(ScriptedLlm()), settings=Settings(store="memory", compressor=block))
    with pytest.raises(RuntimeError, match="ACC_ACE_COMPRESSOR__THINKING=low"):
        await host.say(RULE)


async def test_a_model_without_a_price_is_refused_under_a_ceiling() -> None:
    host = Host(agent(ScriptedLlm()), settings=Settings(store="memory", max_cost=1.0))
    with pytest.raises(RuntimeError, match="the price of 'scripted/test' is unknown"):
        await host.say(RULE)


async def test_another_model_is_asked_once_the_agent_has_another() -> None:
    before, after = ScriptedLlm(), ScriptedLlm()
    helper = agent(before)
    host = Host(helper)
    await host.say(RULE)
    helper.model = after
    await host.say("Hello there, what is the plan?")
    assert after.roles[0] == "compressor"
    assert before.roles == OWN


async def test_the_answer_is_handed_over_before_learning_begins() -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def reflect(_: object) -> dict[str, Any]:
        begun.set()
        await may_end.wait()
        return default_reply("reflector", "")

    llm = ScriptedLlm().on("generator", "Noted.").on("reflector", reflect)
    host = Host(agent(llm), settings=Settings(store="memory", learning="inline"))
    message = types.Content(role="user", parts=[types.Part(text=RULE)])
    events = host.runner.run_async(user_id="ops", session_id="s1", new_message=message)
    async for event in events:
        if event.is_final_response() and text_of(event):
            break
    assert not begun.is_set()
    assert (await host.turn()).decision is not None
    rest = asyncio.ensure_future(anext(events, None))
    await begun.wait()
    may_end.set()
    assert await rest is None

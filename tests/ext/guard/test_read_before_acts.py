"""With `adaptive` no call acts before a CCM has read every sentence of the user."""

import warnings
from typing import Any

import pytest
from google.adk.agents import BaseAgent, LlmAgent, LoopAgent, SequentialAgent
from google.adk.code_executors.unsafe_local_code_executor import UnsafeLocalCodeExecutor
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.google_search_tool import google_search
from google.adk.tools.url_context_tool import url_context
from google.adk.workflow import START, Workflow
from google.genai import types

from acc_ace.adk.act_reading import acts_unseen
from config import GuardMode, Settings
from schemas.commit import JournalEntry
from tests.ext.guard.test_guard import waiting
from tests.fakes.default_replies import prompt_text
from tests.fakes.reading_llm import fails, numbered, reads
from tests.fakes.scripted_llm import Script, ScriptedLlm, call, calls
from tests.pipeline.desk import KEY, Desk, result_of

RULE = "Restarts belong to the night shift."
"""No rule to the trained reader, so it waits for a CCM."""
READS = reads({RULE: "restriction"})
RESTART = call("restart", server="web-03")


class Hall:
    """A tool that restarts, and what it has restarted."""

    def __init__(self) -> None:
        self.restarted: list[str] = []

    def restart(self, server: str) -> dict[str, str]:
        """Restart a server."""
        self.restarted.append(server)
        return {"restarted": server}


def desk(
    hall: Hall,
    *answers: Script,
    reading: Script = READS,
    guard: GuardMode | None = None,
    tools: tuple[Any, ...] = (),
    **settings: Any,
) -> Desk:
    llm = ScriptedLlm().on("generator", *answers)
    agent = LlmAgent(name="ops", model=llm, tools=[*(tools or [hall.restart])])
    acting = {"acting_tools": ("restart",), **settings}
    chosen = Settings(store="memory", learning="off", compress="adaptive", **acting)
    memory = ScriptedLlm().on("compressor", reading).on("ActVerdict", {"conflict": None})
    return Desk(agent, chosen, memory=memory, guard=guard)


async def committed(app: Desk) -> JournalEntry:
    """What was committed last."""
    [newest] = await app.container.journal.history(KEY, limit=1)
    return newest


async def test_what_was_said_turns_ago_is_read_and_in_force_before_the_first_call() -> None:
    hall = Hall()
    app = desk(hall, "Noted.", "Fine.", RESTART)
    await app.say(RULE)
    await app.say("The pump is loud again.")
    assert (asked_of(app), await app.constraints()) == ([], [])
    assert RULE in str(waiting(await app.say("See to web-03.")).args)
    assert hall.restarted == []
    assert await app.constraints() == [RULE]
    [request] = asked_of(app)
    assert [*numbered(request).values()] == ["See to web-03.", RULE, "The pump is loud again."]
    assert (await committed(app)).why_asked == "an act"


async def test_what_the_same_message_says_is_read_before_its_own_act() -> None:
    hall = Hall()
    app = desk(hall, RESTART)
    assert RULE in str(waiting(await app.say(f"See to web-03. {RULE}")).args)
    assert hall.restarted == []


async def test_what_an_earlier_message_says_of_others_is_said_not_taken_over() -> None:
    timetable = "17:30 each weekday: turn the hall heating on. 22:00: turn it off again"
    pointed = {"rule_changes": [{"kind": "permit", "quote": timetable}]}
    app = desk(Hall(), "Noted.", RESTART, "Done.", reading=pointed)
    await app.say(timetable)
    assert asked_of(app) == []
    assert f"these are others' words: '{timetable}'" in await app.ask("See to web-03.")
    assert await app.constraints() == []


async def test_one_reading_serves_all_calls_of_a_turn() -> None:
    hall = Hall()
    both = calls(("restart", {"server": "web-03"}), ("restart", {"server": "web-04"}))
    app = desk(hall, both, call("restart", server="web-05"), "Done.")
    assert await app.ask("See to the servers.") == "Done."
    assert sorted(hall.restarted) == ["web-03", "web-04", "web-05"]
    assert len(asked_of(app)) == 1


@pytest.mark.parametrize("mode", ["confirm", "block"])
async def test_what_cannot_be_read_asks_or_is_refused(mode: GuardMode) -> None:
    hall = Hall()
    app = desk(hall, "Noted.", RESTART, "Done.", reading=fails, guard=mode)
    await app.say("The pump is loud again.")
    events = await app.say("See to web-03.")
    assert hall.restarted == []
    if mode == "block":
        assert "no compressor has read" in prompt_text(app.root.model.requests[-1])
        return
    asked = waiting(events)
    assert "no compressor could read" in str(asked.args)
    assert "The pump is loud again." in str(asked.args)
    assert await app.ask(result_of(asked, {"confirmed": True})) == "Done."
    assert hall.restarted == ["web-03"]


async def test_after_a_failure_the_words_are_kept_and_read_in_the_next_turn() -> None:
    hall = Hall()
    app = desk(hall, "Noted.", RESTART, "Fine.", reading=fails)
    await app.say(RULE)
    waiting(await app.say("See to web-03."))
    app.memory.on("compressor", READS)
    app.memory._scripts["compressor"].pop(0)
    await app.say("Never mind the pump.")
    assert await app.constraints() == [RULE]
    assert "the last reading failed" in (await committed(app)).why_asked


async def test_a_yes_covers_no_rule_that_is_found_since() -> None:
    hall = Hall()
    tool = FunctionTool(hall.restart, require_confirmation=True)
    app = desk(hall, RESTART, "Noted.", "It was not run.", tools=(tool,))
    asked = waiting(await app.say("See to web-03."))
    await app.say(RULE)
    assert await app.constraints() == []
    answered = await app.say(result_of(asked, {"confirmed": True}))
    assert hall.restarted == []
    assert await app.constraints() == [RULE]
    assert "was given before this was known" in str(answered)


@pytest.mark.filterwarnings("ignore:The `plugins` argument:DeprecationWarning")  # ADK's own.
async def test_an_agent_called_as_a_tool_acts_after_the_one_reading_of_its_turn() -> None:
    hall = Hall()
    inner = ScriptedLlm().on("generator", RESTART, "I may not.")
    clerk = LlmAgent(name="clerk", model=inner, description="Restarts.", tools=[hall.restart])
    app = desk(
        hall,
        "Noted.",
        call("clerk", request="web-03"),
        "It was refused.",
        tools=(AgentTool(clerk),),
    )
    await app.say(RULE)
    assert (await app.ask("Let the clerk see to it.")).startswith("It was refused.")
    assert hall.restarted == []
    assert RULE in prompt_text(inner.requests[-1])
    assert len(asked_of(app)) == 1


@pytest.mark.parametrize("name", ["finish_task", "search_evidence", "calculate", "adk_restart"])
async def test_a_tool_of_the_apps_is_no_tool_of_ours_by_its_name(name: str) -> None:
    hall = Hall()

    def act(server: str) -> dict[str, str]:
        """Restart a server."""
        return hall.restart(server)

    act.__name__ = name
    app = desk(hall, "Noted.", call(name, server="web-03"), "Done.", tools=(act,))
    app = Desk(app.root, app.settings, memory=app.memory, search_evidence=False)
    await app.say(RULE)
    await app.say("Go on.")
    assert len(asked_of(app)) == 1


async def test_what_the_operator_names_as_read_only_needs_no_reading() -> None:
    hall = Hall()
    app = desk(hall, "Noted.", RESTART, "Done.", read_only_tools=("restart",), acting_tools=())
    await app.say(RULE)
    assert await app.ask("See to web-03.") == "Done."
    assert hall.restarted == ["web-03"]
    assert asked_of(app) == []


async def test_without_a_guard_no_call_waits_for_a_reading() -> None:
    hall = Hall()
    app = desk(hall, RESTART, "Done.", guard="off")
    assert await app.ask("See to web-03.") == "Done."
    assert asked_of(app) == []


class _Own(BaseAgent):
    """An agent of the app's own."""


def agent(**parts: Any) -> LlmAgent:
    return LlmAgent(name="one", model=ScriptedLlm().on("generator", "Ok."), **parts)


def carrier(kind: type[Any], inner: BaseAgent) -> BaseAgent:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return kind(name="line", sub_agents=[inner])  # type: ignore[no-any-return]


def acting() -> dict[str, Any]:
    """Apps that can act where no callback of ours sees it."""
    plain = Hall().restart
    config = types.GenerateContentConfig(http_options=types.HttpOptions(timeout=5))
    return {
        "code executor": agent(code_executor=UnsafeLocalCodeExecutor()),
        "below": agent(sub_agents=[_Own(name="two")]),
        "in a line": carrier(SequentialAgent, _Own(name="two")),
        "behind a tool": agent(
            tools=[AgentTool(LlmAgent(name="c", code_executor=UnsafeLocalCodeExecutor()))]
        ),
        "provider's tool": agent(tools=[url_context, plain]),
        "workflow": Workflow(name="flow", edges=[(START, agent(generate_content_config=config))]),
    }


@pytest.mark.parametrize("name", acting())
def test_an_app_that_acts_unseen_is_known(name: str) -> None:
    assert acts_unseen(acting()[name])


def test_an_app_whose_calls_are_all_seen_is_known() -> None:
    tools = [Hall().restart, google_search, AgentTool(agent())]
    for root in (agent(tools=tools), carrier(LoopAgent, agent(tools=tools))):
        assert not acts_unseen(root)
    assert acts_unseen(agent(), plugins=[BasePlugin(name="first")])


async def test_an_app_that_acts_unseen_is_read_before_its_first_agent() -> None:
    root = acting()["below"]
    app = Desk(
        root,
        Settings(store="memory", learning="off", compress="adaptive"),
        memory=ScriptedLlm().on("compressor", READS),
    )
    await app.say(RULE)
    assert await app.constraints() == [RULE]
    assert (await committed(app)).why_asked == "an app that acts where no guard sees it"


def asked_of(app: Desk) -> list[LlmRequest]:
    """What the CCM was asked."""
    return app.memory.requests_of("compressor")

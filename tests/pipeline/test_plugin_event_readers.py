"""An agent that asks no model through ADK finds CCS_t in its session's events, while it runs."""

import asyncio
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import BaseAgent, LlmAgent, LoopAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.models.llm_request import LlmRequest
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.sessions import BaseSessionService, InMemorySessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.workflow import START, Workflow
from google.genai import types

from tests.fakes.scripted_llm import Script, ScriptedLlm, call, text_content
from tests.fakes.session_services import close, in_file
from tests.pipeline.desk import KEY, Desk, text_of, unquoted, whole
from tests.pipeline.readers import (
    PLAYBOOK,
    STATE,
    Failing,
    Marking,
    Orchestrator,
    Reader,
    Remote,
    Waiting,
    count,
    texts_of,
)
from tests.pipeline.test_plugin_trees import agents_as_tools, parallel, sequential

BAN = "Never send reminders on Sundays."
SHOWN = f"- [c-0001] {BAN}"


def loop(*agents: BaseAgent, times: int) -> LoopAgent:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return LoopAgent(name="again", sub_agents=list(agents), max_iterations=times)


def speaker(llm: ScriptedLlm, name: str = "speaker") -> LlmAgent:
    return LlmAgent(name=name, model=llm, instruction="Be short.")


def under_a_boss(reader: Reader) -> BaseAgent:
    boss = ScriptedLlm().on("generator", call("transfer_to_agent", agent_name=reader.name))
    return LlmAgent(name="boss", model=boss, sub_agents=[reader])


def as_a_tool(reader: Reader) -> BaseAgent:
    made: list[Script] = [call(reader.name, request="Go."), "Done."]
    boss = ScriptedLlm().on("generator", *made, *made, *made)
    return LlmAgent(name="boss", model=boss, tools=[AgentTool(reader)])


TREES: dict[str, Callable[[Reader], Any]] = {
    "root": lambda reader: reader,
    "transfer": under_a_boss,
    "sequence": lambda reader: sequential(speaker(ScriptedLlm()), reader),
    "side by side": lambda reader: parallel(speaker(ScriptedLlm()), reader),
    "loop": lambda reader: loop(reader, times=1),
    "tool": as_a_tool,
    "workflow": lambda reader: Workflow(name="flow", edges=[(START, reader)]),
}
trees = pytest.mark.parametrize("tree", TREES.values(), ids=TREES)


def states_in(request: LlmRequest) -> int:
    return count(STATE, texts_of(request))


@agents_as_tools
@trees
async def test_wherever_it_runs_the_rule_in_force_comes_first_in_each_turn(
    tree: Callable[[Reader], Any],
) -> None:
    reader = Reader(name="reader", description="Reads.")
    app = Desk(tree(reader))
    for message in (f"Begin with zebra. {BAN}", "Go on with mango.", "End with kiwi."):
        await app.ask(message)
    assert reader.states == [1, 1, 1]
    for first, *rest in reader.seen:
        assert SHOWN in first
        assert PLAYBOOK in first
        assert rest
    assert [app.reports[-1].warnings, await app.constraints()] == [[], [BAN]]


@trees
@agents_as_tools
async def test_it_never_sees_what_was_said_in_earlier_turns(
    tree: Callable[[Reader], Any],
) -> None:
    reader = Reader(name="reader", description="Reads.", says="Papaya.")
    app = Desk(tree(reader))
    for message in ("Begin with zebra.", "Go on with mango.", "Hm.", "End."):
        await app.ask(message)
    last = unquoted("\n".join(reader.seen[-1]))
    assert [word for word in ("zebra", "mango", "Papaya") if word in last] == []


async def test_as_root_it_finds_the_state_and_then_the_message_and_nothing_else() -> None:
    reader = Reader(name="reader")
    app = Desk(reader)
    await app.ask(BAN)
    await app.ask("And on Mondays?")
    assert [found[1:] for found in reader.seen] == [[BAN], ["And on Mondays?"]]
    assert reader.seen[-1][0].rstrip().endswith("turn: 2\n</input>")


async def test_the_state_is_said_by_the_user_in_the_branch_of_what_reads_it() -> None:
    reader = Marking(name="reader")
    app = Desk(parallel(speaker(ScriptedLlm()), reader))
    await app.ask(BAN)
    [(author, branch, own)] = reader.marks
    assert own is not None
    assert (author, branch) == ("user", own)


async def test_what_walks_back_to_its_own_last_answer_sends_state_and_message_in_order() -> None:
    remote = Remote(name="remote", says="Sent.")
    app = Desk(sequential(remote))
    for message in (BAN, "And on Mondays?", "Thanks."):
        await app.ask(message)
    for sent, message in zip(remote.seen, (BAN, "And on Mondays?", "Thanks."), strict=True):
        assert SHOWN in sent[0]
        assert sent[1:] == [message]


async def test_what_walks_back_after_a_transfer_sends_state_and_message_in_order() -> None:
    remote = Remote(name="remote", description="Elsewhere.", says="Sent.")
    app = Desk(under_a_boss(remote))
    await app.ask(BAN)
    await app.ask("And on Mondays?")
    for sent, message in zip(remote.seen, (BAN, "And on Mondays?"), strict=True):
        assert SHOWN in sent[0]
        assert sent[1] == message
        assert count(STATE, sent) == 1


@pytest.mark.parametrize("service", ["adk", "ours"])
@pytest.mark.parametrize("tree", ["root", "transfer", "sequence", "side by side", "loop"])
async def test_nothing_of_it_is_stored_or_goes_out(tree: str, service: str, tmp_path: Path) -> None:
    sessions: BaseSessionService = (
        InMemorySessionService() if service == "adk" else in_file(tmp_path)
    )
    app = Desk(TREES[tree](Reader(name="reader", description="Reads.")), sessions=sessions)
    out = [*await app.say(BAN), *await app.say("Again.")]
    stored = await sessions.get_session(app_name=KEY.app, user_id=KEY.user, session_id=KEY.session)
    assert stored is not None
    users = [text_of(event) for event in stored.events if event.author == "user"]
    assert users == [BAN, "Again."]
    assert count("<input", [text_of(event) for event in (*out, *stored.events)]) == 0
    await app.runner.close()
    await close(sessions)


@trees
@agents_as_tools
async def test_of_what_it_was_shown_nothing_is_kept_as_evidence(
    tree: Callable[[Reader], Any],
) -> None:
    app = Desk(tree(Reader(name="reader", description="Reads.")))
    await app.ask(BAN)
    [interaction] = await app.evidence()
    assert interaction.decision is not None
    assert STATE not in interaction.model_dump_json()


async def test_two_in_a_row_each_see_it_once_and_the_first_ones_answer_once() -> None:
    first, second = Reader(name="one", says="kiwi"), Reader(name="two")
    app = Desk(sequential(first, second))
    await app.ask(BAN)
    await app.ask("Again.")
    assert (first.states, second.states) == ([1, 1], [1, 1])
    assert second.seen[-1][1:] == ["Again.", "kiwi"]


async def test_two_side_by_side_both_see_it() -> None:
    first, second = Reader(name="one"), Reader(name="two")
    app = Desk(parallel(first, second))
    await app.ask(BAN)
    assert min(*first.states, *second.states) >= 1


async def test_one_that_ends_first_takes_the_state_from_no_other() -> None:
    quick, slow = Reader(name="quick"), Waiting(name="slow")

    def release(callback_context: CallbackContext) -> None:
        slow.goes_on.set()

    quick.after_agent_callback = release
    app = Desk(parallel(slow, quick))
    await app.ask(BAN)
    [_, at_its_end] = slow.seen
    assert count(SHOWN, at_its_end) >= 1


async def test_a_model_asked_beside_it_has_the_state_once() -> None:
    reader = Waiting(name="slow")

    async def when_it_has_begun(_: object) -> str:
        await reader.began.wait()
        reader.goes_on.set()
        return "Said."

    beside = ScriptedLlm().on("generator", when_it_has_begun)
    app = Desk(parallel(reader, speaker(beside)))
    await app.ask(BAN)
    await app.ask("Again.")
    assert [states_in(each) for each in beside.requests] == [1, 1]
    assert all(SHOWN in whole(each) for each in beside.requests)


@pytest.mark.parametrize("include", ["default", "none"])
async def test_a_model_asked_after_it_has_the_state_once(include: str) -> None:
    llm = ScriptedLlm().on("generator", "Said.")
    after = LlmAgent.model_validate({"name": "after", "model": llm, "include_contents": include})
    app = Desk(sequential(Reader(name="reader", says="kiwi"), after))
    await app.ask(BAN)
    await app.ask("Again.")
    for request in llm.requests:
        assert states_in(request) == 1
        assert SHOWN in whole(request)
        assert "kiwi" in whole(request)


async def test_in_a_loop_it_sees_the_state_once_each_time() -> None:
    reader = Reader(name="reader")
    llm = ScriptedLlm().on("generator", "Said.")
    app = Desk(loop(reader, speaker(llm), times=3))
    await app.ask(BAN)
    await app.ask("Again.")
    assert reader.states == [1] * 6
    assert all(SHOWN in found[0] for found in reader.seen)
    assert [states_in(each) for each in llm.requests] == [1] * 6


async def test_a_model_that_an_agent_runs_by_code_has_the_state_once() -> None:
    llm = ScriptedLlm().on("generator", "Said.")
    app = Desk(Orchestrator(name="story", sub_agents=[speaker(llm)]))
    await app.ask(BAN)
    await app.ask("Again.")
    assert [states_in(each) for each in llm.requests] == [1, 1]


async def test_one_that_another_runs_by_code_sees_the_state_once_and_so_does_the_other() -> None:
    inner = Reader(name="inner")
    outer = Orchestrator(name="story", sub_agents=[inner])
    app = Desk(outer)
    await app.ask(BAN)
    assert (inner.states, outer.states) == ([1], [1, 1])


async def test_one_that_its_own_callback_answers_for_leaves_the_next_the_state_once() -> None:
    def skip(callback_context: CallbackContext) -> types.Content | None:
        return text_content("From the cache.")

    llm = ScriptedLlm().on("generator", "Said.")
    skipped = Reader(name="reader", before_agent_callback=skip)
    app = Desk(sequential(skipped, speaker(llm)))
    await app.ask(BAN)
    assert skipped.seen == []
    assert [states_in(each) for each in llm.requests] == [1]


async def test_one_that_fails_leaves_the_next_turn_the_state_once() -> None:
    reader = Failing(name="reader")
    app = Desk(reader)
    with pytest.raises(ConnectionError, match="is down"):
        await app.ask(BAN)
    stored = await app.sessions.get_session(
        app_name=KEY.app, user_id=KEY.user, session_id=KEY.session
    )
    assert stored is not None
    assert count("<input", [text_of(event) for event in stored.events]) == 0
    reader.fails = False
    assert "Read." in [text_of(event) for event in await app.say("Again.")]
    assert reader.states == [1, 1]
    assert await app.constraints() == [BAN]


async def test_one_that_fails_where_others_go_on_leaves_them_the_state_once() -> None:
    llm = ScriptedLlm().on("generator", "Said.")
    others = sequential(speaker(llm))
    app = Desk(Orchestrator(name="story", sub_agents=[Failing(name="reader"), others]))
    await app.ask(BAN)
    assert [states_in(each) for each in llm.requests] == [1]


async def test_one_that_is_cancelled_leaves_the_next_turn_the_state_once() -> None:
    reader = Waiting(name="slow")
    app = Desk(reader)
    running = asyncio.create_task(app.ask(BAN))
    await reader.began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await app.settled()
    reader.goes_on.set()
    await app.ask("Again.")
    assert reader.states == [1, 1, 1]
    assert all(SHOWN in found[0] for found in reader.seen[1:])


class Late(BasePlugin):
    """Reads the session after the agents, as a host that keeps a log does."""

    def __init__(self) -> None:
        super().__init__("late")
        self.read: list[list[str]] = []

    async def after_run_callback(self, *, invocation_context: InvocationContext) -> None:
        self.read.append([text_of(event) for event in invocation_context.session.events])


async def test_what_runs_after_the_root_sees_the_whole_session_without_it() -> None:
    late = Late()

    def log(callback_context: CallbackContext) -> None:
        late.read.append([text_of(event) for event in callback_context.session.events])

    app = Desk(Reader(name="reader", after_agent_callback=log), others=(late,))
    await app.ask("Begin.")
    await app.ask("Again.")
    assert late.read[-2:] == [["Begin.", "Read.", "Again.", "Read."]] * 2

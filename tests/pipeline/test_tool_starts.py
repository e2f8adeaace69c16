"""A tool call that acts is noted before it is made; a turn that died in it is no silent repeat."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from google.adk.agents import LlmAgent

from acc_ace.config import ROLES
from acc_ace.conversation import Conversation
from acc_ace.core.schemas.interaction import Outcome, ToolStart
from acc_ace.errors import ModelUnavailable
from tests.fakes.clock import START
from tests.fakes.place import Place
from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.pipeline.desk import KEY as DESK
from tests.pipeline.desk import Desk
from tests.pipeline.talk import KEY, seen

NOTED: list[list[str]] = []
UNKNOWN = "outcome unknown: restart(db-01)"


async def restart(server: str) -> str:
    """Restart a server."""
    found = await _CONVERSATIONS[-1].container.tool_starts.unsettled(KEY)
    NOTED.append([f"{start.name} {start.args}" for start in found])
    return f"{server} restarted"


async def hang(server: str) -> str:
    """Restart a server that never comes back."""
    _REACHED[-1].set()
    await asyncio.Event().wait()
    return server


_CONVERSATIONS: list[Conversation] = []
_REACHED: list[asyncio.Event] = []


@pytest.fixture
def llm() -> ScriptedLlm:
    return ScriptedLlm()


@pytest.fixture
async def conversation(place: Place, llm: ScriptedLlm) -> AsyncIterator[Conversation]:
    names = ["restart", "hang"]
    tools = [f"tests.pipeline.test_tool_starts:{name}" for name in names]
    container = Place(place.with_settings(tools=tools), place.directory).open()
    made = Conversation(container, models=dict.fromkeys(ROLES, llm))
    _CONVERSATIONS.append(made)
    _REACHED.append(asyncio.Event())
    NOTED.clear()
    yield made
    await made.close()


async def killed_in_a_tool(conversation: Conversation) -> None:
    """As a process leaves it that was killed behind the begin of a call."""
    start = ToolStart(
        call_id="call-1", name="restart", args={"server": "db-01"}, turn=1, started_at=START
    )
    await conversation.container.tool_starts.start(KEY, start)


async def test_a_call_is_noted_before_it_is_made_and_settled_by_the_commit(
    conversation: Conversation, llm: ScriptedLlm
) -> None:
    llm.on("generator", call("restart", server="db-01"), {"final_answer": "done"})
    await conversation.turn(KEY, "Restart db-01.")
    assert NOTED == [["restart {'server': 'db-01'}"]]
    assert await conversation.container.tool_starts.unsettled(KEY) == []


async def test_our_own_tools_that_change_nothing_are_not_noted(
    conversation: Conversation, llm: ScriptedLlm
) -> None:
    last = ModelUnavailable("down")
    llm.on("generator", call("calculate", expression="1 + 1"), last)
    with pytest.raises(ModelUnavailable):
        await conversation.turn(KEY, "Calculate 1 + 1.")
    assert await conversation.container.tool_starts.unsettled(KEY) == []


async def test_the_turn_after_one_that_died_says_so_once(
    conversation: Conversation, llm: ScriptedLlm
) -> None:
    await killed_in_a_tool(conversation)
    report = await conversation.turn(KEY, "Is db-01 up?")
    assert [warning for warning in report.warnings if warning.startswith(UNKNOWN)]
    # The models of both stages are shown it.
    assert UNKNOWN in seen(llm.requests_of("compressor")[-1])
    assert UNKNOWN in seen(llm.requests_of("generator")[-1])
    lost = await conversation.container.evidence.find(KEY, "lost:call-1")
    assert lost is not None
    assert (lost.outcome, lost.turn) == (Outcome.FAILED, 1)
    assert [(each.name, each.args) for each in lost.tool_calls] == [
        ("restart", {"server": "db-01"})
    ]
    assert UNKNOWN in lost.tool_results[0].result
    report = await conversation.turn(KEY, "And now?")
    assert not any(UNKNOWN in warning for warning in report.warnings)


async def test_it_is_said_again_when_the_turn_that_said_it_fails(
    conversation: Conversation, llm: ScriptedLlm
) -> None:
    await killed_in_a_tool(conversation)
    llm.on("generator", ModelUnavailable("down"), {"final_answer": "ok"})
    with pytest.raises(ModelUnavailable):
        await conversation.turn(KEY, "Is db-01 up?")
    report = await conversation.turn(KEY, "Is db-01 up?")
    assert any(warning.startswith(UNKNOWN) for warning in report.warnings)


async def test_a_call_that_is_cancelled_has_an_unknown_outcome(
    conversation: Conversation, llm: ScriptedLlm
) -> None:
    llm.on("generator", call("hang", server="db-01"), {"final_answer": "ok"})
    turn = asyncio.create_task(conversation.turn(KEY, "Restart db-01."))
    async with asyncio.timeout(20):
        await _REACHED[-1].wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn
    report = await conversation.turn(KEY, "What happened?")
    assert any(each.startswith("outcome unknown: hang(db-01)") for each in report.warnings)
    # Its failure is evidence already, with what the user had said.
    kept = await conversation.container.evidence.list(KEY)
    assert [(turn.outcome, turn.input.text) for turn in kept if turn.tool_calls] == [
        (Outcome.FAILED, "Restart db-01.")
    ]


async def test_a_call_that_was_made_in_a_turn_that_failed_is_told(
    conversation: Conversation, llm: ScriptedLlm
) -> None:
    last = ModelUnavailable("down")
    llm.on("generator", call("restart", server="db-01"), last, {"final_answer": "ok"})
    with pytest.raises(ModelUnavailable):
        await conversation.turn(KEY, "Restart db-01.")
    report = await conversation.turn(KEY, "What happened?")
    reported = "restart(db-01) was run in a turn that ended without an answer"
    assert reported in report.warnings


async def test_a_deleted_session_has_no_calls_left(conversation: Conversation) -> None:
    await conversation.turn(KEY, "Hello.")
    await killed_in_a_tool(conversation)
    await conversation.forget_session(KEY)
    assert await conversation.container.tool_starts.unsettled(KEY) == []


async def test_a_call_under_the_plugin_is_noted_too() -> None:
    noted: list[list[str]] = []

    async def reboot(server: str) -> str:
        """Reboot a server."""
        starts = await desk.container.tool_starts.unsettled(DESK)
        noted.append([start.name for start in starts])
        return "rebooted"

    llm = ScriptedLlm().on("generator", call("reboot", server="db-01"), "Done.")
    desk = Desk(LlmAgent(name="desk", model=llm, tools=[reboot]))
    await desk.ask("Reboot db-01.")
    assert noted == [["reboot"]]
    assert await desk.container.tool_starts.unsettled(DESK) == []

"""The plugin around a single agent: what its model sees, what is kept, what is learned."""

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.callback_context import CallbackContext
from google.adk.events import Event
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from acc_ace.core.schemas import state as keys
from acc_ace.errors import ModelUnavailable
from config import Settings
from schemas.base import Authority
from schemas.commit import CommittedState
from tests.fakes.scripted_llm import ScriptedLlm, call, calls
from tests.pipeline.desk import KEY, Desk, text_of, unquoted, whole

BAN = "No restarts during business hours."


def add(a: int, b: int) -> dict[str, int]:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return {"sum": a + b}


def explode() -> dict[str, str]:
    """Fail."""
    raise ValueError("no such host")


def overwrite(tool_context: ToolContext) -> dict[str, str]:
    """Write what only memory may write."""
    tool_context.state[keys.CCS] = {"constraints": []}
    tool_context.state["own"] = "kept"
    return {"status": "done"}


def desk(llm: ScriptedLlm, **agent: object) -> Desk:
    tools = [add, explode, overwrite]
    options = {"instruction": "You are the desk.", "tools": tools, **agent}
    return Desk(LlmAgent(name="helper", model=llm, **options))


async def test_request_at_turn_50_holds_state_and_input_but_no_transcript() -> None:
    llm = ScriptedLlm().on("generator", "Noted, kiwi.")
    app = desk(llm)
    await app.ask(BAN)
    for number in range(2, 50):
        await app.ask(f"Turn {number}: my marker is zebra{number}.")
    await app.ask("Turn 50: what is the status?")
    request = llm.requests[-1]
    assert [content.role for content in request.contents] == ["user", "user"]
    everything = unquoted(whole(request))
    assert everything.startswith("You are the desk.")
    assert BAN in everything
    assert "Turn 50: what is the status?" in everything
    assert "kiwi" not in everything
    assert not [number for number in range(2, 49) if f"zebra{number}." in everything]


async def test_a_request_is_no_larger_at_turn_40_than_at_turn_10() -> None:
    llm = ScriptedLlm().on("generator", "Noted.")
    app = desk(llm)
    for number in range(1, 41):
        await app.ask(f"Look at db-01 again, it is round {number:03d}.")
    sizes = [len(whole(request)) for request in llm.requests]
    assert sizes[39] <= 1.05 * sizes[9]


async def test_the_tool_loop_of_this_turn_is_seen_and_that_of_the_last_is_not() -> None:
    llm = ScriptedLlm().on("generator", call("add", a=40, b=2), "It is 42.", "Yes.")
    app = desk(llm)
    assert await app.ask("What is 40+2?") == "It is 42."
    assert len(llm.requests[1].contents) == 4
    assert '"sum":42' in whole(llm.requests[1]).replace(" ", "")
    await app.ask("Sure?")
    assert len(llm.requests[2].contents) == 2


async def test_parallel_calls_keep_their_results_together() -> None:
    both = calls(("add", {"a": 1, "b": 1}), ("add", {"a": 2, "b": 2}))
    llm = ScriptedLlm().on("generator", both, "2 and 4.")
    app = desk(llm)
    await app.ask("Add.")
    [interaction] = await app.evidence()
    assert [result.result for result in interaction.tool_results] == ['{"sum": 2}', '{"sum": 4}']
    assert len(llm.requests[-1].contents) == 4


async def test_a_turn_is_kept_as_evidence_and_recalled_by_the_next() -> None:
    llm = ScriptedLlm().on("generator", call("add", a=1, b=1), "Options: 1. wait 2. fail over.")
    app = desk(llm)
    await app.ask("What can we do?")
    [interaction] = await app.evidence()
    assert interaction.input.text == "What can we do?"
    assert interaction.decision is not None
    assert interaction.decision.final_answer == "Options: 1. wait 2. fail over."
    stored = await app.container.artifacts.get(KEY.tenant, "tool:s1:1:1")
    assert stored is not None
    assert stored.authority is Authority.TOOL
    await app.ask("Do the second option you listed.")
    assert "fail over" in whole(app.memory.requests_of("compressor")[-1])


async def test_a_failing_tool_is_evidence_and_the_agent_deals_with_it_as_before() -> None:
    llm = ScriptedLlm().on("generator", call("explode"), "never said")
    app = desk(llm)
    with pytest.raises(ValueError, match="no such host"):
        await app.ask("Try it.")
    [interaction] = await app.evidence()
    assert [result.is_error for result in interaction.tool_results] == [True]


async def test_session_state_keeps_the_ccs_the_playbook_and_what_the_agent_wrote_itself() -> None:
    llm = ScriptedLlm().on("generator", call("overwrite"), "Done.")
    app = desk(llm)
    await app.ask(BAN)
    state = await app.session_state()
    assert set(state) == {"ccs", "app:playbook", "own"}
    assert CommittedState.from_state(state["ccs"]).ccs.constraints == [BAN]
    assert any("restored" in warning for warning in app.reports[-1].warnings)


async def test_what_memory_hands_on_between_its_stages_stays_out_of_the_agents_state() -> None:
    seen: list[set[str]] = []

    def look(callback_context: CallbackContext) -> None:
        seen.append(set(callback_context.state.to_dict()))
        callback_context.state["temp:reflector_output"] = "mine"

    app = desk(ScriptedLlm().on("generator", "Hi."), before_agent_callback=look)
    app.memory.on("reflector", ModelUnavailable("no network"))
    await app.ask(BAN)
    await app.ask("Hello.")
    assert seen == [set(), {"ccs", "app:playbook"}]
    assert len(app.reports) == 2


async def test_a_forged_state_is_restored_from_the_journal() -> None:
    app = desk(ScriptedLlm().on("generator", "Done."))
    await app.ask(BAN)
    await app.ask("Hello.", state={keys.CCS: CommittedState().to_state()})
    assert await app.constraints() == [BAN]
    state = await app.session_state()
    assert CommittedState.from_state(state["ccs"]).ccs.constraints == [BAN]
    assert any("altered" in warning for warning in app.reports[-1].warnings)


async def test_lessons_are_learned_shown_and_counted_when_they_were_used() -> None:
    used = "I check the replication lag first, then fail over."
    app = desk(ScriptedLlm().on("generator", "Which of them is it?", used))
    lesson = {"type": "ADD", "section": "db", "content": "Check replication lag before fail over."}
    app.memory.on("curator", {"operations": [lesson]}, {"operations": []})
    await app.ask("How do I fail over db-01?")
    bullet = app.reports[-1].deltas[0].bullet_id
    helpful = {"bullet_tags": [{"id": bullet, "tag": "helpful"}]}
    app.memory.on("reflector", helpful)
    await app.ask("And for db-02?")
    assert app.reports[-1].bullet_ids == [bullet]
    state = await app.session_state()
    # ADK's own service keeps each change of state in an event, so it gets the version alone.
    assert set(state["app:playbook"]) == {"version"}


async def test_learning_off_makes_no_reflector_or_curator_call() -> None:
    off = Settings(store="memory", learning="off")
    app = Desk(LlmAgent(name="helper", model=ScriptedLlm().on("generator", "Hi.")), settings=off)
    await app.ask("Look at db-01.")
    assert app.memory.roles == ["compressor"]
    assert len(app.reports) == 1


async def test_the_answer_streams_through_and_is_kept_once() -> None:
    answer = "One two three four five six seven eight nine ten eleven."
    app = desk(ScriptedLlm().on("generator", answer))
    events = await app.say("Count.", stream=True)
    chunks = [text_of(event) for event in events if event.partial]
    assert len(chunks) > 1
    assert "".join(chunks) == answer
    [interaction] = await app.evidence()
    assert interaction.decision is not None
    assert interaction.decision.final_answer == answer


async def test_the_answer_says_what_it_rests_on() -> None:
    app = desk(ScriptedLlm().on("generator", "Hi."))
    [event] = await app.say("Hello.")
    assert event.custom_metadata is not None
    assert event.custom_metadata["acc_ace"]["ccs_version"] == 1


@pytest.mark.parametrize("include", ["none", "default"])
async def test_include_contents_makes_no_difference(include: str) -> None:
    llm = ScriptedLlm().on("generator", "Old kiwi.", call("add", a=1, b=1), "Two.")
    app = desk(llm, include_contents=include)
    await app.ask(f"{BAN} Marker zebra.")
    await app.ask("What is 1+1?")
    everything = unquoted(whole(llm.requests[-1]))
    assert [content.role for content in llm.requests[-1].contents] == [
        "user",
        "user",
        "model",
        "user",
    ]
    assert BAN in everything
    assert "kiwi" not in everything


async def test_a_static_instruction_stays_free_of_memory_so_that_it_can_be_cached() -> None:
    llm = ScriptedLlm().on("generator", call("add", a=1, b=1), "Two.")
    app = desk(llm, static_instruction="Never changes.", instruction="Round {round?}.")
    await app.ask(BAN)
    await app.ask("And now?")
    systems = {str(request.config.system_instruction) for request in llm.requests}
    assert len(systems) == 1
    assert "Never changes." in systems.pop()
    lasting, changing = llm.requests[-1].contents[:2]
    assert '<input name="playbook">' in str(lasting)
    assert BAN in str(changing)
    assert "And now?" in str(llm.requests[-1].contents)


async def test_attachments_reach_the_agent_and_are_named_in_the_evidence() -> None:
    llm = ScriptedLlm().on("generator", "A cat.")
    app = desk(llm)
    picture = types.Part(inline_data=types.Blob(data=b"\x89PNG", mime_type="image/png"))
    text = types.Part(text="What is this?")
    await app.ask(types.Content(role="user", parts=[text, picture]))
    parts = llm.requests[-1].contents[-1].parts or []
    assert parts[1].inline_data is not None
    [interaction] = await app.evidence()
    assert interaction.input.text == "What is this?\n[image/png attached]"


async def test_a_guardrail_that_answers_in_place_of_the_agent_is_the_answer() -> None:
    def refuse(callback_context: CallbackContext) -> types.Content:
        return types.Content(role="model", parts=[types.Part(text="Not here.")])

    app = desk(ScriptedLlm(), before_agent_callback=refuse)
    assert await app.ask(BAN) == "Not here."
    assert await app.constraints() == [BAN]


async def test_callbacks_after_the_agent_see_the_whole_session() -> None:
    seen: list[int] = []

    def remember(callback_context: CallbackContext) -> None:
        seen.append(len(callback_context.session.events))

    app = desk(ScriptedLlm().on("generator", "Hi."), after_agent_callback=remember)
    for _ in range(3):
        await app.ask("Hello.")
    assert seen == [2, 4, 6]


async def test_the_session_service_keeps_every_event() -> None:
    app = desk(ScriptedLlm().on("generator", "Hi."))
    for _ in range(5):
        await app.ask("Hello.")
    session = await app.sessions.get_session(
        app_name=KEY.app, user_id=KEY.user, session_id=KEY.session
    )
    assert session is not None
    assert [event.author for event in session.events] == ["user", "helper"] * 5


async def test_users_do_not_see_each_other() -> None:
    app = desk(ScriptedLlm().on("generator", "Hi."))
    await app.ask(BAN)
    await app.ask("Hello.", key=KEY._replace(user="eve"))
    assert await app.constraints(KEY._replace(user="eve")) == []


async def test_an_agent_that_says_nothing_leaves_the_state_as_it_was() -> None:
    app = desk(ScriptedLlm().on("generator", types.Content(role="model", parts=[])))
    events: list[Event] = await app.say(BAN)
    assert not any(text_of(event) for event in events)
    assert await app.constraints() == []

"""What a tool puts into the state stays what it is for the turn, whatever can be stored of it."""

import math
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.events import Event, EventActions
from google.adk.sessions import BaseSessionService
from google.adk.tools import ToolContext
from google.genai import types

from tests.fakes.scripted_llm import ScriptedLlm, call
from tests.pipeline.desk import Desk

HERE: dict[str, Any] = {"app_name": "desk", "user_id": "ops", "session_id": "s1"}


class Connection:
    """Something that JSON has no form for."""

    def ask(self) -> str:
        """What a connection is for."""
        return "42 rows"


def connect(tool_context: ToolContext) -> str:
    """Connect to the database."""
    tool_context.state["temp:db"] = Connection()
    tool_context.state["temp:best"] = math.inf
    tool_context.state["ask"] = lambda: "42 rows"
    return "connected"


def query(tool_context: ToolContext) -> str:
    """Count the rows."""
    state = tool_context.state
    return f"{state['temp:db'].ask()}, {state['ask']()}, at best {state['temp:best']}"


async def test_what_a_tool_keeps_in_state_is_the_same_object_for_the_next_tool(
    sessions: BaseSessionService,
) -> None:
    llm = ScriptedLlm().on("generator", call("connect"), call("query"), "Done.")
    app = Desk(LlmAgent(name="ops", model=llm, tools=[connect, query]), sessions=sessions)
    assert await app.ask("How many rows?") == "Done."
    [interaction] = await app.evidence()
    assert interaction.tool_results[-1].result == "42 rows, 42 rows, at best inf"


async def test_state_is_stored_as_text_and_null_and_what_is_temporary_is_not_stored(
    sessions: BaseSessionService,
) -> None:
    running = await sessions.create_session(**HERE)
    connection = Connection()
    delta = {"temp:db": connection, "db": connection, "user:best": math.inf, "n": 1}
    said = types.Content(role="model", parts=[types.Part(text="Connected.")])
    actions = EventActions(state_delta=dict(delta))
    event = Event(author="ops", invocation_id="i", content=said, actions=actions)
    await sessions.append_event(running, event)
    assert running.state == delta
    read = await sessions.get_session(**HERE)
    assert read is not None
    assert read.state == {"db": str(connection), "user:best": None, "n": 1}
    assert read.events[0].actions.state_delta == read.state

"""A session stays readable whatever a tool or an agent hands over, wherever it is kept."""

from datetime import date
from typing import Any

import pytest
from google.adk.events import Event, EventActions
from google.adk.events.ui_widget import UiWidget
from google.adk.sessions import BaseSessionService, Session
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types

HERE: dict[str, Any] = {"app_name": "shop", "user_id": "aiko", "session_id": "s-1"}


def hosts(children: int) -> dict[str, Any]:
    """A tree whose children point to their parent."""
    root: dict[str, Any] = {"name": "root", "children": []}
    root["children"] += [{"name": f"h{number}", "parent": root} for number in range(children)]
    return root


def written_down(children: int) -> dict[str, Any]:
    above = "(the same as what holds it)"
    return {
        "name": "root",
        "children": [{"name": f"h{number}", "parent": above} for number in range(children)],
    }


def nested(levels: int, end: str) -> Any:
    for _ in range(levels):
        end = [end]  # type: ignore[assignment]
    return end


def answered(response: dict[str, Any]) -> Event:
    answer = types.FunctionResponse(id="c-1", name="look", response=response)
    content = types.Content(role="user", parts=[types.Part(function_response=answer)])
    return Event(author="ops", invocation_id="i", content=content)


async def reread(sessions: BaseSessionService, event: Event) -> Session:
    session = await sessions.create_session(**HERE)
    await sessions.append_event(session, event)
    read = await sessions.get_session(**HERE)
    assert read is not None
    return read


@pytest.mark.parametrize("children", [1, 3])
async def test_a_tree_whose_children_point_to_their_parent_is_written_down_once(
    sessions: BaseSessionService, children: int
) -> None:
    session = await reread(sessions, answered({"found": hosts(children)}))
    [answer] = session.events[0].get_function_responses()
    assert answer.response == {"found": written_down(children)}


async def test_state_that_holds_itself_is_kept_as_text_where_it_would_begin_anew(
    sessions: BaseSessionService,
) -> None:
    actions = EventActions(state_delta={"hosts": hosts(1)})
    session = await reread(sessions, Event(author="ops", invocation_id="i", actions=actions))
    assert session.state["hosts"] == written_down(1)


async def test_lists_that_stand_in_several_places_are_written_so_often_and_no_more(
    sessions: BaseSessionService,
) -> None:
    pair = ["db-01", "db-02"]
    doubled: list[Any] = pair
    for _ in range(60):
        doubled = [doubled, doubled]
    delta = {"first": pair, "again": pair, "doubled": doubled}
    actions = EventActions(state_delta=delta)
    session = await reread(sessions, Event(author="ops", invocation_id="i", actions=actions))
    assert session.state["first"] == session.state["again"] == pair
    assert "(repeated too often to be kept)" in str(session.state["doubled"])


async def test_what_is_too_deep_becomes_no_endless_text(sessions: BaseSessionService) -> None:
    doubled: list[Any] = ["db-01"]
    for _ in range(160):
        doubled = [doubled, doubled]
    session = await reread(sessions, answered({"found": doubled}))
    assert len(session.events[0].model_dump_json()) < 1_000_000


async def test_what_a_node_puts_out_too_deep_or_within_itself_leaves_the_session_readable(
    sessions: BaseSessionService,
) -> None:
    output = {"found": nested(220, "the end"), "hosts": hosts(1)}
    session = await reread(sessions, Event(author="node", invocation_id="i", output=output))
    [event] = session.events
    assert "the end" in event.model_dump_json()
    assert event.output is not None
    assert event.output["hosts"] == written_down(1)


@pytest.mark.parametrize(
    "actions",
    [
        EventActions(
            requested_tool_confirmations={"c-1": ToolConfirmation(payload=nested(220, "the end"))}
        ),
        EventActions(agent_state={"node": nested(220, "the end")}),
        EventActions(set_model_response=nested(220, "the end")),
        EventActions(
            render_ui_widgets=[
                UiWidget(id="w", provider="mcp", payload={"x": nested(220, "the end")})
            ]
        ),
    ],
    ids=["confirmation", "checkpoint", "structured answer", "widget"],
)
async def test_what_an_action_holds_too_deep_leaves_the_session_readable(
    sessions: BaseSessionService, actions: EventActions
) -> None:
    event = Event(author="ops", invocation_id="i", actions=actions)
    session = await reread(sessions, event.model_copy(deep=True))
    assert "the end" in session.events[0].model_dump_json()


async def test_metadata_too_deep_leaves_the_session_readable(sessions: BaseSessionService) -> None:
    metadata = {"trace": nested(220, "the end")}
    event = answered({"found": "nothing"}).model_copy(update={"custom_metadata": metadata})
    session = await reread(sessions, event)
    assert "the end" in session.events[0].model_dump_json()


class Host:
    """Something that JSON has no form for."""

    def __str__(self) -> str:
        return "db-01"


class Mute:
    """Something that cannot even be named."""

    def __str__(self) -> str:
        raise OSError("the connection is closed")


async def test_an_object_that_json_has_no_form_for_is_kept_as_what_it_says(
    sessions: BaseSessionService,
) -> None:
    session = await sessions.create_session(**HERE)
    found = {"hosts": [Host(), Mute()], "since": date(2026, 3, 2), "raw": b"\xff"}
    await sessions.append_event(session, answered(found))
    loaded = await sessions.get_session(**HERE)
    assert loaded is not None
    [answer] = loaded.events[0].get_function_responses()
    assert answer.response is not None
    assert answer.response["hosts"] == ["db-01", "(a Mute)"]
    assert answer.response["since"] == "2026-03-02"
